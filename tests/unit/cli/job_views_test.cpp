#include "host/cli/job_views.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <sstream>

namespace sluice::cli {

namespace json = boost::json;

TEST_CASE("a halted partition's text names the offset that failed beside the frontier", "[job]") {
  std::ostringstream out;
  const json::value partition{{"topic", "orders"}, {"partition", 1},   {"state", "HALTED"},
                              {"frontier", 100},   {"halted_at", 150}, {"text", "disk full"}};
  show_job(out, Look::Pipe,
           json::value{{"name", "archive"}, {"partitions", json::array{partition}}});
  CHECK_THAT(out.str(), Catch::Contains("orders-1\tHALTED\t100\t"));
  CHECK_THAT(out.str(), Catch::Contains("\thalted at offset 150: disk full\n"));
}

TEST_CASE("after a reset a stopped job is told to be resumed, one that has ended to be restarted",
          "[job]") {
  const auto advice = [](const char* state) {
    std::ostringstream out;
    show_reset(out, Look::Pipe,
               json::value{{"name", "archive"}, {"state", state}, {"start_from", "latest"}});
    return out.str();
  };
  CHECK(advice("STOPPED") ==
        "the next start begins at latest; start it with `sluice job resume archive`\n");
  for (const auto* ended : {"FAILED", "COMPLETED", "COMPLETED_WITH_GAPS"}) {
    CHECK(advice(ended) ==
          "the next start begins at latest; start it with `sluice job restart archive`\n");
  }
}

}  // namespace sluice::cli
