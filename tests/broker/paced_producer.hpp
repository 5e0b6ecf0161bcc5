// A producer that keeps a pace: what is due by the clock, spread over the partitions; as late as
// its caller, never early. So records keep coming while a test kills and waits. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/real_kafka.hpp"
#include "host/kafka/producer.hpp"

namespace sluice::tests {

struct Pace {
  std::int64_t records = 0;
  std::int64_t per_second = 0;
  std::int32_t partitions = 1;
};

class PacedProducer {
 public:
  /// The clock starts now.
  PacedProducer(std::unique_ptr<kafka::Producer> producer, std::string topic, Pace pace)
      : producer_{std::move(producer)}, topic_{std::move(topic)}, pace_{pace} {}

  void send_due() {
    using Ms = std::chrono::milliseconds;
    const auto passed = std::chrono::duration_cast<Ms>(std::chrono::steady_clock::now() - begin_);
    const auto due = std::min(pace_.records, passed.count() * pace_.per_second / 1000);
    std::vector<kafka::OutRecord> batch;
    for (; sent_ < due; ++sent_) {
      auto& record = batch.emplace_back();
      record.value = bytes_of("value");
      record.partition = static_cast<std::int32_t>(sent_ % pace_.partitions);
    }
    if (!batch.empty()) ok(producer_->produce_bulk(topic_, batch));
    producer_->poll();
    if (done()) flush();
  }
  /// One more, beside the pace.
  void send_one(std::int32_t partition, std::string_view value) {
    kafka::OutRecord record;
    record.value = bytes_of(value);
    record.partition = partition;
    ok(producer_->produce(topic_, record));
  }
  /// All that was sent is in its log.
  void flush() { ok(producer_->flush(kTimeoutMs)); }
  bool done() const { return sent_ == pace_.records; }

 private:
  std::unique_ptr<kafka::Producer> producer_;
  std::string topic_;
  Pace pace_;
  std::int64_t sent_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace sluice::tests
