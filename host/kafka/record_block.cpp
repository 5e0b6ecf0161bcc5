#include "host/kafka/record_block.hpp"

#include <algorithm>
#include <cstring>

#include "host/base/assert.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

struct RecordBlock::Storage {
  std::vector<rd_kafka_message_t*> messages;
  std::vector<sluice_record> records;
  std::vector<sluice_header> headers;  ///< of all records, in order; records point into it
  std::uint64_t bytes = 0;
};

namespace {

std::uint32_t timestamp_flag(rd_kafka_timestamp_type_t type) {
  switch (type) {
    case RD_KAFKA_TIMESTAMP_CREATE_TIME:
      return SLUICE_TIMESTAMP_CREATE;
    case RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME:
      return SLUICE_TIMESTAMP_LOG_APPEND;
    case RD_KAFKA_TIMESTAMP_NOT_AVAILABLE:
      break;
  }
  return SLUICE_TIMESTAMP_NONE;
}

/// Appends the record's headers; their number. librdkafka hands names out as C strings, so a name
/// that holds a NUL byte ends there.
std::uint32_t append_headers(const rd_kafka_headers_t* parsed,
                             std::vector<sluice_header>& headers) {
  const std::size_t count = rd_kafka_header_cnt(parsed);
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    sluice_header header{};
    rd_kafka_header_get_all(parsed, i, &name, &header.value.data, &header.value.size);
    header.name = {name, std::strlen(name)};
    headers.push_back(header);
  }
  return static_cast<std::uint32_t>(count);
}

std::uint64_t header_bytes(std::span<const sluice_header> headers) {
  std::uint64_t bytes = 0;
  for (const auto& header : headers) bytes += header.name.size + header.value.size;
  return bytes;
}

std::uint64_t record_bytes(const sluice_record& record) {
  return record.key.size + record.value.size + header_bytes({record.headers, record.header_count});
}

/// `headers` has its final size now, so pointers into it are good.
void point_at_headers(std::span<sluice_record> records, const sluice_header* headers) {
  for (auto& record : records) {
    if (record.header_count == 0) continue;
    record.headers = headers;
    headers += record.header_count;
  }
}

}  // namespace

RecordBlock::RecordBlock(std::unique_ptr<Storage, Recycle> storage)
    : storage_{std::move(storage)} {}

std::span<const sluice_record> RecordBlock::records() const {
  return storage_ ? std::span<const sluice_record>{storage_->records}
                  : std::span<const sluice_record>{};
}

std::size_t RecordBlock::size() const {
  return storage_ ? storage_->records.size() : 0;
}

std::uint64_t RecordBlock::bytes() const {
  return storage_ ? storage_->bytes : 0;
}

std::int64_t RecordBlock::first_offset() const {
  SLUICE_ASSERT(!empty());
  return storage_->records.front().offset;
}

std::int64_t RecordBlock::last_offset() const {
  SLUICE_ASSERT(!empty());
  return storage_->records.back().offset;
}

RecordBlock RecordBlock::split_at(std::int64_t offset) {
  if (empty() || last_offset() < offset) return {};
  if (first_offset() >= offset) return std::move(*this);
  auto& records = storage_->records;
  const auto cut = std::lower_bound(
      records.begin(), records.end(), offset,
      [](const sluice_record& record, std::int64_t at) { return record.offset < at; });
  const auto kept = cut - records.begin();

  auto tail = storage_.get_deleter().pool->take();
  tail->records.assign(cut, records.end());
  tail->messages.assign(storage_->messages.begin() + kept, storage_->messages.end());
  for (const auto& record : tail->records) {
    tail->headers.insert(tail->headers.end(), record.headers, record.headers + record.header_count);
    tail->bytes += record_bytes(record);
  }
  point_at_headers(tail->records, tail->headers.data());

  storage_->messages.resize(static_cast<std::size_t>(kept));
  records.erase(cut, records.end());
  storage_->bytes -= tail->bytes;
  return RecordBlock{std::move(tail)};
}

void RecordBlock::Recycle::operator()(Storage* storage) const noexcept {
  pool->give_back(storage);
}

BlockPool::BlockPool() = default;
BlockPool::~BlockPool() {
  SLUICE_ASSERT(live_ == 0, live_);
}

std::unique_ptr<RecordBlock::Storage, RecordBlock::Recycle> BlockPool::take() {
  if (free_.empty()) free_.push_back(std::make_unique<Storage>());
  // give_back() must find room: it may not fail.
  free_.reserve(free_.size() + live_);
  ++live_;
  Storage* storage = free_.back().release();
  free_.pop_back();
  return {storage, RecordBlock::Recycle{this}};
}

void BlockPool::give_back(Storage* storage) noexcept {
  for (auto* message : storage->messages) rd_kafka_message_destroy(message);
  storage->messages.clear();
  storage->records.clear();
  storage->headers.clear();
  storage->bytes = 0;
  --live_;
  free_.push_back(std::unique_ptr<Storage>{storage});
}

RecordBlock BlockPool::make(std::span<rd_kafka_message_t* const> messages,
                            std::uint32_t topic_index) {
  auto storage = take();
  storage->messages.assign(messages.begin(), messages.end());
  storage->records.resize(messages.size());
  sluice_record* record = storage->records.data();
  std::uint64_t bytes = 0;
  for (const rd_kafka_message_t* message : messages) {
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    rd_kafka_headers_t* headers = nullptr;
    record->key = {message->key, message->key_len};
    record->value = {message->payload, message->len};
    record->offset = message->offset;
    record->timestamp_ms = rd_kafka_message_timestamp(message, &type);
    record->topic_index = topic_index;
    record->partition = message->partition;
    record->flags = timestamp_flag(type);
    record->header_count = 0;
    record->headers = nullptr;
    if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      record->header_count = append_headers(headers, storage->headers);
    }
    bytes += message->key_len + message->len;
    ++record;
  }
  if (!storage->headers.empty()) {
    point_at_headers(storage->records, storage->headers.data());
    bytes += header_bytes(storage->headers);
  }
  storage->bytes = bytes;
  return RecordBlock{std::move(storage)};
}

}  // namespace sluice::kafka
