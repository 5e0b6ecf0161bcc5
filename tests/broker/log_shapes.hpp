// Logs that only a real broker has, made for one test: transactions (markers, aborted records, open
// ones) and a compacted log, most of whose offsets are gone. For the reader's tests and for those
// of the whole product alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "broker/real_kafka.hpp"

namespace sluice::tests {

inline void transaction(kafka::Producer& producer, const std::string& topic, int records,
                        bool commit) {
  ok(producer.begin(kTimeoutMs));
  for (int i = 0; i < records; ++i) send(producer, topic, "k", commit ? "kept" : "dropped");
  ok(producer.flush(kTimeoutMs));
  ok(commit ? producer.commit(kTimeoutMs) : producer.abort(kTimeoutMs));
}

/// The broker writes a transaction's marker after it has answered the commit.
inline void await_end(RealKafka& kafka, const std::string& topic, std::int64_t log_end) {
  const auto give_up = std::chrono::steady_clock::now() + kGiveUp;
  while (kafka.offset(topic, kafka::LogPoint::latest()) != log_end) {
    REQUIRE(std::chrono::steady_clock::now() < give_up);
  }
}

/// 20 keys written again and again into very small segments, until the broker's cleaner has taken
/// the oldest records; nothing is written after the constructor.
class CompactedLog {
 public:
  static constexpr int kKeys = 20;

  CompactedLog(RealKafka& kafka, const std::string& name, int rounds)
      : topic{kafka.topic(name, 1,
                          {{"cleanup.policy", "compact"},
                           {"segment.ms", "50"},
                           {"min.cleanable.dirty.ratio", "0.001"},
                           {"min.compaction.lag.ms", "0"},
                           {"max.compaction.lag.ms", "100"}})},
        kafka_{kafka},
        producer_{kafka.producer({{"linger.ms", "0"}})} {
    while (rounds_ < rounds) write_round();
    // The cleaner leaves the newest segment alone: go on until the oldest records are gone.
    const auto give_up = std::chrono::steady_clock::now() + kGiveUp;
    while (first_offset() == 0) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      write_round();
    }
    end = kafka.offset(topic, kafka::LogPoint::latest());
    REQUIRE(end == std::int64_t{rounds_} * kKeys);
  }

  std::string topic;
  std::int64_t end = 0;                       ///< of the log
  std::map<std::string, std::string> latest;  ///< the newest value of each key

  /// What a bare reader of the library finds: the cleaner may go on, so ask before and after.
  std::set<std::int64_t> survivors() const {
    std::set<std::int64_t> offsets;
    const auto reader = kafka_.reader();
    auto& partition = *value_of(reader->open(topic, 0, 0, 0));
    for (;;) {
      const auto fetched = partition.fetch(1000);
      for (const auto& record : fetched.block.records()) offsets.insert(record.offset);
      if (partition.eof_offset().value_or(-1) >= end) return offsets;
      if (fetched.drained) wait_for(*reader);
    }
  }

 private:
  void write_round() {
    for (int key = 0; key < kKeys; ++key) {
      const auto name = "key" + std::to_string(key);
      latest[name] = std::to_string(rounds_);
      send(*producer_, topic, name, latest[name]);
    }
    ok(producer_->flush(kTimeoutMs));
    ++rounds_;
  }

  std::int64_t first_offset() const {
    const auto reader = kafka_.reader();
    auto& partition = *value_of(reader->open(topic, 0, 0, 0));
    for (;;) {
      const auto fetched = partition.fetch(1);
      if (!fetched.block.empty()) return fetched.block.first_offset();
      wait_for(*reader);
    }
  }

  RealKafka& kafka_;
  std::unique_ptr<kafka::Producer> producer_;
  int rounds_ = 0;
};

}  // namespace sluice::tests
