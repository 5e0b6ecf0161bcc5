#include "host/job/accused_plugin.hpp"

#include <catch2/catch.hpp>

namespace sluice::job {
namespace {

using ipc::Phase;

worker::PluginInstance plugin(const std::string& alias) {
  worker::PluginInstance instance;
  instance.alias = alias;
  return instance;
}

slicer::Accusation died(Phase phase, std::uint32_t place) {
  slicer::Accusation accusation;
  accusation.phase = phase;
  accusation.plugin_place = place;
  return accusation;
}

const std::vector<worker::PluginInstance> kSink{plugin("archive")};
const std::vector<worker::PluginInstance> kShort{plugin("big"), plugin("archive")};
const std::vector<worker::PluginInstance> kLong{plugin("big"), plugin("eu"), plugin("archive")};

}  // namespace

TEST_CASE("a death in process is of the processor at the place that the worker told", "[job]") {
  CHECK(accused_plugin(died(Phase::Process, 1), kLong) == "big");
  CHECK(accused_plugin(died(Phase::Process, 2), kLong) == "eu");
}

TEST_CASE("a death in put is of the sink, and of one processor in process, whatever the place",
          "[job]") {
  for (const std::uint32_t place : {0U, 1U, 2U, 3U, 4'711U}) {
    CHECK(accused_plugin(died(Phase::Put, place), kLong) == "archive");
    CHECK(accused_plugin(died(Phase::Process, place), kShort) == "big");
    CHECK(accused_plugin(died(Phase::Flush, place), kSink) == "archive");
  }
}

TEST_CASE("a death in flush is of the plugin that flushed", "[job]") {
  CHECK(accused_plugin(died(Phase::Flush, 1), kShort) == "big");
  CHECK(accused_plugin(died(Phase::Flush, 2), kShort) == "archive");
}

TEST_CASE("a death names no plugin where the place is not told or cannot be", "[job]") {
  CHECK(accused_plugin(died(Phase::Process, 0), kLong).empty());
  CHECK(accused_plugin(died(Phase::Process, 3), kLong).empty());  // the sink does not process
  CHECK(accused_plugin(died(Phase::Flush, 0), kLong).empty());
  CHECK(accused_plugin(died(Phase::Flush, 4), kLong).empty());
}

TEST_CASE("a death outside of the plugins' calls names none", "[job]") {
  CHECK(accused_plugin(died(Phase::Fetch, 2), kShort).empty());
  CHECK(accused_plugin(died(Phase::Wait, 1), kShort).empty());
}

}  // namespace sluice::job
