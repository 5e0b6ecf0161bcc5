#include "host/state/offset_list.hpp"

#include <catch2/catch.hpp>

namespace sluice::state {

TEST_CASE("offsets come back from their text as they were", "[state]") {
  const std::vector<std::int64_t> offsets =
      GENERATE(std::vector<std::int64_t>{}, std::vector<std::int64_t>{0},
               std::vector<std::int64_t>{150, 163, 9'223'372'036'854'775'807});
  CHECK(decode_offsets(encode_offsets(offsets)) == offsets);
}

TEST_CASE("a text that no version of ours wrote holds no offsets", "[state]") {
  const std::string text = GENERATE(as<std::string>{}, ",", "1,", ",1", "1,,2", "2,1", "1,1", "-1",
                                    "a", "1 2", "1,b", "99999999999999999999");
  CAPTURE(text);
  CHECK(decode_offsets(text).empty());
}

}  // namespace sluice::state
