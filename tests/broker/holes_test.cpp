// The whole product on logs whose offsets are not records: markers, aborted and open transactions,
// compaction, nothing at all (cases B04 and B06, slicer.md C2 to C4).
#include <boost/json.hpp>

#include "broker/log_shapes.hpp"
#include "broker/real_product.hpp"

namespace sluice::tests {
namespace {

/// So small that some hold only markers, or only aborted records.
constexpr char kSmallSlices[] = "slice.max.records = 7\n";

boost::json::object summary(const test::Program& run) {
  return boost::json::parse(run.out()).as_object();
}

std::int64_t frontier_of(const test::Program& run) {
  return summary(run).at("frontiers").as_array().at(0).at("offset").as_int64();
}

/// Offsets [from, to) that are in the ledger exactly once.
std::size_t once_in(const RealProduct& kafka, std::int64_t from, std::int64_t to) {
  std::size_t count = 0;
  for (const auto& [offset, times] : kafka.times()) {
    if (offset >= from && offset < to && times == 1) ++count;
  }
  return count;
}

/// A once job and two lives of a persistent one over a log that ends at `log_end` and holds 100
/// committed records: all of them once, the end reached, and nothing again.
void check_b04(RealProduct& kafka, const std::string& topic, std::int64_t log_end) {
  await_end(kafka, topic, log_end);
  const auto once =
      kafka.run(kafka.ledger_job(topic, std::string{"mode = \"once\"\n"} + kSmallSlices));
  INFO(once->err());
  REQUIRE(once->wait(std::chrono::seconds{30}) == 0);
  CHECK(summary(*once).at("state") == "COMPLETED");
  CHECK(summary(*once).at("records_delivered") == 100);
  CHECK(frontier_of(*once) == log_end);
  CHECK(kafka.committed(topic).offset == log_end);
  CHECK(kafka.ledger().size() == 100);
  CHECK(kafka.times().size() == 100);

  // A persistent job with a store of its own catches up and is stopped.
  std::filesystem::remove_all(kafka.state_dir());
  const auto tail = kafka.ledger_job(topic, kSmallSlices);
  const auto of_once_job = kafka.committed(topic).metadata;
  const auto first = kafka.run(tail, {"--from", "earliest"});
  REQUIRE(test::eventually([&] {
    const auto now = kafka.committed(topic);
    return now.offset == log_end && now.metadata != of_once_job;
  }));
  REQUIRE(first->stop() == 0);
  CHECK(frontier_of(*first) == log_end);
  CHECK(kafka.ledger().size() == 200);

  // Started again, the first thing it delivers is what comes new.
  const auto second = kafka.run(tail);
  INFO(second->err());
  const auto starts = topic + "-0 starts at " + std::to_string(log_end) + " (frontier)";
  REQUIRE(test::eventually([&] { return second->err().find(starts) != std::string::npos; }));
  kafka.fill(topic, 1);
  REQUIRE(test::eventually([&] { return kafka.times().contains(log_end); }));
  CHECK(kafka.ledger().size() == 201);
  REQUIRE(second->stop() == 0);
  CHECK(frontier_of(*second) == log_end + 1);
}

}  // namespace

TEST_CASE("a job ends, and starts again, at a log end that is a commit marker (B04 a)",
          "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("b04a");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  transaction(*producer, topic, 100, true);
  check_b04(kafka, topic, 101);
}

TEST_CASE("a job delivers ten small transactions and counts no marker as a record (B04 b)",
          "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("b04b");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  for (int i = 0; i < 10; ++i) transaction(*producer, topic, 10, true);
  check_b04(kafka, topic, 110);
}

TEST_CASE("a job whose log ends in 20 aborted records delivers none of them and ends (B04 c)",
          "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("b04c");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  transaction(*producer, topic, 100, true);
  transaction(*producer, topic, 20, false);
  check_b04(kafka, topic, 122);
}

TEST_CASE(
    "a compacted log is delivered survivor by survivor, and its empty slices cost no time (B06)",
    "[broker]") {
  RealProduct kafka;
  const CompactedLog log{kafka, "b06", 1000};
  const auto before = log.survivors();
  const auto once =
      kafka.run(kafka.ledger_job(log.topic, "mode = \"once\"\nslice.max.records = 100\n"));
  INFO(once->err());
  REQUIRE(once->wait() == 0);
  const auto after = log.survivors();
  const auto times = kafka.times();
  for (const auto& [offset, delivered] : times) {
    CHECK(delivered == 1);
    CHECK(before.contains(offset));
  }
  for (const auto offset : after) CHECK(times.contains(offset));
  const auto words = summary(*once);
  const auto slices = words.at("slices_completed").to_number<std::int64_t>();
  CHECK(slices >= log.end / 100);
  CHECK(std::int64_t(times.size()) < log.end / 2);
  CHECK(frontier_of(*once) == log.end);
  // 200 slices, most of them empty. With a poll of 100 ms for each it would be 20 s.
  CHECK(words.at("elapsed_ms").to_number<std::int64_t>() < slices * 50);

  const auto second =
      kafka.run(kafka.ledger_job(log.topic, "mode = \"once\"\nslice.max.records = 100\n"));
  REQUIRE(second->wait() == 0);
  CHECK(kafka.times().size() == times.size());
  CHECK(kafka.ledger().size() == times.size());
}

TEST_CASE("a once job ends at the last stable offset, below a transaction that stays open (S1)",
          "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("open-once");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  transaction(*producer, topic, 5, true);
  ok(producer->begin(kTimeoutMs));
  send(*producer, topic, "k", "open");
  ok(producer->flush(kTimeoutMs));
  await_end(kafka, topic, 6);
  // Committed records of somebody else lie above it, and are not stable either.
  const auto other = kafka.producer({}, {.transactional_id = topic + "-other"});
  transaction(*other, topic, 3, true);
  const auto job = kafka.ledger_job(topic, "mode = \"once\"\n");
  const auto once = kafka.run(job);
  INFO(once->err());
  REQUIRE(once->wait(std::chrono::seconds{30}) == 0);
  CHECK(frontier_of(*once) == 6);
  CHECK(kafka.ledger().size() == 5);
  ok(producer->abort(kTimeoutMs));
  await_end(kafka, topic, 12);
  const auto next = kafka.run(job);
  REQUIRE(next->wait(std::chrono::seconds{30}) == 0);
  CHECK(frontier_of(*next) == 12);
  CHECK(once_in(kafka, 0, 5) == 5);
  CHECK(once_in(kafka, 7, 10) == 3);
  CHECK(kafka.ledger().size() == 8);
}

TEST_CASE(
    "a persistent job stays below an open transaction and delivers it when it commits (C2, B04)",
    "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("open-tail");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  transaction(*producer, topic, 5, true);
  const auto run = kafka.run(kafka.ledger_job(topic, kSmallSlices));
  INFO(run->err());
  REQUIRE(test::eventually([&] { return kafka.committed(topic).offset == 6; }));
  ok(producer->begin(kTimeoutMs));
  for (int i = 0; i < 20; ++i) send(*producer, topic, "k", "open");
  ok(producer->flush(kTimeoutMs));
  await_end(kafka, topic, 6);
  REQUIRE(kafka.offset(topic, kafka::LogPoint::latest(), kafka::IsolationLevel::ReadUncommitted) ==
          26);
  // Nobody else's commit may lift the end above it. What it lifts is the log's end: seen, it would
  // show as a slice, a position or a lag.
  const auto other = kafka.producer({}, {.transactional_id = topic + "-other"});
  transaction(*other, topic, 3, true);
  const auto reports = [&] {
    const auto text = run->err();
    int count = 0;
    for (auto at = text.find("lag "); at != std::string::npos; at = text.find("lag ", at + 1)) {
      ++count;
    }
    return count;
  };
  const int seen = reports();
  REQUIRE(test::eventually([&] { return reports() >= seen + 2; }));
  const auto text = run->err();
  CHECK(text.substr(text.rfind("lag "), 5) == "lag 0");
  CHECK(kafka.ledger().size() == 5);
  CHECK(kafka.committed(topic).offset == 6);
  ok(producer->commit(kTimeoutMs));
  await_end(kafka, topic, 31);
  REQUIRE(test::eventually([&] { return kafka.committed(topic).offset == 31; }));
  CHECK(once_in(kafka, 6, 26) == 20);
  CHECK(once_in(kafka, 26, 29) == 3);
  CHECK(run->stop() == 0);
  CHECK(frontier_of(*run) == 31);
  CHECK(kafka.ledger().size() == 28);
  CHECK(summary(*run).at("worker_restarts") == 0);
}

TEST_CASE(
    "a job over empty partitions ends at once, a persistent one gets their first record (B03)",
    "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("empty", 4);
  const auto once = kafka.run(kafka.ledger_job(topic, "mode = \"once\"\n"));
  REQUIRE(once->wait(std::chrono::seconds{30}) == 0);
  CHECK(summary(*once).at("state") == "COMPLETED");
  const auto run = kafka.run(
      kafka.ledger_job(topic, "consumer.override.auto.offset.reset = \"latest\"\ntasks.max = 2\n"));
  INFO(run->err());
  REQUIRE(test::eventually(
      [&] { return run->err().find(topic + "-3 starts at 0") != std::string::npos; }));
  const auto producer = kafka.producer();
  for (int partition = 0; partition < 4; ++partition) {
    kafka::OutRecord record;
    record.value = bytes_of("first");
    record.partition = partition;
    ok(producer->produce(topic, record));
  }
  ok(producer->flush(kTimeoutMs));
  CHECK(test::eventually([&] { return kafka.deliveries().size() == 4; }));
  CHECK(run->stop() == 0);
  CHECK(kafka.ledger().size() == 4);
}

}  // namespace sluice::tests
