#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <memory>
#include <sstream>

#include "abi/abi_layout.h"  // the layout as C++20 sees it
#include "unit/sdk/plugin_harness.hpp"

using sluice::test::PluginHarness;
using sluice::test::TestBatch;

namespace {

sluice::worker::PluginChoice c_sink() {
  return PluginHarness::load("../sdk_fixtures/c_sink.so");
}

std::string exports_of(const std::string& file) {
  const std::string command = "nm -D --defined-only '" + file + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe{::popen(command.c_str(), "r"), ::pclose};
  std::string names;
  std::array<char, 512> line{};
  while (::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    std::string address;
    std::string type;
    std::string name;
    std::istringstream{line.data()} >> address >> type >> name;
    names += name + " ";
  }
  return names;
}

}  // namespace

TEST_CASE("a plugin in C gets its settings and counts its records", "[abi]") {
  PluginHarness sink{c_sink()};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "12345"}, {"k", std::nullopt}, {"k", ""}}) == SLUICE_OK);
  REQUIRE(sink.host.position == 2);
  REQUIRE(sink.flush() == SLUICE_OK);
  REQUIRE(sink.host.lines.at(0).second == "5 bytes of 42");
}

TEST_CASE("a plugin in C reads the records of a host whose record has grown", "[abi]") {
  PluginHarness sink{c_sink(), {{"limit", "-7"}}};
  sink.host.add_slice(3, 0, 10, 20);
  REQUIRE(sink.start() == SLUICE_OK);
  const TestBatch batch{3, 0, 10, {{"k", "1"}, {"k", "bad"}, {"k", "22"}}, 88};
  REQUIRE(sink.put(batch) == SLUICE_OK);
  REQUIRE(sink.host.failed.at({3, 11}) == "bad record");
  REQUIRE(sink.flush() == SLUICE_OK);
  REQUIRE(sink.host.lines.at(0).second == "3 bytes of -7");
}

TEST_CASE("a plugin in C tells why it fails", "[abi]") {
  PluginHarness sink{c_sink()};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "fail"}}) == SLUICE_FAIL);
  REQUIRE(sink.host.error.message == "told to fail");
  REQUIRE(sink.host.error.code == 7);
}

// sdk-facts 3.1: hidden visibility alone leaves 111 exports in a plugin that uses <regex>.
TEST_CASE("a plugin exports its entry and nothing else", "[abi]") {
  for (const char* file : {"fault_sink.so", "file_sink.so", "filter_processor.so", "ledger_sink.so",
                           "null_sink.so", "../sdk_fixtures/c_sink.so",
                           "../sdk_fixtures/exports_much.so", "../sdk_fixtures/lines_example.so"}) {
    CAPTURE(file);
    REQUIRE(exports_of(std::string{SLUICE_PLUGIN_DIR} + "/" + file) == "sluice_module_v1 ");
  }
}
