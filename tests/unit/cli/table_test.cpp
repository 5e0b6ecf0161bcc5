// What `sluice job` prints, for people and for pipes.
#include "host/cli/table.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <sstream>

#include "host/cli/host_client.hpp"
#include "host/cli/job_views.hpp"

namespace sluice::cli {
namespace {

std::string printed(const Table& table, Look look) {
  std::ostringstream out;
  table.print(out, look);
  return out.str();
}

}  // namespace

TEST_CASE("on a terminal columns are aligned, numbers to the right, in a pipe fields have tabs",
          "[cli]") {
  Table table{{"PARTITION", "LAG", "TEXT"}};
  table.add({"orders-0", "12", "gr\xC3\xBC\xC3\x9F"});
  table.add({"o-1", "1,234", "two\nlines"});
  CHECK(printed(table, Look::Pipe) ==
        "PARTITION\tLAG\tTEXT\norders-0\t12\tgr\xC3\xBC\xC3\x9F\no-1\t1,234\ttwo lines\n");
  CHECK(printed(table, Look::Terminal) ==
        "PARTITION  LAG    TEXT\n"
        "orders-0      12  gr\xC3\xBC\xC3\x9F\n"
        "o-1        1,234  two lines\n");
}

TEST_CASE("what an answer lacks is a dash, and no row is told in words on a terminal", "[cli]") {
  std::ostringstream out;
  show_offsets(out, Look::Pipe,
               boost::json::parse(R"({"partitions":[{"topic":"t","partition":0,"end":null}]})"));
  CHECK(out.str() == "PARTITION\tSTART\tFRONTIER\tDURABLE\tEND\tLAG\nt-0\t-\t-\t-\t-\t-\n");
  std::ostringstream empty;
  show_jobs(empty, Look::Terminal, boost::json::parse(R"({"jobs":[]})"));
  CHECK(empty.str() == "no jobs\n");
  std::ostringstream strange;
  show_job(strange, Look::Pipe, boost::json::parse("[1]"));
  CHECK(strange.str().find("workers up") != std::string::npos);
}

TEST_CASE("a job's name in a path is percent-encoded", "[cli]") {
  CHECK(percent_encoded("a-b._~9") == "a-b._~9");
  CHECK(percent_encoded("a/b ?\xC3\xBC") == "a%2Fb%20%3F%C3%BC");
}

}  // namespace sluice::cli
