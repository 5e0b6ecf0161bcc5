// The broker of the ctest fixture, for one test: a topic of its own, a reader, and a read by slices
// that ends each one by the rules of slicer.md C4 and by nothing else. Names are unique per run, so
// a broker that was started by hand can be used again and again.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/broker_file.hpp"
#include "host/kafka/admin.hpp"
#include "host/kafka/producer.hpp"
#include "host/kafka/reader.hpp"
#include "host/kafka/topic_admin.hpp"

namespace sluice::tests {

inline constexpr int kTimeoutMs = 30'000;
inline constexpr std::chrono::seconds kGiveUp{60};
inline constexpr int kLookAgainMs = 20;

inline sluice_bytes bytes_of(std::string_view text) {
  return {text.data(), text.size()};
}

inline std::string text_of(sluice_bytes bytes) {
  return {static_cast<const char*>(bytes.data), bytes.size};
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) FAIL(result.error().message());
  return std::move(*result);
}

inline void ok(const Result<>& result) {
  if (!result) FAIL(result.error().message());
}

/// Which of the rules of C4 ended how many slices.
struct Ends {
  int by_record = 0;  ///< a record at end - 1 or beyond
  int by_eof = 0;
  int by_position = 0;
};

struct SliceRead {
  std::vector<std::int64_t> offsets;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  Ends ends;
  int empty_slices = 0;
};

class RealKafka {
 public:
  RealKafka() {
    const auto running = read_broker_file(SLUICE_KAFKA_FILE);
    if (!running) FAIL("no broker: run the tests by ctest, which starts it");
    broker_ = *running;
    admin = value_of(kafka::TopicAdmin::create(properties()));
  }
  /// A broker of the test's own, which may be ended.
  explicit RealKafka(BrokerFile broker) : broker_{std::move(broker)} {
    admin = value_of(kafka::TopicAdmin::create(properties()));
  }

  kafka::Properties properties(const kafka::Properties& more = {}) const {
    return kafka::with_overrides({{"bootstrap.servers", broker_.bootstrap_servers}}, more);
  }
  std::filesystem::path log_folder(const std::string& topic, int partition) const {
    return broker_.folder / "data" / (topic + "-" + std::to_string(partition));
  }

  /// A topic that no other test and no earlier run has.
  std::string topic(const std::string& name, int partitions = 1,
                    const kafka::Properties& configs = {}) {
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    auto unique = name + "-" + std::to_string(::getpid()) + "-" + std::to_string(now);
    ok(admin->create_topic(unique, partitions, configs, kTimeoutMs));
    return unique;
  }

  std::unique_ptr<kafka::Producer> producer(const kafka::Properties& more = {},
                                            kafka::ProducerOptions options = {}) {
    return value_of(kafka::Producer::create(properties(more), options));
  }
  std::unique_ptr<kafka::Reader> reader(const kafka::Properties& more = {}) {
    return value_of(kafka::Reader::create(properties(more), {}));
  }
  std::unique_ptr<kafka::HostClient> host(
      kafka::IsolationLevel level = kafka::IsolationLevel::ReadCommitted) {
    return value_of(kafka::HostClient::create(properties(), level));
  }
  std::int64_t offset(const std::string& topic, kafka::LogPoint point,
                      kafka::IsolationLevel level = kafka::IsolationLevel::ReadCommitted) {
    const std::vector<kafka::TopicPartition> where{{topic, 0}};
    const auto resolved = host(level)->offsets(where, point, kTimeoutMs);
    if (resolved[0].error) FAIL(resolved[0].error->message());
    return resolved[0].offset.value_or(-1);
  }

  std::unique_ptr<kafka::TopicAdmin> admin;

 private:
  BrokerFile broker_;
};

inline void send(kafka::Producer& producer, const std::string& topic, std::string_view key,
                 std::string_view value) {
  kafka::OutRecord record;
  record.key = bytes_of(key);
  record.value = bytes_of(value);
  record.partition = 0;
  ok(producer.produce(topic, record));
}

/// `count` records of 200 bytes, record n into partition n % partitions.
inline void fill_evenly(RealKafka& kafka, const std::string& topic, int partitions,
                        std::size_t count) {
  const std::string value(200, 'x');
  std::vector<kafka::OutRecord> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].value = bytes_of(value);
    records[i].partition = static_cast<std::int32_t>(i % static_cast<std::size_t>(partitions));
  }
  const auto producer = kafka.producer();
  ok(producer->produce_bulk(topic, records));
  ok(producer->flush(kTimeoutMs));
}

inline void wait_for(kafka::Reader& reader) {
  pollfd wake{reader.wake_fd(), POLLIN, 0};
  ::poll(&wake, 1, kLookAgainMs);
  reader.woken();
  reader.poll();
}

/// Reads [start, end) in slices of `slice_size` offsets with one sticky reader.
class SliceReader {
 public:
  SliceReader(kafka::Reader& reader, kafka::PartitionReader& partition)
      : reader_{reader}, partition_{partition} {}

  SliceRead read(std::int64_t start, std::int64_t end, std::int64_t slice_size) {
    SliceRead all;
    for (auto at = start; at < end; at += slice_size) {
      const auto before = all.offsets.size();
      read_slice(std::min(at + slice_size, end), all);
      if (all.offsets.size() == before) ++all.empty_slices;
    }
    return all;
  }

 private:
  void read_slice(std::int64_t end, SliceRead& all) {
    const auto give_up = std::chrono::steady_clock::now() + kGiveUp;
    for (;;) {
      if (stash_.empty()) {
        auto fetched = partition_.fetch(1000);
        REQUIRE_FALSE(fetched.expired);
        if (fetched.error) FAIL(fetched.error->message());
        stash_ = std::move(fetched.block);
      }
      auto rest = stash_.split_at(end);
      take(stash_, all);
      const bool reached = !rest.empty() || (!stash_.empty() && stash_.last_offset() + 1 >= end);
      stash_ = std::move(rest);
      if (reached) return void(++all.ends.by_record);
      if (partition_.eof_offset().value_or(-1) >= end) return void(++all.ends.by_eof);
      if (partition_.position() >= end) return void(++all.ends.by_position);
      if (std::chrono::steady_clock::now() > give_up) FAIL("a slice does not end at " << end);
      wait_for(reader_);
    }
  }

  static void take(const kafka::RecordBlock& block, SliceRead& all) {
    for (const auto& record : block.records()) {
      all.offsets.push_back(record.offset);
      all.keys.push_back(text_of(record.key));
      all.values.push_back(text_of(record.value));
    }
  }

  kafka::Reader& reader_;
  kafka::PartitionReader& partition_;
  kafka::RecordBlock stash_;
};

}  // namespace sluice::tests
