// A topic of a mock cluster inside the test process, and a worker's start parameters for it.
// Records are given by value text or whole; a sink of the test's choice writes into a folder of its
// own.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/kafka/mock_cluster.hpp"
#include "host/kafka/producer.hpp"
#include "host/worker/start_parameters.hpp"
#include "rig/running_worker.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::integration {

class MockTopic {
 public:
  explicit MockTopic(int partitions, int brokers = 1);

  kafka::MockCluster& cluster() { return cluster_; }
  void produce(std::int32_t partition, const std::vector<std::string>& values);
  void produce(std::int32_t partition, std::size_t count);
  void produce(const kafka::OutRecord& record);
  void flush();

  /// For topic index 0, this one. `type` is fault, ledger or file; its file is file().
  worker::StartParameters parameters(const std::string& type,
                                     std::map<std::string, std::string> config = {}) const;
  std::string file() const { return folder_.path() / "out.jsonl"; }
  const TemporaryFolder& folder() const { return folder_; }
  /// The lines of file(), parsed.
  std::vector<boost::json::value> lines() const;

 private:
  kafka::MockCluster cluster_;
  std::unique_ptr<kafka::Producer> producer_;
  TemporaryFolder folder_;
};

}  // namespace sluice::integration
