#include "host/base/value_syntax.hpp"

#include <catch2/catch.hpp>

namespace sluice {

TEST_CASE("a duration is milliseconds, or a number with ms, s, m, h or d", "[base]") {
  CHECK(parse_duration_ms("0").value() == 0);
  CHECK(parse_duration_ms("1500").value() == 1500);
  CHECK(parse_duration_ms("20ms").value() == 20);
  CHECK(parse_duration_ms("30s").value() == 30'000);
  CHECK(parse_duration_ms("1.5s").value() == 1500);
  CHECK(parse_duration_ms("2m").value() == 120'000);
  CHECK(parse_duration_ms("1h").value() == 3'600'000);
  CHECK(parse_duration_ms("7d").value() == 604'800'000);
}

TEST_CASE("a duration that is negative, empty, infinite or of another unit is refused", "[base]") {
  for (const char* text : {"", "-1", "-1s", "s", "ms", "inf", "infs", "nans", "1w", "1 s", "1S",
                           "1e3s", ".5s", "5.s", "1.0001s", "0x10", "1s1s",
                           "99999999999999999999", "999999999999999d", "+1"}) {
    INFO(text);
    CHECK(parse_duration_ms(text).has_error());
  }
}

TEST_CASE("a size is bytes, or a number with KiB, MiB or GiB", "[base]") {
  CHECK(parse_size_bytes("4096").value() == 4096);
  CHECK(parse_size_bytes("64MiB").value() == 64 << 20);
  CHECK(parse_size_bytes("1.5KiB").value() == 1536);
  CHECK(parse_size_bytes("2GiB").value() == 2'147'483'648);
  for (const char* text : {"", "-1", "1MB", "1mib", "1M", "0.0001KiB", "inf"}) {
    INFO(text);
    CHECK(parse_size_bytes(text).has_error());
  }
}

TEST_CASE("the error says what to write and not what was written", "[base]") {
  CHECK(parse_duration_ms("hunter2").error().message() ==
        "must be a duration: an integer (ms), or a number with ms, s, m, h or d");
}

TEST_CASE("integers, floats and booleans are whole texts", "[base]") {
  CHECK(parse_integer("-9223372036854775808").value() == std::int64_t{1} << 63);
  CHECK(parse_integer("9223372036854775808").has_error());
  CHECK(parse_integer("1.0").has_error());
  CHECK(parse_integer(" 1").has_error());
  CHECK(parse_float("1e3").value() == 1000.0);
  CHECK(parse_float("inf").has_error());
  CHECK(parse_float("nan").has_error());
  CHECK(parse_float("1,5").has_error());
  CHECK(parse_bool("true").value());
  CHECK_FALSE(parse_bool("false").value());
  CHECK(parse_bool("yes").has_error());
}

}  // namespace sluice
