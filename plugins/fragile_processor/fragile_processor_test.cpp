#include <catch2/catch.hpp>

#include "unit/sdk/plugin_harness.hpp"

using sluice::test::PluginHarness;

// That it crashes is seen where there is a process to spare: tests/integration/host and the demo.
TEST_CASE("a fragile processor passes on what does not hold its text", "[plugins]") {
  PluginHarness fragile{PluginHarness::load("fragile_processor.so"), {{"crash.value", "glass"}}};
  REQUIRE(fragile.start() == SLUICE_OK);
  REQUIRE(fragile.process({{"k", "lamp"}, {"k", "glas"}}) == SLUICE_OK);
  REQUIRE(fragile.host.emitted.size() == 2);
}

TEST_CASE("a fragile processor must be told what it cannot stand", "[plugins]") {
  CHECK(PluginHarness::problems(PluginHarness::load("fragile_processor.so"), {}) != "");
}
