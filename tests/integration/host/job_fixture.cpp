#include "integration/host/job_fixture.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

namespace sluice::test {
namespace {

constexpr const char* kRecordBytesMax = "4000000";  // the mock keeps 5 MiB of a partition

kafka::MockCluster make_cluster(int brokers) {
  auto cluster = kafka::MockCluster::create(brokers);
  if (!cluster) throw std::runtime_error{cluster.error().message()};
  return *std::move(cluster);
}

void must(const Result<>& result) {
  if (!result) FAIL(result.error().message());
}

}  // namespace

JobFixture::JobFixture(int brokers) : JobFixture{make_cluster(brokers)} {}

JobFixture::JobFixture(kafka::MockCluster cluster)
    : JobFolder{cluster.bootstrap_servers()}, cluster_{std::move(cluster)} {
  auto producer = kafka::Producer::create({{"bootstrap.servers", cluster_.bootstrap_servers()},
                                           {"message.max.bytes", kRecordBytesMax}});
  if (!producer) throw std::runtime_error{producer.error().message()};
  producer_ = *std::move(producer);
}

void JobFixture::topic(const std::string& name, int partitions) {
  must(cluster_.create_topic(name, partitions));
}

void JobFixture::produce(const std::string& topic, std::int32_t partition, std::int64_t count,
                         const std::string& prefix) {
  for (std::int64_t i = 0; i < count; ++i) {
    send(topic, partition, prefix + "-" + std::to_string(i));
  }
  must(producer_->flush(30'000));
}

void JobFixture::produce_record(const std::string& topic, const kafka::OutRecord& record) {
  must(producer_->produce(topic, record));
  must(producer_->flush(30'000));
}

void JobFixture::produce_same(const std::string& topic, std::int32_t partition, std::int64_t count,
                              const std::string& value) {
  for (std::int64_t i = 0; i < count; ++i) send(topic, partition, value);
  must(producer_->flush(30'000));
}

void JobFixture::produce_value(const std::string& topic, std::int32_t partition,
                               const std::string& value) {
  produce_same(topic, partition, 1, value);
}

void JobFixture::send(const std::string& topic, std::int32_t partition, const std::string& value) {
  kafka::OutRecord record;
  record.value = {value.data(), value.size()};
  record.partition = partition;
  must(producer_->produce(topic, record));
}

}  // namespace sluice::test
