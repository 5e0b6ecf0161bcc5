// Case B22: a value is taken exactly, or refused; never 0, never another unit.
#include "host/config/values.hpp"

#include <catch2/catch.hpp>

#include "config_text.hpp"

namespace sluice::config {

TEST_CASE("a duration is taken exactly and shown in milliseconds", "[config]") {
  const auto shown = [](const std::string& written) {
    return effective(job_with("task.call.timeout.ms = " + written), "task.call.timeout.ms");
  };
  CHECK(shown("30000") == "30000");
  CHECK(shown("\"30000\"") == "30000");
  CHECK(shown("\"30s\"") == "30000");
  CHECK(shown("\" 30s \"") == "30000");
  CHECK(shown("\"1m\"") == "60000");
  CHECK(shown("\"1d\"") == "86400000");
  CHECK(shown("\"1500ms\"") == "1500");
  CHECK(shown("\"1.5s\"") == "1500");
}

TEST_CASE("a duration of 30 is 30 milliseconds: taken where that is allowed, else refused",
          "[config]") {
  CHECK(effective(job_with("worker.flush.interval.ms = 30"), "worker.flush.interval.ms") == "30");
  CHECK(effective(job_with("worker.flush.interval.ms = \"30\""), "worker.flush.interval.ms") ==
        "30");
  CHECK(problems_after_head("task.call.timeout.ms = 30") ==
        Lines{"f:4:1: task.call.timeout.ms: must be at least 100, not '30'"});
}

TEST_CASE("a duration that is none is refused and shown", "[config]") {
  const auto refusal = [](const std::string& written) {
    return problems_after_head("task.call.timeout.ms = " + written);
  };
  const auto line = [](const std::string& shown) {
    return Lines{
        "f:4:1: task.call.timeout.ms: must be a duration: an integer (ms), or a number "
        "with ms, s, m, h or d, not '" +
        shown + "'"};
  };
  for (const std::string text : {"-1s", "inf", "", "10 parsecs", "30 s", "1w", "+5s", "1e3", "-1",
                                 "0x10", "s", "1..5s", "99999999999999999999", "nan"}) {
    CAPTURE(text);
    CHECK(refusal("\"" + text + "\"") == line(text));
  }
}

TEST_CASE("minus one is taken only where it is listed", "[config]") {
  CHECK(job_with("task.retry.timeout.ms = -1").task_retry_timeout_ms == -1);
  CHECK(job_with("errors.retry.timeout = -1").errors_retry_timeout_ms == -1);
  CHECK(problems_after_head("task.retry.timeout.ms = -2") ==
        Lines{"f:4:1: task.retry.timeout.ms: must be a duration: an integer (ms), or a number with "
              "ms, s, m, h or d, or -1, not '-2'"});
}

TEST_CASE("a size is bytes or KiB, MiB, GiB, and shown in bytes", "[config]") {
  CHECK(effective(job_with("slice.max.bytes = \"2MiB\""), "slice.max.bytes") == "2097152");
  for (const std::string text : {"2MB", "2mib", "2 MiB", "-1", "", "9223372036854775807KiB"}) {
    CAPTURE(text);
    CHECK(problems_after_head("slice.max.bytes = \"" + text + "\"") ==
          Lines{"f:4:1: slice.max.bytes: must be a size: an integer (bytes), or a number with KiB, "
                "MiB or GiB, not '" +
                text + "'"});
  }
}

TEST_CASE("Connect's keys take what Connect takes", "[config]") {
  CHECK(job_with("\"tasks.max.enforce\" = \"TRUE\"\ntasks.max = \" 4 \"").tasks_max == 4);
  CHECK(problems_after_head("errors.retry.timeout = \"30s\"") ==
        Lines{"f:4:1: errors.retry.timeout: must be an integer, or -1, not '30s'"});
  CHECK(problems_after_head("errors.tolerance = \"ALL\"") ==
        Lines{"f:4:1: errors.tolerance: must be none or all, not 'ALL'"});
  CHECK(problems_after_head("tasks.max = 0") ==
        Lines{"f:4:1: tasks.max: must be at least 1, not '0'"});
  CHECK(problems_after_head("tasks.max = 1001") ==
        Lines{"f:4:1: tasks.max: must be at most 1000, not '1001'"});
  CHECK(problems_after_head("worker.core = \"yes\"") ==
        Lines{"f:4:1: worker.core: must be true or false, not 'yes'"});
}

TEST_CASE("a time is milliseconds since 1970 or RFC 3339 with its zone", "[config]") {
  CHECK(parse_timestamp_ms("1700000000000").value() == 1'700'000'000'000);
  CHECK(parse_timestamp_ms("2023-11-14T22:13:20Z").value() == 1'700'000'000'000);
  CHECK(parse_timestamp_ms("2023-11-15T00:13:20.25+02:00").value() == 1'700'000'000'250);
  CHECK(parse_timestamp_ms("2023-11-14 17:43:20.1239-04:30").value() == 1'700'000'000'123);
  for (const std::string_view text :
       {"", "now", "2023-11-14", "2023-11-14T22:13:20", "2023-02-29T00:00:00Z",
        "2023-11-14T24:00:00Z", "2023-11-14T22:13:20.Z", "2023-11-14T22:13:20+2:00", "-5",
        "99999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_timestamp_ms(text).has_value());
  }
}

TEST_CASE("a list has no empty elements", "[config]") {
  CHECK(parse_list(" a , b ").value() == Lines{"a", "b"});
  CHECK(parse_list("").value().empty());
  CHECK_FALSE(parse_list("a,,b").has_value());
  CHECK_FALSE(parse_list("a,").has_value());
}

TEST_CASE("what is shown of a text is short and has no control characters", "[config]") {
  CHECK(in_quotes("a\nb\x01") == "'a\\x0Ab\\x01'");
  CHECK(in_quotes(std::string(100, 'x')) == "'" + std::string(60, 'x') + "...'");
  // 59 letters and an umlaut of two bytes: cut behind it, not inside it.
  CHECK(in_quotes(std::string(59, 'x') + "\xC3\xA4z") ==
        "'" + std::string(59, 'x') + "\xC3\xA4...'");
}

}  // namespace sluice::config
