// The records of one put or process: of one partition and one slice, in offset order, perhaps none.
// Looking at a record (iterator, operator[]) stores its index where the host sees it, so that a
// crash names its record; that is one plain store, 0.2 ns. A Batch is a view and dies with the
// call.
#pragma once

#include <sluice/host.hpp>

namespace sluice {

class Batch {
 public:
  class Iterator {
   public:
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = Record;
    using difference_type = std::ptrdiff_t;
    using reference = Record;
    using pointer = void;

    Iterator() = default;
    Record operator*() const {
      // volatile and not atomic_ref: one plain store either way, but GCC takes an atomic one for a
      // barrier and spills the author's loop variables around it: 1.9 instead of 0.75 ns a record.
      *const_cast<volatile std::uint32_t*>(position_) = index_;
      return Record{at_};
    }
    Iterator& operator++() {
      at_ = next(at_, stride_);
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    friend class Batch;
    Iterator(const sluice_record* at, std::uint32_t stride, std::uint32_t index,
             std::uint32_t* position)
        : at_{at}, stride_{stride}, index_{index}, position_{position} {}

    static const sluice_record* next(const sluice_record* at, std::uint32_t stride) {
      return reinterpret_cast<const sluice_record*>(reinterpret_cast<const char*>(at) + stride);
    }

    const sluice_record* at_ = nullptr;
    std::uint32_t stride_ = 0;
    std::uint32_t index_ = 0;
    std::uint32_t* position_ = nullptr;
  };

  Batch(const sluice_batch* raw, Host host) : raw_{raw}, host_{host} {}

  std::size_t size() const { return raw_->record_count; }
  bool empty() const { return raw_->record_count == 0; }
  Iterator begin() const { return at(0); }
  Iterator end() const { return at(raw_->record_count); }

  /// Requires: index < size().
  Record operator[](std::size_t index) const { return *at(static_cast<std::uint32_t>(index)); }

  /// This record is bad, the others are fine: it goes to the dead letter queue, or fails the slice
  /// (errors.tolerance). code: your own number for it (HTTP status, errno), shown as it is.
  void fail(const Record& record, std::string_view why, std::int32_t code = 0) const {
    host_.fail_record(raw_->slice_id, record.offset(), why, code);
  }

  std::uint64_t slice_id() const { return raw_->slice_id; }
  Slice slice() const { return host_.slice(raw_->slice_id); }
  Bytes topic() const { return slice().topic(); }
  std::int32_t partition() const { return slice().partition(); }

  const sluice_batch& raw() const { return *raw_; }

 private:
  Iterator at(std::uint32_t index) const {
    const auto* record = empty() ? raw_->records : sluice_record_at(raw_, index);
    return {record, raw_->record_size, index, host_.raw()->position};
  }

  const sluice_batch* raw_;
  Host host_;
};

}  // namespace sluice
