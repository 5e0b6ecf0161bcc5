#include "host/job/command_publisher.hpp"

#include <catch2/catch.hpp>

namespace sluice::job {
namespace {

worker::PluginInstance plugin(const std::string& alias, char digit) {
  worker::PluginInstance instance;
  instance.alias = alias;
  instance.sha256 = std::string(64, digit);
  return instance;
}

slicer::DeadLetterReason crash_of(const std::string& alias) {
  slicer::DeadLetterReason reason;
  reason.slot = 3;
  reason.error = {.stage = "CRASH", .plugin = alias, .code = 11, .message = "SIGSEGV in process"};
  return reason;
}

const std::vector<worker::PluginInstance> kChain{plugin("big", 'a'), plugin("archive", 'b')};

}  // namespace

TEST_CASE("a verdict has the digest of the plugin that it names", "[job]") {
  CHECK(verdict_of(crash_of("big"), kChain).text.plugin == "big");
  CHECK(verdict_of(crash_of("big"), kChain).plugin_sha256 == std::string(64, 'a'));
  CHECK(verdict_of(crash_of("archive"), kChain).plugin_sha256 == std::string(64, 'b'));
}

TEST_CASE("a verdict over a death of no known plugin names none, and no digest", "[job]") {
  const auto verdict = verdict_of(crash_of(""), kChain);
  CHECK(verdict.text.plugin.empty());
  CHECK(verdict.plugin_sha256.empty());
  CHECK(verdict.worker_slot == 3);
  CHECK(verdict.signal == 11);
}

TEST_CASE("a transform that is called like its job has no digest but one that both share",
          "[job]") {
  const std::vector<worker::PluginInstance> twins{plugin("archive", 'a'), plugin("archive", 'b')};
  CHECK(verdict_of(crash_of("archive"), twins).plugin_sha256.empty());
  const std::vector<worker::PluginInstance> same{plugin("archive", 'a'), plugin("archive", 'a')};
  CHECK(verdict_of(crash_of("archive"), same).plugin_sha256 == std::string(64, 'a'));
}

}  // namespace sluice::job
