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

/// The library keeps a message's timestamp and headers in the two cache lines behind the public
/// part, which the broker's thread has written: asked for some messages early, they are here when
/// needed.
constexpr std::size_t kAhead = 8;
constexpr int kNewestWithValuesInPlace = 0x020f00ff;
constexpr std::uintptr_t kSmallestPage = 4096;
void prefetch_details(const rd_kafka_message_t* message) {
  const auto* bytes = reinterpret_cast<const char*>(message);
  __builtin_prefetch(bytes + 64);
  __builtin_prefetch(bytes + 128);
}

/// True for a record that surely has no headers: the library need not be asked. Asking costs it an
/// allocation even then, 0.12 us of the 0.50 a record took.
///
/// A value points into the Fetch answer, where the number of headers follows it (record format 2);
/// a first byte of 0 says none. In the formats before it something else follows, and none is right
/// whatever that is. The byte is read only where it lies in the page of the value's last one, so
/// the read cannot fault at the end of an answer. Librdkafka 2.0.2 to 2.15.0 leave values in place;
/// a newer one is asked every time.
__attribute__((no_sanitize("address"))) bool is_bare(const rd_kafka_message_t& message) {
  static const bool values_in_place = rd_kafka_version() <= kNewestWithValuesInPlace;
  if (!values_in_place || message.len == 0) return false;
  const auto* behind = static_cast<const unsigned char*>(message.payload) + message.len;
  return reinterpret_cast<std::uintptr_t>(behind) % kSmallestPage != 0 && *behind == 0;
}

/// Everything but the pointer to its headers, which are appended to `headers`.
sluice_record record_of(const rd_kafka_message_t& message, std::uint32_t topic_index,
                        std::vector<sluice_header>& headers) {
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  rd_kafka_headers_t* parsed = nullptr;
  sluice_record record;
  record.key = {message.key, message.key_len};
  record.value = {message.payload, message.len};
  record.offset = message.offset;
  record.timestamp_ms = rd_kafka_message_timestamp(&message, &type);
  record.topic_index = topic_index;
  record.partition = message.partition;
  record.flags = timestamp_flag(type);
  record.header_count = 0;
  record.headers = nullptr;
  if (!is_bare(message) &&
      rd_kafka_message_headers(&message, &parsed) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    record.header_count = append_headers(parsed, headers);
  }
  return record;
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
  storage->records.reserve(messages.size());  // push_back, because resize would zero 72 bytes each
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i + kAhead < messages.size()) prefetch_details(messages[i + kAhead]);
    storage->records.push_back(record_of(*messages[i], topic_index, storage->headers));
    storage->bytes += messages[i]->key_len + messages[i]->len;
  }
  if (!storage->headers.empty()) {
    point_at_headers(storage->records, storage->headers.data());
    storage->bytes += header_bytes(storage->headers);
  }
  return RecordBlock{std::move(storage)};
}

}  // namespace sluice::kafka
