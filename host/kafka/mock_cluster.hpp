// Brokers inside this process: librdkafka's mock cluster, for tests, `sluice demo` and the mock
// broker. It keeps the newest 5 MiB or 100,000 records of a partition (older offsets become out of
// range) and has no transactions markers, no compaction and no topic administration over the wire
// (facts 4.7): those need the real broker. Faults are set by calls from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/base/error.hpp"
#include "host/kafka/handles.hpp"

namespace sluice::kafka {

class MockCluster {
 public:
  /// Brokers are numbered from 1. Requires: brokers > 0.
  static Result<MockCluster> create(int brokers);
  MockCluster(MockCluster&&) noexcept = default;

  /// host:port,... for bootstrap.servers.
  std::string bootstrap_servers() const;
  int brokers() const { return brokers_; }

  Result<> create_topic(const std::string& topic, int partitions);
  Result<> set_leader(const std::string& topic, std::int32_t partition, std::int32_t broker);
  /// The broker that keeps `group`'s offsets.
  Result<> set_coordinator(const std::string& group, std::int32_t broker);
  Result<> set_down(std::int32_t broker);
  Result<> set_up(std::int32_t broker);
  /// Round trip time of every answer of `broker`.
  Result<> set_round_trip(std::int32_t broker, int milliseconds);
  /// The next `count` requests of this Kafka API key are answered with `error_code`.
  void push_request_errors(std::int16_t api_key, int error_code, std::size_t count);
  /// Those that have not been used yet.
  void clear_request_errors(std::int16_t api_key);
  /// The same for requests that reach `broker`.
  Result<> push_broker_errors(std::int32_t broker, std::int16_t api_key, int error_code,
                              std::size_t count);
  /// Metadata and fetches of `topic` answer `error_code` until it is 0 again.
  void set_topic_error(const std::string& topic, int error_code);

 private:
  MockCluster() = default;

  // The cluster lives on a client's thread: destroyed before it.
  Handle<rd_kafka_t> client_;
  Handle<rd_kafka_mock_cluster_t> cluster_;
  int brokers_ = 0;
};

}  // namespace sluice::kafka
