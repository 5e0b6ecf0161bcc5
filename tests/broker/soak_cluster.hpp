// The two Kafkas of the soak. A real broker of its own loses its process (the one of the fixture
// belongs to all tests): connections break, and every partition comes back with a new leader epoch;
// its records can be deleted. On two brokers of librdkafka's mock cluster a partition's leader
// really becomes another broker, which one real broker cannot show.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/kafka_broker.hpp"
#include "broker/real_kafka.hpp"
#include "host/base/random.hpp"
#include "host/kafka/mock_cluster.hpp"

namespace sluice::tests {

class SoakCluster {
 public:
  virtual ~SoakCluster() = default;
  virtual std::string bootstrap_servers() const = 0;
  virtual void create_topic(const std::string& topic, int partitions) = 0;
  /// Leaders of `topic` go away, or elsewhere. May take seconds.
  virtual void disturb_leaders(const std::string& topic, int partitions, Random& random) = 0;
  /// Whether delete_before works here.
  virtual bool can_delete() const = 0;
  virtual void delete_before(const std::string& topic, std::int32_t partition,
                             std::int64_t before) = 0;

  kafka::Properties properties() const { return {{"bootstrap.servers", bootstrap_servers()}}; }
  /// Where the log of each partition ends now.
  std::vector<std::int64_t> ends(const std::string& topic, int partitions) const {
    std::vector<kafka::TopicPartition> where;
    for (int partition = 0; partition < partitions; ++partition) {
      where.push_back({topic, partition});
    }
    const auto client =
        value_of(kafka::HostClient::create(properties(), kafka::IsolationLevel::ReadCommitted));
    std::vector<std::int64_t> ends;
    for (const auto& resolved : client->offsets(where, kafka::LogPoint::latest(), kTimeoutMs)) {
      if (resolved.error) FAIL(resolved.error->message());
      ends.push_back(resolved.offset.value_or(-1));
    }
    return ends;
  }
};

class RestartedBroker final : public SoakCluster {
 public:
  std::string bootstrap_servers() const override { return broker_.bootstrap_servers(); }
  void create_topic(const std::string& topic, int partitions) override {
    ok(kafka_.admin->create_topic(topic, partitions, {}, kTimeoutMs));
  }
  void disturb_leaders(const std::string&, int, Random&) override {
    ok(broker_.restart(SLUICE_KAFKA_LIBS));
  }
  bool can_delete() const override { return true; }
  void delete_before(const std::string& topic, std::int32_t partition,
                     std::int64_t before) override {
    ok(kafka_.admin->delete_records(topic, partition, before, kTimeoutMs));
  }

 private:
  KafkaBroker broker_ = value_of(KafkaBroker::start(SLUICE_KAFKA_LIBS));
  RealKafka kafka_{BrokerFile{broker_.bootstrap_servers(), broker_.folder(), ::getpid()}};
};

class MovingLeaders final : public SoakCluster {
 public:
  std::string bootstrap_servers() const override { return cluster_.bootstrap_servers(); }
  void create_topic(const std::string& topic, int partitions) override {
    ok(cluster_.create_topic(topic, partitions));
  }
  void disturb_leaders(const std::string& topic, int partitions, Random& random) override {
    for (int partition = 0; partition < partitions; ++partition) {
      ok(cluster_.set_leader(topic, partition, 1 + static_cast<std::int32_t>(random.below(2))));
    }
  }
  bool can_delete() const override { return false; }
  void delete_before(const std::string&, std::int32_t, std::int64_t) override {
    FAIL("the mock cluster deletes no records");
  }

 private:
  kafka::MockCluster cluster_ = value_of(kafka::MockCluster::create(2));
};

}  // namespace sluice::tests
