// Topic administration for tests, benchmarks and dead letter topics; real brokers only
// (librdkafka's mock cluster does not know these requests, and hangs the client). Every call blocks
// up to its timeout. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "host/base/error.hpp"
#include "host/kafka/handles.hpp"
#include "host/kafka/properties.hpp"

namespace sluice::kafka {

/// As a replication factor: the broker's own default.
inline constexpr int kBrokersDefault = -1;

class TopicAdmin {
 public:
  static Result<std::unique_ptr<TopicAdmin>> create(const Properties& properties);

  /// `configs` are the topic's own (cleanup.policy, retention.ms, ...). Waits until a leader is
  /// known for every partition. Error AlreadyExists when it is there.
  Result<> create_topic(const std::string& topic, int partitions, const Properties& configs,
                        int timeout_ms, int replication = kBrokersDefault);
  /// Grows the topic to `total` partitions.
  Result<> create_partitions(const std::string& topic, int total, int timeout_ms);
  /// The low watermark becomes `before`.
  Result<> delete_records(const std::string& topic, std::int32_t partition, std::int64_t before,
                          int timeout_ms);
  Result<> delete_topic(const std::string& topic, int timeout_ms);

 private:
  TopicAdmin() = default;
  Result<> wait_for_leaders(const std::string& topic, int partitions, int timeout_ms);

  Handle<rd_kafka_t> client_;
};

}  // namespace sluice::kafka
