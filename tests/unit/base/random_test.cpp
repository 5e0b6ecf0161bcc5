#include "host/base/random.hpp"

#include <catch2/catch.hpp>

namespace sluice {

TEST_CASE("one seed gives one sequence, whatever the standard library", "[base]") {
  Random random{42};
  CHECK(random.next() == 0xBDD732262FEB6E95U);
  Random again{42};
  CHECK(again.next() == 0xBDD732262FEB6E95U);
}

TEST_CASE("below() reaches every value of a small bound and none outside", "[base]") {
  Random random{7};
  bool seen[5] = {};
  for (int i = 0; i < 200; ++i) {
    const auto value = random.below(5);
    REQUIRE(value < 5);
    seen[value] = true;
  }
  for (const bool value_seen : seen) CHECK(value_seen);
}

}  // namespace sluice
