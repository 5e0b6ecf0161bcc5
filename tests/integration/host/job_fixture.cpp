#include "integration/host/job_fixture.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fstream>

namespace sluice::test {
namespace {

kafka::MockCluster make_cluster(int brokers) {
  auto cluster = kafka::MockCluster::create(brokers);
  if (!cluster) throw std::runtime_error{cluster.error().message()};
  return *std::move(cluster);
}

void must(const Result<>& result) {
  if (!result) FAIL(result.error().message());
}

}  // namespace

JobFixture::JobFixture(int brokers) : cluster_{make_cluster(brokers)} {
  auto producer = kafka::Producer::create({{"bootstrap.servers", cluster_.bootstrap_servers()}});
  if (!producer) throw std::runtime_error{producer.error().message()};
  producer_ = *std::move(producer);
}

void JobFixture::topic(const std::string& name, int partitions) {
  must(cluster_.create_topic(name, partitions));
}

void JobFixture::produce(const std::string& topic, std::int32_t partition, std::int64_t count,
                         const std::string& prefix) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = prefix + "-" + std::to_string(i);
    kafka::OutRecord record;
    record.value = {value.data(), value.size()};
    record.partition = partition;
    must(producer_->produce(topic, record));
  }
  must(producer_->flush(30'000));
}

void JobFixture::produce_value(const std::string& topic, std::int32_t partition,
                               const std::string& value) {
  kafka::OutRecord record;
  record.value = {value.data(), value.size()};
  record.partition = partition;
  must(producer_->produce(topic, record));
  must(producer_->flush(30'000));
}

std::filesystem::path JobFixture::job(const std::string& name, const std::string& lines) {
  const auto file = folder_.path() / (name + ".toml");
  std::ofstream{file} << "name = \"" << name << "\"\nfile = \"" << ledger_file().string() << "\"\n"
                      << lines;
  return file;
}

std::vector<std::string> JobFixture::run_command(const std::filesystem::path& job,
                                                 std::vector<std::string> more) const {
  std::vector<std::string> command{SLUICE_BIN_DIR "/sluice",
                                   "run",
                                   job.string(),
                                   "--bootstrap-servers",
                                   cluster_.bootstrap_servers(),
                                   "--state-dir",
                                   (folder_.path() / "state").string(),
                                   "--json",
                                   "--verbose"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

std::unique_ptr<Program> JobFixture::run(const std::filesystem::path& job,
                                         std::vector<std::string> more) {
  return std::make_unique<Program>(run_command(job, std::move(more)),
                                   folder_.path() / ("run" + std::to_string(++runs_)));
}

std::vector<LedgerLine> JobFixture::ledger() const {
  std::vector<LedgerLine> lines;
  std::ifstream in{ledger_file()};
  for (std::string text; std::getline(in, text);) {
    if (in.eof()) break;  // no LF yet: the line is still being written
    boost::system::error_code error;
    const auto value = boost::json::parse(text, error);
    if (error) FAIL("a ledger line does not parse: " << text);
    const auto& object = value.as_object();
    lines.push_back({std::string{object.at("topic").as_string()},
                     static_cast<std::int32_t>(object.at("partition").as_int64()),
                     object.at("offset").as_int64(), object.at("pid").as_int64()});
  }
  return lines;
}

Deliveries JobFixture::deliveries() const {
  Deliveries count;
  for (const auto& line : ledger()) ++count[{line.partition, line.offset}];
  return count;
}

}  // namespace sluice::test
