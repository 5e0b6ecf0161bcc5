#include "host/cli/demo_records.hpp"

#include <array>
#include <boost/json.hpp>
#include <fstream>
#include <vector>

#include "host/kafka/producer.hpp"

namespace sluice::cli {
namespace {

constexpr std::size_t kBulk = 1000;
constexpr int kFlushTimeoutMs = 30'000;

bool has_note(std::int32_t partition, std::int64_t offset) {
  return (offset * 7 + partition) % 2 == 0;
}

bool is_poison(std::int32_t partition, std::int64_t offset) {
  return partition == kPoisonPartition && offset == kPoisonOffset;
}

sluice_bytes bytes_of(const std::string& text) {
  return {text.data(), text.size()};
}

Result<> produce_partition(kafka::Producer& producer, const DemoRecords& records,
                           std::int32_t partition) {
  std::vector<std::string> texts(2 * kBulk);
  std::vector<kafka::OutRecord> bulk;
  for (std::int64_t offset = 0; offset < records.per_partition();) {
    bulk.clear();
    for (; bulk.size() < kBulk && offset < records.per_partition(); ++offset) {
      auto& key = texts[2 * bulk.size()];
      auto& value = texts[2 * bulk.size() + 1];
      key = demo_key(partition, offset);
      value = demo_value(partition, offset);
      kafka::OutRecord record;
      record.key = bytes_of(key);
      record.value = bytes_of(value);
      record.partition = partition;
      bulk.push_back(record);
    }
    SLUICE_TRY(producer.produce_bulk(records.topic, bulk));
  }
  return {};
}

// How often each offset of one partition stands in its file.
struct PartitionCount {
  std::vector<std::uint8_t> seen;
};

bool count_line(const std::string& line, std::int32_t partition, PartitionCount& count) {
  boost::system::error_code error;
  const auto value = boost::json::parse(line, error);
  const auto* const object = error ? nullptr : value.if_object();
  if (object == nullptr) return false;
  const auto* const offset = object->if_contains("offset");
  const auto* const text = object->if_contains("value");
  if (offset == nullptr || !offset->is_int64() || text == nullptr || !text->is_string()) {
    return false;
  }
  const auto at = offset->get_int64();
  if (at < 0 || at >= static_cast<std::int64_t>(count.seen.size())) return false;
  if (!has_note(partition, at) || is_poison(partition, at)) return false;
  if (text->get_string() != demo_value(partition, at)) return false;
  auto& seen = count.seen[static_cast<std::size_t>(at)];
  if (seen < 255) ++seen;
  return true;
}

}  // namespace

std::string demo_key(std::int32_t partition, std::int64_t offset) {
  return "customer-" + std::to_string(partition) + "-" + std::to_string(offset % 500);
}

std::string demo_value(std::int32_t partition, std::int64_t offset) {
  constexpr std::array<const char*, 4> kGoods{"lamp", "chair", "table", "shelf"};
  const auto number = offset * 8 + partition;
  auto value =
      R"({"order":)" + std::to_string(number) + R"(,"goods":")" +
      (is_poison(partition, offset) ? "glass" : kGoods[static_cast<std::size_t>(number / 8 % 4)]) +
      R"(","cents":)" + std::to_string(500 + number % 9500);
  if (has_note(partition, offset)) {
    value += R"(,"note":"please ring twice and leave it with the neighbours on the third floor")";
  }
  return value + "}";
}

Result<> produce_demo_records(const DemoRecords& records, const std::string& bootstrap_servers) {
  auto producer = kafka::Producer::create({{"bootstrap.servers", bootstrap_servers}});
  if (!producer) return producer.error();
  for (std::int32_t partition = 0; partition < records.partitions; ++partition) {
    SLUICE_TRY(produce_partition(**producer, records, partition));
  }
  return (*producer)->flush(kFlushTimeoutMs);
}

Result<DemoAudit> audit_demo_output(const DemoRecords& records,
                                    const std::filesystem::path& folder) {
  DemoAudit audit;
  for (std::int32_t partition = 0; partition < records.partitions; ++partition) {
    PartitionCount count;
    count.seen.resize(static_cast<std::size_t>(records.per_partition()));
    const auto file = folder / (records.topic + "-" + std::to_string(partition) + ".jsonl");
    std::ifstream lines{file};
    if (!lines) return io_error("open", file.string(), errno);
    for (std::string line; std::getline(lines, line);) {
      ++audit.lines;
      if (!count_line(line, partition, count)) ++audit.wrong;
    }
    for (std::int64_t offset = 0; offset < records.per_partition(); ++offset) {
      if (!has_note(partition, offset) || is_poison(partition, offset)) continue;
      ++audit.expected;
      const auto seen = count.seen[static_cast<std::size_t>(offset)];
      if (seen == 0) ++audit.lost;
      if (seen > 0) ++audit.delivered;
      if (seen > 1) audit.twice += seen - 1U;
    }
  }
  return audit;
}

}  // namespace sluice::cli
