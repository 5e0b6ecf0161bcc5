#include "rig/topic_reader.hpp"

#include <stdexcept>

#include "host/kafka/whole_partition.hpp"

namespace sluice::rig {

namespace {

constexpr int kReadTimeoutMs = 30'000;

std::optional<std::string> text_of(const sluice_bytes& bytes) {
  if (bytes.data == nullptr) return std::nullopt;
  return std::string{static_cast<const char*>(bytes.data), bytes.size};
}

ReadRecord copy_of(const sluice_record& record) {
  ReadRecord copy{text_of(record.key), text_of(record.value), {}};
  for (std::uint32_t i = 0; i < record.header_count; ++i) {
    const sluice_header& header = record.headers[i];
    copy.headers.emplace_back(text_of(header.name).value_or(""), text_of(header.value));
  }
  return copy;
}

}  // namespace

std::string ReadRecord::header(const std::string& name) const {
  for (auto at = headers.rbegin(); at != headers.rend(); ++at) {
    if (at->first == name) return at->second.value_or("(null)");
  }
  return "(none)";
}

std::vector<ReadRecord> read_topic(const std::string& bootstrap_servers, const std::string& topic) {
  std::vector<ReadRecord> records;
  const auto read = kafka::read_whole_partition(
      {{"bootstrap.servers", bootstrap_servers}}, {topic, 0}, kReadTimeoutMs,
      [&records](const sluice_record& record) { records.push_back(copy_of(record)); });
  if (!read) throw std::runtime_error{read.error().message()};
  return records;
}

}  // namespace sluice::rig
