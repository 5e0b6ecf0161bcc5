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

}  // namespace sluice::cli
