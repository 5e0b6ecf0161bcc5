// Topics that are deleted and created again on a real broker, while the host is stopped and while a
// job runs (slicer.md F5). Logs that are cut off: cut_log_test.cpp.
#include <algorithm>
#include <boost/json.hpp>
#include <functional>

#include "broker/real_product.hpp"
#include "integration/host/delivery_proof.hpp"

namespace sluice::tests {
namespace {

using test::Deliveries;
using test::eventually;

constexpr std::chrono::seconds kPatience{60};
constexpr std::int64_t kFirstTimestampMs = 1'700'000'000'000;

bool says(const test::Program& run, const std::string& text) {
  return run.err().find(text) != std::string::npos;
}

/// "WHAT-0" to "WHAT-(count - 1)".
struct Records {
  std::string what;
  std::int64_t count = 0;
};

class Recreated : public RealProduct {
 public:
  struct Job {
    std::string topic;
    std::filesystem::path file;
  };

  /// A job that has read `before`, and was stopped before its topic became one with `after`.
  Job read_and_recreated(const std::string& name, const Records& before, const Records& after) {
    const auto of_topic = topic(name);
    fill(of_topic, before.what, before.count);
    const auto file = job_for(of_topic);
    read_all(file, static_cast<std::size_t>(before.count));
    recreate(of_topic);
    fill(of_topic, after.what, after.count);
    return {of_topic, file};
  }
  /// One more start, and one more record: the log is still the same one, nothing is read again.
  void goes_on_from(const Job& job, std::int64_t frontier_before) {
    const auto again = run(job.file);
    fill(job.topic, "more", 1);
    await(*again, [&] { return frontier(job.topic) == frontier_before + 1; });
    stop(*again);
    CHECK_FALSE(says(*again, "begins anew"));
  }
  void recreate(const std::string& topic, int partitions = 1) {
    ok(admin->delete_topic(topic, kTimeoutMs));
    create_again(topic, partitions);
  }
  /// The broker takes its time to forget the old one: until then it refuses the name, and takes
  /// records into the log that it is about to drop.
  void create_again(const std::string& topic, int partitions) {
    REQUIRE(eventually(
        [&] { return admin->create_topic(topic, partitions, {}, kTimeoutMs).has_value(); },
        kPatience));
    std::vector<kafka::TopicPartition> where;
    for (std::int32_t partition = 0; partition < partitions; ++partition) {
      where.push_back({topic, partition});
    }
    const auto client = host();
    const auto is_new = [&] {
      const auto ends = client->offsets(where, kafka::LogPoint::latest(), kTimeoutMs);
      return std::all_of(ends.begin(), ends.end(),
                         [](const auto& end) { return !end.error && end.offset == 0; });
    };
    REQUIRE(eventually(is_new, kPatience));
  }
  /// `count` records "WHAT-N" into a partition, record N always with the same timestamp.
  void fill(const std::string& topic, const std::string& what, std::int64_t count,
            std::int32_t partition = 0) {
    const auto out = producer();
    for (std::int64_t n = 0; n < count; ++n) {
      const std::string value = what + "-" + std::to_string(n);
      kafka::OutRecord record;
      record.value = bytes_of(value);
      record.partition = partition;
      record.timestamp_ms = kFirstTimestampMs + n;
      ok(out->produce(topic, record));
    }
    ok(out->flush(kTimeoutMs));
  }
  std::filesystem::path job_for(const std::string& topic, const std::string& more = {}) {
    return ledger_job(topic, "slice.max.records = 10\n" + more);
  }
  /// A persistent job reads what is there, and is stopped.
  void read_all(const std::filesystem::path& job, std::size_t records) {
    const auto first = run(job);
    await(*first, [&] { return ledger().size() == records; });
    stop(*first);
  }
  void stop(test::Program& program) {
    INFO(program.err());
    REQUIRE(program.stop() == 0);
  }
  /// What the host said is part of the failure.
  static void await(const test::Program& run, const std::function<bool()>& holds) {
    const bool held = eventually(holds, kPatience);
    INFO(run.err());
    REQUIRE(held);
  }
  std::int64_t frontier(const std::string& topic, std::int32_t partition = 0) const {
    return test::stored_frontiers(state_dir(), topic)[partition];
  }
  void check_audit(const std::string& topic) {
    const auto audit = sluice_job({"audit", topic});
    INFO(audit.out << audit.err);
    CHECK(audit.exit == 0);
  }
  /// Partition 0: [0, twice) came twice, [twice, end) once.
  bool delivered(std::int64_t twice, std::int64_t end) const {
    std::map<std::int64_t, int> expected;
    for (std::int64_t offset = 0; offset < end; ++offset) {
      expected[offset] = offset < twice ? 2 : 1;
    }
    return times() == expected;
  }
};

}  // namespace

TEST_CASE("recreated while the host was stopped, with more records than before (F5)", "[broker]") {
  Recreated kafka;
  const auto [topic, job] = kafka.read_and_recreated("again-more", {"old", 40}, {"new", 90});
  const auto run = kafka.run(job);
  kafka.await(*run, [&] { return kafka.delivered(40, 90); });
  kafka.await(*run, [&] { return kafka.frontier(topic) == 90; });
  kafka.check_audit(topic);
  kafka.await(*run, [&] { return kafka.committed(topic).offset == 90; });
  kafka.stop(*run);
  CHECK(says(*run, "-0 begins anew at 0 (the position was 40)"));
  const auto gaps = test::stored_gaps(kafka.state_dir(), topic);
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].cause == state::Cause::Recreated);
}

TEST_CASE("recreated while the host was stopped, with fewer records than before (F5)", "[broker]") {
  Recreated kafka;
  const auto [topic, job] = kafka.read_and_recreated("again-fewer", {"old", 40}, {"new", 25});
  const auto run = kafka.run(job);
  kafka.await(*run, [&] { return kafka.delivered(25, 40); });
  kafka.await(*run, [&] { return kafka.frontier(topic) == 25; });
  kafka.check_audit(topic);
  kafka.stop(*run);
  CHECK(says(*run, "begins anew at 0"));
  kafka.goes_on_from({topic, job}, 25);
}

TEST_CASE("recreated with the same records: a start goes on where it was (F5)", "[broker]") {
  Recreated kafka;
  const auto [topic, job] = kafka.read_and_recreated("again-same", {"same", 40}, {"same", 55});
  const auto run = kafka.run(job);
  kafka.await(*run, [&] { return kafka.frontier(topic) == 55; });
  kafka.stop(*run);
  CHECK(kafka.delivered(0, 55));
  CHECK_FALSE(says(*run, "begins anew"));
}

TEST_CASE("deleted and recreated while a persistent job runs: waits, then picks it up (F5)",
          "[broker]") {
  Recreated kafka;
  const auto topic = kafka.topic("gone");
  const auto other = kafka.topic("stays");
  kafka.fill(topic, "old", 40);
  const auto job = kafka.job(topic, "connector.class = \"ledger\"\ntopics = [\"" + topic +
                                        "\", \"" + other + "\"]\nslice.max.records = 10\n");
  const auto run = kafka.run(job);
  kafka.await(*run, [&] { return kafka.ledger().size() == 40; });
  ok(kafka.admin->delete_topic(topic, kTimeoutMs));
  const auto shown = [&] { return kafka.sluice_job({"show", topic}).out; };
  kafka.await(*run, [&] { return shown().find("does not exist") != std::string::npos; });
  // The other topic goes on.
  kafka.fill(other, "x", 5);
  kafka.await(*run, [&] { return kafka.ledger().size() == 45; });
  kafka.create_again(topic, 1);
  kafka.fill(topic, "new", 60);
  kafka.await(*run, [&] { return kafka.ledger().size() == 105; });
  kafka.check_audit(topic);
  // And it is followed.
  kafka.fill(topic, "more", 3);
  kafka.await(*run, [&] { return kafka.ledger().size() == 108; });
  kafka.stop(*run);
  CHECK(says(*run, "topic " + topic + ": the topic does not exist"));
  CHECK(says(*run, "begins anew at 0"));
  CHECK_FALSE(says(*run, "FAILED"));
}

TEST_CASE("fewer partitions after recreation: recreated, whatever the records say (F5)",
          "[broker]") {
  Recreated kafka;
  const auto topic = kafka.topic("again-narrow", 3);
  for (const std::int32_t partition : {0, 1, 2}) kafka.fill(topic, "same", 20, partition);
  const auto job = kafka.job_for(topic);
  kafka.read_all(job, 60);
  kafka.recreate(topic, 2);
  for (const std::int32_t partition : {0, 1}) kafka.fill(topic, "same", 30, partition);
  const auto run = kafka.run(job);
  kafka.await(*run, [&] { return kafka.ledger().size() == 120; });
  kafka.await(*run, [&] { return kafka.frontier(topic, 1) == 30; });
  kafka.check_audit(topic);
  kafka.stop(*run);
  CHECK(says(*run, "it has 2 partitions, 3 were known"));
  for (const auto& [where, times] : kafka.deliveries()) {
    CHECK(times == (where.first < 2 && where.second < 20 ? 2 : 1));
  }
  kafka.goes_on_from({topic, job}, 30);
}

TEST_CASE("deleted records stay expired, and are no recreation (F5, B01)", "[broker]") {
  Recreated kafka;
  const auto topic = kafka.topic("trimmed");
  kafka.fill(topic, "old", 40);
  const auto job = kafka.job_for(topic);
  kafka.read_all(job, 40);
  kafka.fill(topic, "more", 30);
  ok(kafka.admin->delete_records(topic, 0, 50, kTimeoutMs));
  const auto run = kafka.run(job);
  kafka.await(*run, [&] { return kafka.frontier(topic) == 70; });
  kafka.check_audit(topic);
  kafka.stop(*run);
  CHECK(kafka.ledger().size() == 60);
  const auto gaps = test::stored_gaps(kafka.state_dir(), topic);
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].cause == state::Cause::Expired);
  CHECK(gaps[0].records_max == 10);
  CHECK_FALSE(says(*run, "begins anew"));
  CHECK(says(*run, "cannot be excluded"));
}

}  // namespace sluice::tests
