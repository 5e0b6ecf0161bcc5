#include "host/cli/demo_records.hpp"
#include "host/kafka/whole_partition.hpp"

namespace sluice::cli {
namespace {

constexpr int kReadTimeoutMs = 10'000;

std::string text_of(const sluice_bytes& bytes) {
  if (bytes.data == nullptr) return {};
  return {static_cast<const char*>(bytes.data), bytes.size};
}

void note(DemoDeadLetter& found, const sluice_record& record) {
  ++found.letters;
  found.is_the_poison = text_of(record.key) == demo_key(kPoisonPartition, kPoisonOffset) &&
                        text_of(record.value) == demo_value(kPoisonPartition, kPoisonOffset);
  for (std::uint32_t i = 0; i < record.header_count; ++i) {
    const auto name = text_of(record.headers[i].name);
    const auto value = text_of(record.headers[i].value);
    if (name == "__connect.errors.stage") found.stage = value;
    if (name == "__connect.errors.exception.message") found.message = value;
    if (name == "__connect.errors.offset") found.offset = value;
    if (name == "__sluice.errors.signal") found.signal = value;
  }
}

}  // namespace

Result<DemoDeadLetter> read_dead_letter(const DemoRecords& records,
                                        const std::string& bootstrap_servers) {
  DemoDeadLetter found;
  SLUICE_TRY(kafka::read_whole_partition(
      {{"bootstrap.servers", bootstrap_servers}}, {records.dead_letter_topic, 0}, kReadTimeoutMs,
      [&found](const sluice_record& record) { note(found, record); }));
  return found;
}

}  // namespace sluice::cli
