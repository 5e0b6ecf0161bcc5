// A real broker that loses the end of its logs (slicer.md F5), as after a power cut without a sync:
// killed, and its files cut off before it starts again. What it writes then has offsets that other
// records had.
#include <fstream>

#include "broker/kafka_broker.hpp"
#include "broker/real_kafka.hpp"
#include "integration/host/delivery_proof.hpp"
#include "integration/host/job_folder.hpp"

namespace sluice::tests {
namespace {

using test::Deliveries;
using test::eventually;

constexpr std::chrono::seconds kPatience{60};

/// The file of a partition that has one segment, without the batches from `end` on. Requires: a
/// batch begins there.
void cut_file(const std::filesystem::path& log, std::int64_t end) {
  std::ifstream in{log, std::ios::binary};
  const auto big_endian = [&](int bytes) {
    std::int64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | in.get();
    return value;
  };
  for (std::int64_t at = 0;;) {
    in.seekg(at);
    const std::int64_t base_offset = big_endian(8);
    const std::int64_t length = big_endian(4);
    REQUIRE(in.good());
    REQUIRE(base_offset <= end);
    if (base_offset == end) {
      in.close();
      std::filesystem::resize_file(log, static_cast<std::uintmax_t>(at));
      return;
    }
    at += 12 + length;
  }
}

/// One job of `sluice run` with a state directory of its own.
struct Job : test::JobFolder {
  Job(const RealKafka& kafka, std::string of_topic)
      : JobFolder{kafka.properties().front().second},
        topic{std::move(of_topic)},
        file{job(topic, "connector.class = \"ledger\"\ntopics = [\"" + topic +
                            "\"]\nslice.max.records = 10\n")} {}

  bool delivered(std::size_t records) const { return ledger().size() == records; }
  bool has_frontier(std::int64_t offset) const {
    return test::stored_frontiers(state_dir(), topic)[0] == offset;
  }
  /// All of the log is delivered, what was read of the lost end, [cut, to), as well, and it is on
  /// record. What was settled since the host's last look is delivered again (F5), also below `cut`.
  void check_lost(const test::Program& run, std::int64_t cut, std::int64_t to,
                  std::int64_t end) const {
    INFO(run.err());
    const auto gaps = test::stored_gaps(state_dir(), topic);
    REQUIRE(gaps.size() == 1);
    CHECK(gaps[0].cause == state::Cause::Truncated);
    CHECK(gaps[0].end == to);
    const std::int64_t from = gaps[0].start;
    CHECK(from <= cut);
    Deliveries expected;
    for (std::int64_t offset = 0; offset < end; ++offset) {
      expected[{0, offset}] = offset >= from && offset < to ? 2 : 1;
    }
    CHECK(deliveries() == expected);
    CHECK(run.err().find("is the same up to " + std::to_string(from) + " only") !=
          std::string::npos);
  }

  std::string topic;
  std::filesystem::path file;
};

/// `count` records, each a batch of its own: the log may be cut off before any of them.
void fill(RealKafka& kafka, const std::string& topic, const std::string& what, int count) {
  const auto out = kafka.producer();
  for (int n = 0; n < count; ++n) {
    send(*out, topic, "k", what + "-" + std::to_string(n));
    ok(out->flush(kTimeoutMs));
  }
}

void stop(test::Program& run) {
  INFO(run.err());
  REQUIRE(run.stop() == 0);
}

}  // namespace

TEST_CASE("a broker that lost the end of its logs: nothing that is there now is lost (F5)",
          "[broker]") {
  KafkaBroker broker = value_of(KafkaBroker::start(SLUICE_KAFKA_LIBS));
  RealKafka kafka{BrokerFile{broker.bootstrap_servers(), broker.folder(), ::getpid()}};
  Job running{kafka, kafka.topic("cut-while-running")};
  Job stopped{kafka, kafka.topic("cut-while-stopped")};
  for (const Job* job : {&running, &stopped}) fill(kafka, job->topic, "old", 50);
  const auto run = running.run(running.file);
  const auto first = stopped.run(stopped.file);
  for (const Job* job : {&running, &stopped}) {
    REQUIRE(eventually([&] { return job->delivered(50); }, kPatience));
  }
  stop(*first);
  REQUIRE(eventually([&] { return running.has_frontier(50); }, kPatience));

  ok(broker.restart(SLUICE_KAFKA_LIBS, [&] {
    for (const Job* job : {&running, &stopped}) {
      cut_file(kafka.log_folder(job->topic, 0) / "00000000000000000000.log", 30);
    }
  }));
  // To the job that was stopped its log looks longer than it was.
  fill(kafka, stopped.topic, "new", 40);
  const auto again = stopped.run(stopped.file);
  REQUIRE(eventually([&] { return stopped.has_frontier(70); }, kPatience));
  // The other one has to wait until the end that is too low is believed.
  REQUIRE(eventually([&] { return !running.has_frontier(50); }, kPatience));
  fill(kafka, running.topic, "new", 40);
  REQUIRE(eventually([&] { return running.has_frontier(70); }, kPatience));
  for (const Job* job : {&running, &stopped}) {
    const auto audit = job->sluice_job({"audit", job->topic});
    INFO(audit.out << audit.err);
    CHECK(audit.exit == 0);
    const std::vector<kafka::TopicPartition> where{{job->topic, 0}};
    const auto host = kafka.host();
    CHECK(eventually(
        [&] {
          const auto group = host->committed("connect-" + job->topic, where, kTimeoutMs);
          return group.has_value() && group->front().offset == 70;
        },
        kPatience));
  }
  stop(*run);
  stop(*again);
  running.check_lost(*run, 30, 50, 70);
  stopped.check_lost(*again, 30, 50, 70);
}

}  // namespace sluice::tests
