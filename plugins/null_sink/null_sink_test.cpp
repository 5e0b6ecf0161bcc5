#include <catch2/catch.hpp>
#include <ctime>

#include "unit/sdk/plugin_harness.hpp"

using sluice::test::PluginHarness;
using sluice::test::TestRecord;

TEST_CASE("null takes everything and has nothing to flush", "[plugins]") {
  PluginHarness sink{PluginHarness::load("null_sink.so")};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "v"}, {std::nullopt, std::nullopt}}) == SLUICE_OK);
  REQUIRE(sink.plugin->flush == nullptr);
  REQUIRE(sink.host.failed.empty());
}

TEST_CASE("work.ns costs CPU time, not only time", "[plugins]") {
  PluginHarness sink{PluginHarness::load("null_sink.so"), {{"work.ns", "10000"}}};
  REQUIRE(sink.start() == SLUICE_OK);
  const std::vector<TestRecord> records(1000, TestRecord{"k", "v"});
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  REQUIRE(sink.put(records) == SLUICE_OK);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  const double used_ms = static_cast<double>(after.tv_sec - before.tv_sec) * 1e3 +
                         static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e6;
  REQUIRE(used_ms >
          3);  // 10 ms were asked for; a core that speeds up after the calibration needs less
}

TEST_CASE("work.ns below 0 is refused", "[plugins]") {
  REQUIRE(PluginHarness::problems(PluginHarness::load("null_sink.so"), {{"work.ns", "-1"}}) ==
          "work.ns: must be at least 0");
}
