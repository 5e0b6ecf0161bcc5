#include "host/kafka/mock_cluster.hpp"

#include "host/base/assert.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

namespace {

std::string broker_name(std::int32_t broker) {
  return "broker " + std::to_string(broker);
}

}  // namespace

Result<MockCluster> MockCluster::create(int brokers) {
  SLUICE_ASSERT(brokers > 0, brokers);
  MockCluster cluster;
  // The client only lends its threads to the cluster; it is connected to nothing.
  auto conf = make_conf({});
  if (!conf) return conf.error();
  rd_kafka_conf_set_log_cb(conf->get(), nullptr);
  auto client = make_client(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!client) return client.error();
  cluster.client_ = std::move(*client);
  cluster.cluster_.reset(rd_kafka_mock_cluster_new(cluster.client_.get(), brokers));
  if (!cluster.cluster_) {
    return Error{ErrorCode::Io, "mock cluster: not made: no listening sockets on 127.0.0.1"};
  }
  cluster.brokers_ = brokers;
  return cluster;
}

std::string MockCluster::bootstrap_servers() const {
  return rd_kafka_mock_cluster_bootstraps(cluster_.get());
}

Result<> MockCluster::create_topic(const std::string& topic, int partitions) {
  return result_of("create topic", topic,
                   rd_kafka_mock_topic_create(cluster_.get(), topic.c_str(), partitions, brokers_));
}

Result<> MockCluster::set_leader(const std::string& topic, std::int32_t partition,
                                 std::int32_t broker) {
  return result_of(
      "set leader", partition_name(topic, partition),
      rd_kafka_mock_partition_set_leader(cluster_.get(), topic.c_str(), partition, broker));
}

Result<> MockCluster::set_coordinator(const std::string& group, std::int32_t broker) {
  return result_of("set coordinator", group,
                   rd_kafka_mock_coordinator_set(cluster_.get(), "group", group.c_str(), broker));
}

Result<> MockCluster::set_down(std::int32_t broker) {
  return result_of("set down", broker_name(broker),
                   rd_kafka_mock_broker_set_down(cluster_.get(), broker));
}

Result<> MockCluster::set_up(std::int32_t broker) {
  return result_of("set up", broker_name(broker),
                   rd_kafka_mock_broker_set_up(cluster_.get(), broker));
}

Result<> MockCluster::set_round_trip(std::int32_t broker, int milliseconds) {
  return result_of("set round trip", broker_name(broker),
                   rd_kafka_mock_broker_set_rtt(cluster_.get(), broker, milliseconds));
}

void MockCluster::push_request_errors(std::int16_t api_key, int error_code, std::size_t count) {
  const std::vector<rd_kafka_resp_err_t> errors(count,
                                                static_cast<rd_kafka_resp_err_t>(error_code));
  rd_kafka_mock_push_request_errors_array(cluster_.get(), api_key, count, errors.data());
}

void MockCluster::clear_request_errors(std::int16_t api_key) {
  rd_kafka_mock_clear_request_errors(cluster_.get(), api_key);
}

Result<> MockCluster::push_broker_errors(std::int32_t broker, std::int16_t api_key, int error_code,
                                         std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    SLUICE_TRY(result_of("push errors", broker_name(broker),
                         rd_kafka_mock_broker_push_request_error_rtts(cluster_.get(), broker,
                                                                      api_key, 1, error_code, 0)));
  }
  return {};
}

void MockCluster::set_topic_error(const std::string& topic, int error_code) {
  rd_kafka_mock_topic_set_error(cluster_.get(), topic.c_str(),
                                static_cast<rd_kafka_resp_err_t>(error_code));
}

}  // namespace sluice::kafka
