// A Kafka record as a plugin sees it: views onto memory that the host owns, valid until the call
// that handed them out returns. Nothing is copied and nothing allocates; who needs a record longer
// takes an OwnedRecord. Null and empty are different for key, value and header values: Bytes says
// which.
#pragma once

#include <sluice/abi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// A std::string_view that may be null.
class Bytes : public std::string_view {
 public:
  Bytes() = default;  ///< null
  Bytes(std::string_view text) : std::string_view{text} {}
  Bytes(const std::string& text) : std::string_view{text} {}
  Bytes(const char* text) : std::string_view{text} {}
  explicit Bytes(sluice_bytes raw)
      : std::string_view{static_cast<const char*>(raw.data), raw.data == nullptr ? 0 : raw.size} {}

  bool is_null() const { return data() == nullptr; }
  std::span<const std::byte> as_bytes() const { return std::as_bytes(std::span{data(), size()}); }
  sluice_bytes raw() const { return {data(), size()}; }

  /// Null as nullopt: a copy that can be kept.
  std::optional<std::string> owned() const {
    return is_null() ? std::nullopt : std::optional<std::string>{std::in_place, data(), size()};
  }
};

class Header {
 public:
  explicit Header(const sluice_header* raw) : raw_{raw} {}
  Bytes name() const { return Bytes{raw_->name}; }
  Bytes value() const { return Bytes{raw_->value}; }

 private:
  const sluice_header* raw_;
};

/// In Kafka's order, repeats kept.
class Headers {
 public:
  class Iterator {
   public:
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = Header;
    using difference_type = std::ptrdiff_t;
    using reference = Header;
    using pointer = void;

    Iterator() = default;
    explicit Iterator(const sluice_header* at) : at_{at} {}
    Header operator*() const { return Header{at_}; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator{at_++}; }
    bool operator==(const Iterator&) const = default;

   private:
    const sluice_header* at_ = nullptr;
  };

  Headers(const sluice_header* first, std::size_t count) : first_{first}, count_{count} {}
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Header operator[](std::size_t index) const { return Header{first_ + index}; }
  Iterator begin() const { return Iterator{first_}; }
  Iterator end() const { return Iterator{first_ + count_}; }

  /// The last one of that name counts, as in Kafka's lastHeader().
  std::optional<Header> last(std::string_view name) const {
    for (std::size_t index = count_; index > 0; --index) {
      if (Header header{first_ + index - 1}; header.name() == name) {
        return header;
      }
    }
    return std::nullopt;
  }

 private:
  const sluice_header* first_;
  std::size_t count_;
};

enum class TimestampType : std::uint32_t {
  None = SLUICE_TIMESTAMP_NONE,
  Create = SLUICE_TIMESTAMP_CREATE,
  LogAppend = SLUICE_TIMESTAMP_LOG_APPEND,
};

class Record {
 public:
  explicit Record(const sluice_record* raw) : raw_{raw} {}

  Bytes key() const { return Bytes{raw_->key}; }
  Bytes value() const { return Bytes{raw_->value}; }
  bool is_tombstone() const { return raw_->value.data == nullptr; }
  Headers headers() const { return {raw_->headers, raw_->header_count}; }

  std::int64_t offset() const { return raw_->offset; }
  std::int32_t partition() const { return raw_->partition; }
  /// The topic's number in this job; Batch::topic() is its name.
  std::uint32_t topic_index() const { return raw_->topic_index; }

  TimestampType timestamp_type() const {
    return static_cast<TimestampType>(raw_->flags & SLUICE_TIMESTAMP_MASK);
  }
  /// -1 where timestamp_type() is None.
  std::int64_t timestamp_ms() const { return raw_->timestamp_ms; }
  std::chrono::sys_time<std::chrono::milliseconds> timestamp() const {
    return std::chrono::sys_time<std::chrono::milliseconds>{
        std::chrono::milliseconds{raw_->timestamp_ms}};
  }

  const sluice_record& raw() const { return *raw_; }

 private:
  const sluice_record* raw_;
};

/// A copy that outlives the call. It costs about 100 ns: views are for the record path.
struct OwnedRecord {
  OwnedRecord() = default;
  explicit OwnedRecord(const Record& record)
      : key{record.key().owned()},
        value{record.value().owned()},
        offset{record.offset()},
        timestamp_ms{record.timestamp_ms()},
        timestamp_type{record.timestamp_type()},
        topic_index{record.topic_index()},
        partition{record.partition()} {
    headers.reserve(record.headers().size());
    for (const Header& header : record.headers()) {
      headers.emplace_back(std::string{header.name()}, header.value().owned());
    }
  }

  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::int64_t offset = 0;
  std::int64_t timestamp_ms = -1;
  TimestampType timestamp_type = TimestampType::None;
  std::uint32_t topic_index = 0;
  std::int32_t partition = 0;
};

}  // namespace sluice
