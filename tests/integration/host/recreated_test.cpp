// F5 as far as the mock cluster goes: it cannot delete a topic or cut a log off, but a second one
// can hold a topic of the same name with other records, or with the beginning of the same ones. To
// a job that finds its state and this topic, that is what happened while it was stopped.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "host/state/audit.hpp"
#include "host/state/store_reader.hpp"
#include "integration/host/delivery_proof.hpp"
#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

constexpr std::int64_t kFirstTimestampMs = 1'700'000'000'000;

/// Records [from, to) of a partition whose record n has always the same content and timestamp.
void produce_known(JobFixture& kafka, std::int64_t from, std::int64_t to,
                   const std::string& prefix = "known") {
  for (std::int64_t n = from; n < to; ++n) {
    const std::string value = prefix + "-" + std::to_string(n);
    kafka::OutRecord record;
    record.value = {value.data(), value.size()};
    record.partition = 0;
    record.timestamp_ms = kFirstTimestampMs + n;
    kafka.produce_record("orders", record);
  }
}

std::filesystem::path job_of(JobFixture& kafka, const std::string& more = {}) {
  return kafka.job("archive",
                   "connector.class = \"ledger\"\ntopics = [\"orders\"]\n"
                   "slice.max.records = 10\n" +
                       more);
}

/// A job that has read `records` known records is stopped; `again` has its state and ledger.
void move_to(JobFixture& again, std::int64_t records) {
  JobFixture first;
  first.topic("orders", 1);
  produce_known(first, 0, records);
  const auto run = first.run(job_of(first));
  REQUIRE(
      eventually([&] { return first.deliveries().size() == static_cast<std::size_t>(records); }));
  INFO(run->err());
  REQUIRE(run->stop() == 0);
  REQUIRE(stored_frontiers(first.state_dir(), "archive").at(0) == records);
  std::filesystem::copy(first.state_dir(), again.state_dir(),
                        std::filesystem::copy_options::recursive);
  std::filesystem::copy(first.ledger_file(), again.ledger_file());
  again.topic("orders", 1);
}

std::int64_t frontier(const JobFixture& kafka) {
  return stored_frontiers(kafka.state_dir(), "archive").at(0);
}

/// Offsets [0, again) came twice, [again, end) once.
bool delivered(const JobFixture& kafka, std::int64_t again_from, std::int64_t again_to,
               std::int64_t end) {
  Deliveries expected;
  for (std::int64_t offset = 0; offset < end; ++offset) {
    expected[{0, offset}] = offset >= again_from && offset < again_to ? 2 : 1;
  }
  return kafka.deliveries() == expected;
}

void check_audit(const JobFixture& kafka) {
  const auto store = state::open_store_reader(kafka.state_dir());
  REQUIRE(store.has_value());
  const auto report = state::audit((*store)->audit_rows("archive").value());
  for (const auto& finding : report.findings) {
    FAIL_CHECK(state::finding_name(finding.kind) << " [" << finding.start << ", " << finding.end);
  }
}

bool says(const Program& run, const std::string& text) {
  return run.err().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("the same records are there: a start goes on where it was (F5)", "[recreated]") {
  JobFixture kafka;
  move_to(kafka, 40);
  produce_known(kafka, 0, 55);
  const auto run = kafka.run(job_of(kafka));
  REQUIRE(eventually([&] { return delivered(kafka, 0, 0, 55); }));
  INFO(run->err());
  REQUIRE(run->stop() == 0);
  CHECK(delivered(kafka, 0, 0, 55));
  CHECK_FALSE(says(*run, "begins anew"));
  CHECK(stored_gaps(kafka.state_dir(), "archive").empty());
}

TEST_CASE("other records, and more of them than before: only the fingerprint tells (F5)",
          "[recreated]") {
  JobFixture kafka;
  move_to(kafka, 40);
  produce_known(kafka, 0, 70, "other");
  const auto run = kafka.run(job_of(kafka));
  REQUIRE(eventually([&] { return delivered(kafka, 0, 40, 70); }));
  REQUIRE(eventually([&] { return frontier(kafka) == 70; }));
  INFO(run->err());
  REQUIRE(run->stop() == 0);
  CHECK(says(*run, "orders-0 begins anew at 0 (the position was 40)"));
  const auto gaps = stored_gaps(kafka.state_dir(), "archive");
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].cause == state::Cause::Recreated);
  check_audit(kafka);
}

TEST_CASE("other records under auto.offset.reset none: FAILED, naming what to do (F5)",
          "[recreated]") {
  JobFixture kafka;
  move_to(kafka, 40);
  produce_known(kafka, 0, 70, "other");
  const auto job =
      job_of(kafka, "mode = \"once\"\nconsumer.override.auto.offset.reset = \"none\"\n");
  const auto refused = kafka.run(job);
  CHECK(refused->wait() == 1);
  CHECK(says(*refused, "topic orders was deleted and created again"));
  CHECK(says(*refused, "sluice job offsets"));
  CHECK(frontier(kafka) == 40);
  CHECK(kafka.deliveries().size() == 40);
  const auto told = kafka.run(job, {"--from", "earliest"});
  INFO(told->err());
  CHECK(told->wait() == 0);
  CHECK(delivered(kafka, 0, 40, 70));
  const auto after = kafka.run(job);
  CHECK(after->wait() == 0);
  CHECK(delivered(kafka, 0, 40, 70));
}

TEST_CASE(
    "the log has lost its end: work goes on behind what is proved, the range is on record (F5)",
    "[recreated]") {
  JobFixture kafka;
  move_to(kafka, 40);
  produce_known(kafka, 0, 33);
  const auto run = kafka.run(job_of(kafka));
  REQUIRE(eventually([&] { return frontier(kafka) == 33; }));
  produce_known(kafka, 33, 45, "new");
  REQUIRE(eventually([&] { return frontier(kafka) == 45; }));
  INFO(run->err());
  REQUIRE(run->stop() == 0);
  CHECK(delivered(kafka, 30, 40, 45));
  CHECK(says(*run, "orders-0: the log was cut off and is the same up to 30 only"));
  const auto gaps = stored_gaps(kafka.state_dir(), "archive");
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].cause == state::Cause::Truncated);
  CHECK(gaps[0].start == 30);
  CHECK(gaps[0].end == 40);
  CHECK(gaps[0].records_max == 10);
  check_audit(kafka);
  // The group may go back as well: the next start finds nothing odd.
  const auto again = kafka.run(job_of(kafka));
  produce_known(kafka, 45, 46, "new");
  REQUIRE(eventually([&] { return frontier(kafka) == 46; }));
  CHECK(again->stop() == 0);
}

TEST_CASE("the log has lost its end and has grown again: it is the same topic (F5)",
          "[recreated]") {
  JobFixture kafka;
  move_to(kafka, 40);
  produce_known(kafka, 0, 33);
  produce_known(kafka, 33, 70, "new");
  const auto run = kafka.run(job_of(kafka));
  REQUIRE(eventually([&] { return delivered(kafka, 30, 40, 70); }));
  REQUIRE(eventually([&] { return frontier(kafka) == 70; }));
  INFO(run->err());
  REQUIRE(run->stop() == 0);
  CHECK_FALSE(says(*run, "begins anew"));
  const auto gaps = stored_gaps(kafka.state_dir(), "archive");
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].cause == state::Cause::Truncated);
  CHECK(gaps[0].start == 30);
  CHECK(gaps[0].end == 40);
  check_audit(kafka);
}

}  // namespace sluice::test
