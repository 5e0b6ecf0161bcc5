// A JobFolder with an embedded Kafka (librdkafka's mock cluster, in the test's own process), and
// the verbs to fill it: topic, produce.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "host/kafka/mock_cluster.hpp"
#include "host/kafka/producer.hpp"
#include "integration/host/job_folder.hpp"

namespace sluice::test {

class JobFixture : public JobFolder {
 public:
  explicit JobFixture(int brokers = 1);

  kafka::MockCluster& cluster() { return cluster_; }

  void topic(const std::string& name, int partitions);
  /// `count` records with values "PREFIX-N" into one partition.
  void produce(const std::string& topic, std::int32_t partition, std::int64_t count,
               const std::string& prefix = "value");
  /// `count` records that all have this value, such as a word that the fault sink acts on.
  void produce_same(const std::string& topic, std::int32_t partition, std::int64_t count,
                    const std::string& value);
  void produce_record(const std::string& topic, const kafka::OutRecord& record);
  void produce_value(const std::string& topic, std::int32_t partition, const std::string& value);

 private:
  explicit JobFixture(kafka::MockCluster cluster);
  void send(const std::string& topic, std::int32_t partition, const std::string& value);

  kafka::MockCluster cluster_;
  std::unique_ptr<kafka::Producer> producer_;
};

}  // namespace sluice::test
