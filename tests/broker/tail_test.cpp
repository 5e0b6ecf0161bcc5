// The gate on what waits at a partition's tail (facts 0, finding 3). One Fetch is in flight per
// broker, and it waits for whatever is at its tail: with the library's default a newly opened
// partition gets its first record after 391 ms instead of 4.5. And a record that arrives at the
// tail must not wait for a timer: through worker and slice it is as soon there as in a bare
// consumer.
#include <librdkafka/rdkafka.h>

#include "broker/null_worker.hpp"

namespace sluice::tests {

namespace {

using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr int kRounds = 21;
constexpr int kFetchWaitMs = 10;
/// Seen on a busy machine: 0.5 to 5, and 21 beside a broker that has just served a hundred topics:
/// it answers alone in 0.45 ms, and the Fetch in flight waits its 10. With the library's long poll
/// in the worker 280 and 700.
constexpr double kRatioMax = 50;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double since_ms(SteadyClock::time_point began) {
  return Milliseconds{SteadyClock::now() - began}.count();
}

/// Nothing of ours: the library, one partition at a time, never with a Fetch in flight that another
/// one left behind.
class PlainConsumer {
 public:
  PlainConsumer(const RealKafka& kafka, const std::string& topic) : topic_{topic} {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    const kafka::Properties more{{"group.id", "plain"},
                                 {"fetch.wait.max.ms", std::to_string(kFetchWaitMs)}};
    for (const auto& [name, value] : kafka.properties(more)) {
      REQUIRE(rd_kafka_conf_set(conf, name.c_str(), value.c_str(), nullptr, 0) ==
              RD_KAFKA_CONF_OK);
    }
    consumer_ = rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
    REQUIRE(consumer_ != nullptr);
    rd_kafka_poll_set_consumer(consumer_);
  }
  ~PlainConsumer() { rd_kafka_destroy(consumer_); }
  PlainConsumer(const PlainConsumer&) = delete;
  PlainConsumer& operator=(const PlainConsumer&) = delete;

  void assign(std::int32_t partition, std::int64_t offset) {
    auto* list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic_.c_str(), partition)->offset = offset;
    rd_kafka_assign(consumer_, list);
    rd_kafka_topic_partition_list_destroy(list);
  }
  /// Nothing says when a Fetch has ended, but after its longest wait it has.
  void unassign() {
    rd_kafka_assign(consumer_, nullptr);
    REQUIRE(rd_kafka_consumer_poll(consumer_, 2 * kFetchWaitMs) == nullptr);
  }
  void take_one() {
    const auto give_up = SteadyClock::now() + kGiveUp;
    for (;;) {
      REQUIRE(SteadyClock::now() < give_up);
      rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer_, 100);
      const bool is_record = message != nullptr && message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
      if (message != nullptr) rd_kafka_message_destroy(message);
      if (is_record) return;
    }
  }

 private:
  std::string topic_;
  rd_kafka_t* consumer_ = nullptr;
};

/// The record at `offset`: seen by the worker, given to it as a slice, done.
void pass(rig::RunningWorker& worker, std::int64_t offset) {
  const auto is_seen = [&] {
    const auto& all = worker.reports;
    return std::any_of(all.begin(), all.end(), [&](const auto& received) {
      return received.report.kind == static_cast<std::uint16_t>(ipc::ReportKind::Seen) &&
             received.report.next_offset > offset;
    });
  };
  REQUIRE(worker.wait_until(is_seen));
  const auto done = worker.count(ipc::ReportKind::Done) + 1;
  worker.order({.id = done, .start = offset, .end = offset + 1});
  await(worker, ipc::ReportKind::Done, done);
}

void produce_now(kafka::Producer& producer, const std::string& topic) {
  send(producer, topic, "k", "v");
  ok(producer.flush(kTimeoutMs));
}

}  // namespace

TEST_CASE("a partition opened beside one at its tail gives its first record as soon as alone",
          "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("opened", kRounds + 1);
  fill_evenly(kafka, topic, kRounds + 1, kRounds + 1);
  PlainConsumer plain{kafka, topic};
  plain.assign(0, 0);
  plain.take_one();  // it is connected
  rig::RunningWorker worker{null_worker(kafka, topic)};
  await(worker, ipc::ReportKind::Ready);
  worker.order({.id = 1, .partition = 0, .start = 0, .end = 1});
  await(worker, ipc::ReportKind::Done);
  std::vector<double> alone_ms;
  std::vector<double> beside_ms;
  for (int round = 1; round <= kRounds; ++round) {
    plain.unassign();
    auto began = SteadyClock::now();
    plain.assign(round, 0);
    plain.take_one();
    alone_ms.push_back(since_ms(began));
    began = SteadyClock::now();
    worker.order({.id = static_cast<std::uint64_t>(round) + 1,
                  .partition = round,
                  .start = 0,
                  .end = 1});
    await(worker, ipc::ReportKind::Done, static_cast<std::size_t>(round) + 1);
    beside_ms.push_back(since_ms(began));
  }
  INFO(median(beside_ms) << " ms in the worker, " << median(alone_ms) << " ms alone");
  CHECK(median(beside_ms) <= kRatioMax * median(alone_ms));
}

TEST_CASE("a record at the tail passes the worker as soon as it reaches a plain consumer",
          "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("tail");
  const auto producer = kafka.producer({{"linger.ms", "0"}});
  produce_now(*producer, topic);
  PlainConsumer plain{kafka, topic};
  plain.assign(0, 0);
  plain.take_one();
  rig::RunningWorker worker{null_worker(kafka, topic)};
  await(worker, ipc::ReportKind::Ready);
  worker.order({.id = 1, .start = 0, .end = 1});
  await(worker, ipc::ReportKind::Done);
  std::vector<double> plain_ms;
  std::vector<double> worker_ms;
  for (std::int64_t at = 1; plain_ms.size() < kRounds;) {
    auto began = SteadyClock::now();
    produce_now(*producer, topic);
    plain.take_one();
    plain_ms.push_back(since_ms(began));
    pass(worker, at++);
    began = SteadyClock::now();
    produce_now(*producer, topic);
    pass(worker, at++);
    worker_ms.push_back(since_ms(began));
    plain.take_one();
  }
  INFO(median(worker_ms) << " ms through the worker, " << median(plain_ms) << " ms plain");
  CHECK(median(worker_ms) <= kRatioMax * median(plain_ms));
}

}  // namespace sluice::tests
