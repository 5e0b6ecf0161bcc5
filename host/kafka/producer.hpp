// Writing records: demo data, tests, benchmarks, dead letters. Idempotent by default, so a retry
// inside the library neither doubles nor re-orders. produce() copies the bytes; a full queue is
// waited for (delivery reports are served meanwhile), so the caller's loop is the back-pressure;
// who may not wait calls try_produce(). What failed is counted and told by flush(), or record by
// record by on_delivery; nothing is dropped in silence. One thread per Producer.
#pragma once

#include <sluice/abi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"
#include "host/kafka/client_event.hpp"
#include "host/kafka/handles.hpp"
#include "host/kafka/properties.hpp"

namespace sluice::kafka {

/// Let the partitioner (murmur2 of the key, as Java's) choose.
inline constexpr std::int32_t kAnyPartition = -1;
/// Let the library stamp the record with the time of the call.
inline constexpr std::int64_t kTimestampNow = 0;

struct OutRecord {
  sluice_bytes key{};  ///< data nullptr is Kafka's null, here and below
  sluice_bytes value{};
  std::int32_t partition = kAnyPartition;
  std::int64_t timestamp_ms = kTimestampNow;
  std::span<const sluice_header> headers{};
  std::uint64_t tag = 0;  ///< the caller's: comes back with the delivery
};

struct DeliveryCounts {
  std::uint64_t sent = 0;       ///< accepted by produce()
  std::uint64_t delivered = 0;  ///< acknowledged by the broker
  std::uint64_t failed = 0;
};

struct ProducerOptions {
  /// Not empty: a transactional producer with this transactional.id.
  std::string transactional_id = {};
  /// What became of each record, by its tag; no failure: acknowledged. Called from poll(), wait(),
  /// flush() and a produce() that waits for room.
  std::function<void(std::uint64_t tag, const Error* failure)> on_delivery = {};
};

class Producer {
 public:
  static Result<std::unique_ptr<Producer>> create(const Properties& overrides,
                                                  ProducerOptions options = {});
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  Result<> produce(const std::string& topic, const OutRecord& record);
  /// The same, but never waits: false when the library's queue has no room now.
  Result<bool> try_produce(const std::string& topic, const OutRecord& record);
  /// The fast path: records without headers and timestamps in one library call.
  Result<> produce_bulk(const std::string& topic, std::span<const OutRecord> records);
  /// Serves delivery reports; never blocks.
  void poll();
  /// The same, but waits at most so long for the first one.
  void wait(int timeout_ms);
  /// Waits until everything sent has its report. An error when the time is up, or when a record has
  /// failed since the last flush (with the first reason).
  Result<> flush(int timeout_ms);
  const DeliveryCounts& counts() const { return counts_; }

  /// Transactions. Requires: created with a transactional id. begin() initialises on first use,
  /// which fences an older producer of the same id.
  Result<> begin(int timeout_ms);
  Result<> commit(int timeout_ms);
  Result<> abort(int timeout_ms);

  ClientEvents take_client_events();

 private:
  Producer() = default;
  static void on_delivery(rd_kafka_t* client, const rd_kafka_message_t* message, void* opaque);
  static void on_error(rd_kafka_t* client, int error, const char* reason, void* opaque);
  static void on_log(const rd_kafka_t* client, int level, const char* facility, const char* text);
  Result<rd_kafka_topic_t*> topic_handle(const std::string& topic);
  Result<> send_bulk(const std::string& topic, rd_kafka_topic_t* handle);

  DeliveryCounts counts_;
  std::function<void(std::uint64_t tag, const Error* failure)> tell_delivery_;
  std::optional<Error> first_failure_;
  ClientEvents events_;
  Handle<rd_kafka_t> client_;
  std::map<std::string, Handle<rd_kafka_topic_t>, std::less<>> topics_;
  std::vector<rd_kafka_message_t> bulk_;
  bool transactions_ready_ = false;
};

}  // namespace sluice::kafka
