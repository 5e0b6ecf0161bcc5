#include "host/cli/progress.hpp"

#include <catch2/catch.hpp>
#include <sstream>

namespace sluice::cli {
namespace {

job::JobStatus status_after(std::uint64_t records) {
  job::JobStatus status;
  status.name = "orders";
  status.slices.totals.in = records;
  return status;
}

}  // namespace

TEST_CASE("in a pipe a line is due every 5 s, so that no status is made between", "[progress]") {
  std::ostringstream out;
  Progress progress{out, Progress::Look::Lines};
  CHECK(progress.is_due(Milliseconds{0}));
  progress.show(status_after(0), Milliseconds{0});
  CHECK_FALSE(progress.is_due(Milliseconds{4'999}));
  CHECK(progress.is_due(Milliseconds{5'000}));
}

TEST_CASE("the summary of a halt names the offset that failed, and the frontier if it is another",
          "[progress]") {
  auto status = status_after(0);
  status.topics = {"orders"};
  auto& partition = status.slices.partitions.emplace_back();
  partition.tp = {0, 1};
  partition.state = slicer::PartitionState::Halted;
  partition.halted_at = 150;
  partition.frontier = 100;
  partition.text = "disk full";
  std::ostringstream out;
  print_summary(out, status);
  CHECK_THAT(out.str(),
             Catch::EndsWith("orders-1 halted at offset 150: disk full; frontier 100\n"));
  status.slices.partitions[0].frontier = 150;
  print_summary(out, status);
  CHECK_THAT(out.str(), Catch::EndsWith("orders-1 halted at offset 150: disk full\n"));
}

TEST_CASE("a terminal's line is due at every look", "[progress]") {
  std::ostringstream out;
  Progress progress{out, Progress::Look::Terminal};
  progress.show(status_after(0), Milliseconds{0});
  CHECK(progress.is_due(Progress::kPeriod));
}

TEST_CASE("the rate of a line is of the whole time since the last one", "[progress]") {
  std::ostringstream out;
  Progress progress{out, Progress::Look::Lines};
  progress.show(status_after(0), Milliseconds{0});
  out.str({});
  progress.show(status_after(50'000), Milliseconds{5'000});
  INFO(out.str());
  CHECK(out.str().find("50,000 records, 10,000/s") != std::string::npos);
}

}  // namespace sluice::cli
