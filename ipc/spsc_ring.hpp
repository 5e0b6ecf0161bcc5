// The only ring: one writer, one reader, fixed slots, and neither trusts the other. Why our own
// (ipc facts 1): every ring of the libraries lets both sides write its indices and believes them.
// Here each end keeps its own index privately, publishes it in its own segment and checks the other
// end's as unsigned distance, so a peer that writes garbage can be wrong but not move us anywhere.
//
// Writer: fill slots, then one release store of the tail. A death before it published nothing, a
// death after it left whole slots: no torn state exists. Reader: acquire the tail, copy a slot
// once, look only at the copy, then one release store of the head for all slots read. Full ring =
// back-pressure, never loss. Each end belongs to one thread.
//
// Value: Command or Report; has seq, kind and, as its last word, crc32c.
#pragma once

#include <cstdint>
#include <cstring>

#include "ipc/crc32c.hpp"
#include "ipc/error.hpp"
#include "ipc/layout.hpp"

namespace sluice::ipc {

template <typename Value>
std::uint32_t slot_checksum(const Value& value) noexcept {
  static_assert(offsetof(Value, crc32c) == sizeof(Value) - sizeof(std::uint32_t));
  return crc32c(&value, sizeof(Value) - sizeof(std::uint32_t));
}

template <typename Value>
class RingWriter {
 public:
  /// `start` is the first sequence number; both ends must agree on it.
  RingWriter(RingSlots<Value>& slots, std::atomic<std::uint64_t>& tail,
             const std::atomic<std::uint64_t>& head, std::uint64_t start = 0)
      : slots_{&slots}, tail_word_{&tail}, head_word_{&head}, tail_{start}, head_{start} {}

  /// Sequence number of the next slot; its low bits are the slot's place.
  std::uint64_t next() const { return tail_; }
  std::uint64_t head() const { return head_; }

  /// Slots that may be filled now. Looks at the reader's head only when the last look does not do.
  Rule free_slots(std::uint64_t wanted, std::uint64_t& free) noexcept {
    free = kRingSlots - (tail_ - head_);
    if (free >= wanted) return Rule::None;
    const std::uint64_t head = head_word_->load(std::memory_order_acquire);
    if (head - head_ > tail_ - head_) {
      return head - head_ > (std::uint64_t{1} << 63) ? Rule::HeadWentBack : Rule::HeadTooFar;
    }
    head_ = head;
    free = kRingSlots - (tail_ - head_);
    return Rule::None;
  }

  /// Fills the next slot; nobody sees it before publish(). Requires: free_slots() said so.
  void put(Value value) noexcept {
    invariant(tail_ - head_ < kRingSlots, "ring: put into a slot that the reader may still read");
    value.seq = tail_;
    value.crc32c = slot_checksum(value);
    (*slots_)[tail_ & kSlotMask].store(value);
    ++tail_;
  }

  /// Everything put so far becomes visible (pairs with the acquire in RingReader::available).
  void publish() noexcept { tail_word_->store(tail_, std::memory_order_release); }

  std::atomic<std::uint64_t>& tail_word() noexcept { return *tail_word_; }

 private:
  RingSlots<Value>* slots_;
  std::atomic<std::uint64_t>* tail_word_;
  const std::atomic<std::uint64_t>* head_word_;
  std::uint64_t tail_;
  std::uint64_t head_;  ///< the reader's head as last seen
};

template <typename Value>
class RingReader {
 public:
  RingReader(const RingSlots<Value>& slots, const std::atomic<std::uint64_t>& tail,
             std::atomic<std::uint64_t>& head, std::uint64_t start = 0)
      : slots_{&slots}, tail_word_{&tail}, head_word_{&head}, head_{start}, tail_{start} {}

  std::uint64_t next() const { return head_; }
  std::uint64_t tail() const { return tail_; }

  /// Is there anything unread, or anything wrong? For deciding whether to sleep.
  bool has_more() const noexcept { return tail_word_->load(std::memory_order_acquire) != head_; }

  /// Slots that may be read now. A tail that jumps or goes back is refused and not remembered.
  Rule available(std::uint64_t& slots) noexcept {
    const std::uint64_t tail = tail_word_->load(std::memory_order_acquire);
    refused_tail_ = tail;
    if (tail - tail_ > (std::uint64_t{1} << 63)) return Rule::TailWentBack;
    if (tail - head_ > kRingSlots) return Rule::TailTooFar;
    tail_ = tail;
    slots = tail_ - head_;
    return Rule::None;
  }

  /// Copies the next slot and checks the copy; moves on only if it is sound.
  /// Requires: available() counted it.
  Rule read(Value& value) noexcept {
    invariant(head_ != tail_, "ring: read beyond the published slots");
    value = (*slots_)[head_ & kSlotMask].load();
    if (value.seq != head_) return Rule::Sequence;
    if (value.crc32c != slot_checksum(value)) return Rule::Crc;
    ++head_;
    return Rule::None;
  }

  /// The writer may reuse everything read so far (pairs with the acquire in
  /// RingWriter::free_slots).
  void release() noexcept { head_word_->store(head_, std::memory_order_release); }

  /// What to report about a refused index or slot.
  Violation violation(Rule rule) const { return {rule, refused_tail_, head_, {}}; }
  Violation violation(Rule rule, const Value& value) const {
    Violation found = violation(rule);
    static_assert(sizeof(Value) <= sizeof(found.slot));
    std::memcpy(found.slot.data(), &value, sizeof(Value));
    return found;
  }

 private:
  const RingSlots<Value>* slots_;
  const std::atomic<std::uint64_t>* tail_word_;
  std::atomic<std::uint64_t>* head_word_;
  std::uint64_t head_;
  std::uint64_t tail_;              ///< the writer's tail as last believed
  std::uint64_t refused_tail_ = 0;  ///< as last loaded, believed or not
};

}  // namespace sluice::ipc
