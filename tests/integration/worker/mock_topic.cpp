#include "integration/worker/mock_topic.hpp"

#include <boost/json/parse.hpp>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace sluice::integration {

namespace {

constexpr char kTopic[] = "orders";
constexpr int kFlushTimeoutMs = 30'000;

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error{result.error().message()};
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

sluice_bytes bytes_of(const std::string& text) {
  return {text.data(), text.size()};
}

}  // namespace

MockTopic::MockTopic(int partitions, int brokers)
    : cluster_{must(kafka::MockCluster::create(brokers))} {
  must(cluster_.create_topic(kTopic, partitions));
  producer_ = must(kafka::Producer::create({{"bootstrap.servers", cluster_.bootstrap_servers()}}));
}

void MockTopic::produce(std::int32_t partition, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    produce({.key = {nullptr, 0}, .value = bytes_of(value), .partition = partition});
  }
}

void MockTopic::produce(std::int32_t partition, std::size_t count) {
  produce(partition, std::vector<std::string>(count, "value"));
}

void MockTopic::produce(const kafka::OutRecord& record) {
  must(producer_->produce(kTopic, record));
}

void MockTopic::flush() {
  must(producer_->flush(kFlushTimeoutMs));
}

worker::StartParameters MockTopic::parameters(const std::string& type,
                                              std::map<std::string, std::string> config) const {
  config.try_emplace("file", file());
  worker::StartParameters parameters;
  parameters.job = "archive";
  parameters.topics = {{kTopic, 0}};
  parameters.plugins = {rig::plugin_of(worker::PluginKind::Sink, type, type + "_sink.so", config)};
  parameters.consumer = {{"bootstrap.servers", cluster_.bootstrap_servers()}};
  return parameters;
}

std::vector<boost::json::value> MockTopic::lines() const {
  std::vector<boost::json::value> parsed;
  std::ifstream in{file()};
  for (std::string line; std::getline(in, line);) parsed.push_back(boost::json::parse(line));
  return parsed;
}

}  // namespace sluice::integration
