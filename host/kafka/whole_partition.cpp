#include "host/kafka/whole_partition.hpp"

#include <poll.h>

#include "host/kafka/deadline.hpp"
#include "host/kafka/reader.hpp"

namespace sluice::kafka {
namespace {

constexpr std::size_t kRecordsPerFetch = 1000;
constexpr int kLookAgainMs = 20;

}  // namespace

Result<> read_whole_partition(const Properties& properties, const TopicPartition& where,
                              int timeout_ms,
                              const std::function<void(const sluice_record&)>& take) {
  const auto reader = Reader::create(properties, {});
  if (!reader) return reader.error();
  const auto opened = (*reader)->open(where.topic, 0, where.partition, 0);
  if (!opened) return opened.error();
  const Deadline deadline{timeout_ms};
  while (!deadline.passed()) {
    const auto fetched = (*opened)->fetch(kRecordsPerFetch);
    for (const sluice_record& record : fetched.block.records()) take(record);
    if (fetched.eof_offset) return {};
    pollfd wake{(*reader)->wake_fd(), POLLIN, 0};
    if (fetched.drained) ::poll(&wake, 1, kLookAgainMs);
    (*reader)->woken();
    (*reader)->poll();
  }
  return Error{ErrorCode::KafkaUnavailable, "read " + where.topic + "-" +
                                                std::to_string(where.partition) +
                                                ": its end was not reached in time"};
}

}  // namespace sluice::kafka
