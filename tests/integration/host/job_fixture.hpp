// The verbs of the tests that run `sluice` as a user does, against an embedded Kafka: topic,
// produce, job, run, delivered. Everything lives in one temporary folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/kafka/mock_cluster.hpp"
#include "host/kafka/producer.hpp"
#include "integration/host/program.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::test {

/// One line of the ledger sink.
struct LedgerLine {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::int64_t pid = 0;
};

/// How often each (partition, offset) was delivered.
using Deliveries = std::map<std::pair<std::int32_t, std::int64_t>, int>;

class JobFixture {
 public:
  explicit JobFixture(int brokers = 1);

  kafka::MockCluster& cluster() { return cluster_; }
  const TemporaryFolder& folder() const { return folder_; }

  void topic(const std::string& name, int partitions);
  /// `count` records with values "PREFIX-N" into one partition.
  void produce(const std::string& topic, std::int32_t partition, std::int64_t count,
               const std::string& prefix = "value");
  void produce_value(const std::string& topic, std::int32_t partition, const std::string& value);

  /// Writes NAME.toml: `lines` after name, topics and a sink that writes the ledger.
  std::filesystem::path job(const std::string& name, const std::string& lines);
  /// `sluice run JOB` with the options every test needs, and `more`.
  std::vector<std::string> run_command(const std::filesystem::path& job,
                                       std::vector<std::string> more = {}) const;
  std::unique_ptr<Program> run(const std::filesystem::path& job,
                               std::vector<std::string> more = {});

  std::filesystem::path ledger_file() const { return folder_.path() / "ledger.jsonl"; }
  std::vector<LedgerLine> ledger() const;
  Deliveries deliveries() const;

 private:
  TemporaryFolder folder_;
  kafka::MockCluster cluster_;
  std::unique_ptr<kafka::Producer> producer_;
  int runs_ = 0;
};

}  // namespace sluice::test
