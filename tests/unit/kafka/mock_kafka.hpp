// A mock cluster, a producer and a reader for one test: create, fill, read, until. Waiting is on
// the reader's eventfd, with a limit that only a broken reader reaches: there is no sleep, and no
// bound on how fast anything must be.
#pragma once

#include <poll.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/kafka/mock_cluster.hpp"
#include "host/kafka/producer.hpp"
#include "host/kafka/reader.hpp"

namespace sluice::kafka {

inline constexpr std::chrono::seconds kGiveUp{30};
inline constexpr int kTimeoutMs = 30'000;
inline constexpr int kLookAgainMs = 20;

inline sluice_bytes bytes_of(std::string_view text) {
  return {text.data(), text.size()};
}

inline std::string_view text_of(sluice_bytes bytes) {
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

/// What was read from one partition, copied out of the blocks.
struct Seen {
  std::vector<std::int64_t> offsets;
  std::vector<std::string> values;
  std::optional<std::int64_t> eof_offset;
  bool expired = false;
  std::vector<Error> errors;
};

class MockKafka {
 public:
  explicit MockKafka(int brokers = 1) : cluster{value_of(MockCluster::create(brokers))} {}

  Properties properties() const { return {{"bootstrap.servers", cluster.bootstrap_servers()}}; }

  std::unique_ptr<Reader> reader(const Properties& overrides = {}, ReaderOptions options = {}) {
    return value_of(Reader::create(with_overrides(properties(), overrides), options));
  }

  void create(const std::string& topic, int partitions = 1) {
    ok(cluster.create_topic(topic, partitions));
  }

  Producer& producer() {
    if (!producer_) producer_ = value_of(Producer::create(properties()));
    return *producer_;
  }

  /// Records "0", "1", ... counted on over all calls, so that value == offset with one partition.
  void fill(const std::string& topic, int records, std::int32_t partition = 0) {
    for (int i = 0; i < records; ++i) {
      const auto value = std::to_string(next_value_++);
      OutRecord record;
      record.value = bytes_of(value);
      record.partition = partition;
      ok(producer().produce(topic, record));
    }
    ok(producer().flush(kTimeoutMs));
  }

  MockCluster cluster;

 private:
  std::unique_ptr<Producer> producer_;
  int next_value_ = 0;
};

inline void wait_for(Reader& reader) {
  pollfd wake{reader.wake_fd(), POLLIN, 0};
  ::poll(&wake, 1, kLookAgainMs);
  reader.woken();
  reader.poll();
}

inline void take(PartitionReader& partition, Seen& seen, std::size_t records_max = 1000) {
  auto result = partition.fetch(records_max);
  for (const auto& record : result.block.records()) {
    seen.offsets.push_back(record.offset);
    seen.values.emplace_back(text_of(record.value));
  }
  if (result.eof_offset) seen.eof_offset = result.eof_offset;
  if (result.expired) seen.expired = true;
  if (result.error) seen.errors.push_back(*result.error);
}

/// Reads `partition` until `done` says so.
inline Seen read_until(Reader& reader, PartitionReader& partition,
                       const std::function<bool(const Seen&)>& done,
                       std::size_t records_max = 1000) {
  Seen seen;
  const auto give_up = std::chrono::steady_clock::now() + kGiveUp;
  while (!done(seen)) {
    if (std::chrono::steady_clock::now() > give_up) {
      FAIL("gave up after " << seen.offsets.size() << " records, position "
                            << partition.position());
    }
    const auto before = seen.offsets.size();
    take(partition, seen, records_max);
    if (seen.offsets.size() == before && !done(seen)) wait_for(reader);
  }
  return seen;
}

inline std::function<bool(const Seen&)> records(std::size_t count) {
  return [count](const Seen& seen) { return seen.offsets.size() >= count; };
}

inline bool at_eof(const Seen& seen) {
  return seen.eof_offset.has_value();
}

inline std::vector<std::int64_t> offsets_between(std::int64_t start, std::int64_t end) {
  std::vector<std::int64_t> offsets;
  for (auto offset = start; offset < end; ++offset) offsets.push_back(offset);
  return offsets;
}

/// Polls the client until it has said something of `kind`.
inline bool says(Reader& reader, PartitionReader& partition, ClientEventKind kind) {
  Seen seen;
  const auto give_up = std::chrono::steady_clock::now() + kGiveUp;
  while (std::chrono::steady_clock::now() < give_up) {
    take(partition, seen);
    wait_for(reader);
    for (const auto& event : reader.take_client_events()) {
      if (event.kind == kind) return true;
    }
  }
  return false;
}

}  // namespace sluice::kafka
