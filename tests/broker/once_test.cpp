// The main job on real Kafka: a once job of the whole product, every offset exactly once.
#include <boost/json.hpp>
#include <fstream>
#include <vector>

#include "broker/real_kafka.hpp"
#include "integration/host/program.hpp"
#include "unit/full_scale.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::tests {
namespace {

constexpr int kPartitions = 8;
constexpr std::int64_t kPerPartition = 62'500;       // 500,000 in all
constexpr std::int64_t kPerPartitionFull = 625'000;  // 5,000,000 in all
constexpr std::chrono::seconds kRunLimit{300};

void fill(RealKafka& kafka, const std::string& topic, std::int64_t per_partition) {
  const auto producer = kafka.producer();
  std::vector<std::string> values(1000);
  std::vector<kafka::OutRecord> records(values.size());
  for (int partition = 0; partition < kPartitions; ++partition) {
    for (std::int64_t sent = 0; sent < per_partition;) {
      std::size_t count = 0;
      for (; count < values.size() && sent < per_partition; ++count, ++sent) {
        values[count] = "value " + std::to_string(partition) + "/" + std::to_string(sent);
        records[count] = {};
        records[count].value = bytes_of(values[count]);
        records[count].partition = partition;
      }
      ok(producer->produce_bulk(topic, std::span{records}.first(count)));
    }
  }
  ok(producer->flush(kTimeoutMs));
}

/// times[partition][offset]: how often it was delivered.
std::vector<std::vector<int>> count_deliveries(const std::filesystem::path& ledger,
                                               std::int64_t per_partition) {
  std::vector<std::vector<int>> times(kPartitions,
                                      std::vector<int>(static_cast<std::size_t>(per_partition)));
  std::ifstream in{ledger};
  for (std::string line; std::getline(in, line);) {
    const auto object = boost::json::parse(line).as_object();
    const auto partition = static_cast<std::size_t>(object.at("partition").as_int64());
    ++times.at(partition).at(static_cast<std::size_t>(object.at("offset").as_int64()));
  }
  return times;
}

}  // namespace

TEST_CASE("every record of 8 partitions reaches the sink exactly once", "[broker]") {
  const auto per_partition = full_scale() ? kPerPartitionFull : kPerPartition;
  RealKafka kafka;
  const auto topic = kafka.topic("once", kPartitions);
  fill(kafka, topic, per_partition);
  const TemporaryFolder folder;
  const auto ledger = folder.path() / "ledger.jsonl";
  const auto job =
      folder.write("once.toml", "name = \"" + topic +
                                    "\"\nmode = \"once\"\ntasks.max = 2\n"
                                    "connector.class = \"ledger\"\ntopics = [\"" +
                                    topic + "\"]\nfile = \"" + ledger.string() + "\"\n");
  test::Program run{{SLUICE_BIN_DIR "/sluice", "run", job.string(), "--bootstrap-servers",
                     kafka.properties().front().second, "--state-dir",
                     (folder.path() / "state").string(), "--json"},
                    folder.path() / "run"};
  const int code = run.wait(kRunLimit);
  INFO(run.err());
  REQUIRE(code == 0);
  const auto times = count_deliveries(ledger, per_partition);
  for (const auto& partition : times) {
    for (const int delivered : partition) REQUIRE(delivered == 1);
  }
  const auto summary = boost::json::parse(run.out()).as_object();
  CHECK(summary.at("state") == "COMPLETED");
  CHECK(summary.at("records_read") == kPartitions * per_partition);
  for (const auto& frontier : summary.at("frontiers").as_array()) {
    CHECK(frontier.at("offset") == per_partition);
  }
  // What every lag tool sees: the group stands where the frontiers are.
  std::vector<kafka::TopicPartition> where;
  for (int partition = 0; partition < kPartitions; ++partition) where.push_back({topic, partition});
  const auto host = kafka.host();
  for (const auto& committed : value_of(host->committed("connect-" + topic, where, kTimeoutMs))) {
    CHECK(committed.offset == per_partition);
  }
}

}  // namespace sluice::tests
