// What a poison record costs under slice.on.failure = isolate and park: itself, or its slice, on
// record (slicer.md F3, S1), with real processes that really crash.
#include <catch2/catch.hpp>
#include <regex>

#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

std::string fault_job(const std::string& more) {
  return "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\ntasks.max = 2\n" +
         more;
}

/// Partition 0 .. partitions - 1 with `count` records each; partition 0 has `poison` in the middle.
void fill(JobFixture& kafka, int partitions, std::int64_t count, const std::string& poison) {
  kafka.topic("orders", partitions);
  for (int partition = 0; partition < partitions; ++partition) {
    if (partition > 0) {
      kafka.produce("orders", partition, count);
      continue;
    }
    kafka.produce("orders", 0, count / 2);
    kafka.produce_value("orders", 0, poison);
    kafka.produce("orders", 0, count - count / 2 - 1);
  }
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("one poison record in 10,000 is found with two crashes and set aside, all else arrives",
          "[isolate]") {
  JobFixture kafka;
  fill(kafka, 4, 10'000, "crash");
  const auto run = kafka.run(kafka.job("archive", fault_job("slice.on.failure = \"isolate\"\n")));
  REQUIRE(run->wait() == 1);
  INFO(run->err());
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == 39'999);
  CHECK_FALSE(delivered.contains({0, 5'000}));
  CHECK(count_of(run->err(), "worker is gone") == 2);
  CHECK(run->err().find("orders-0: record 5000 is set aside, on record") != std::string::npos);
  CHECK(run->out().find("COMPLETED_WITH_GAPS") != std::string::npos);
}

TEST_CASE(
    "a record that kills a buffering sink only in flush costs at most log2(n) + 2 deaths, and"
    " charges no other partition's slice",
    "[isolate]") {
  JobFixture kafka;
  fill(kafka, 4, 10'000, "crash_flush");
  const auto run =
      kafka.run(kafka.job("archive", fault_job("slice.on.failure = \"isolate\"\nbuffer = true\n")));
  REQUIRE(run->wait(std::chrono::seconds{100}) == 1);
  INFO(run->err());
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == 39'999);
  CHECK_FALSE(delivered.contains({0, 5'000}));
  CHECK(count_of(run->err(), "worker is gone") <= 15);  // log2(10,000) is 13.3
  CHECK(run->err().find("orders-0: record 5000 is set aside, on record") != std::string::npos);
  for (const std::string other : {"orders-1", "orders-2", "orders-3"}) {
    CHECK(run->err().find(other + ": record") == std::string::npos);
    for (const char* charge : {" failed, attempt", " is run in parts"}) {
      CHECK_FALSE(std::regex_search(run->err(), std::regex{other + " [^\n]*" + charge}));
    }
  }
}

TEST_CASE("with errors.tolerance = all a sink that fails a batch costs its one bad record (B12)",
          "[isolate]") {
  JobFixture kafka;
  fill(kafka, 1, 300, "throw");
  const auto run = kafka.run(
      kafka.job("archive", fault_job("errors.tolerance = \"all\"\nslice.max.records = 100\n")));
  REQUIRE(run->wait() == 1);
  INFO(run->err());
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == 299);
  CHECK_FALSE(delivered.contains({0, 150}));
}

TEST_CASE(
    "a worker above worker.memory.max is ended with that reason, its neighbour goes on (B15 c)",
    "[isolate]") {
  JobFixture kafka;
  fill(kafka, 2, 1'000, "alloc");
  const auto run = kafka.run(
      kafka.job("archive", fault_job("worker.memory.max = \"200MiB\"\nslice.attempts.max = 2\n")));
  // The record takes all memory every time: no crash of its own, so the partition halts (F2).
  REQUIRE(run->wait() == 1);
  INFO(run->err());
  CHECK(run->err().find("worker.memory.max is 209715200") != std::string::npos);
  CHECK(run->err().find("orders-0 halted") != std::string::npos);
  const auto delivered = kafka.deliveries();
  for (std::int64_t offset = 0; offset < 1'000; ++offset) {
    REQUIRE(delivered.contains({1, offset}));
  }
  CHECK_FALSE(delivered.contains({0, 500}));
}

TEST_CASE("under park the slice of a poison record is passed, on record, also over a host's death",
          "[isolate]") {
  JobFixture kafka;
  fill(kafka, 1, 300, "throw");
  kafka.produce("orders", 0, 200);
  kafka.produce_value("orders", 0, "hang");  // the first host cannot come to its end
  kafka.produce("orders", 0, 99);
  const auto marks = kafka.folder().path() / "marks";
  std::filesystem::create_directories(marks);
  const auto job =
      kafka.job("archive", fault_job("slice.on.failure = \"park\"\nslice.max.records = 100\n"
                                     "slice.attempts.max = 1\nonce.folder = \"" +
                                     marks.string() + "\"\n"));
  {
    const auto run = kafka.run(job);
    INFO(run->err());
    REQUIRE(eventually([&] {  // on record
      return kafka.sluice_job({"gaps", "archive"}).out.find("parked") != std::string::npos;
    }));
    // A record that has acted once does not do so again: the next host must not be the first.
    REQUIRE(eventually(
        [&] { return std::distance(std::filesystem::directory_iterator{marks}, {}) == 2; }));
    run->kill();
  }
  const auto run = kafka.run(job);
  // What was parked before the host died still counts at the end.
  REQUIRE(run->wait() == 1);
  INFO(run->err());
  CHECK(run->out().find("COMPLETED_WITH_GAPS") != std::string::npos);
  const auto delivered = kafka.deliveries();
  for (std::int64_t offset = 0; offset < 600; ++offset) {
    const bool parked = offset >= 100 && offset < 200;
    if (!parked) REQUIRE(delivered.contains({0, offset}));
  }
  CHECK_FALSE(delivered.contains({0, 150}));
}

}  // namespace sluice::test
