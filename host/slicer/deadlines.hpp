// When something is due although no event comes: a heap, so that 10,000 quiet partitions cost
// nothing per event. Entries are never removed early; whoever takes one checks that it still holds
// (each partition keeps the one time that is meant). No timer: the loop asks next() when to wake.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "host/base/clock.hpp"

namespace sluice::slicer {

enum class DeadlineKind : std::uint8_t {
  Retry,      ///< a partition's back-off ends
  Sample,     ///< a partition's end offset is to be asked for
  Takeover,   ///< a slot has been down for long enough
  Rebalance,  ///< one partition may move
  Restart,    ///< a halted partition is tried again (F4)
};

struct Deadline {
  Milliseconds at{0};
  DeadlineKind kind = DeadlineKind::Retry;
  std::uint32_t index = 0;  ///< partition or slot

  bool operator>(const Deadline& other) const { return at > other.at; }
};

class Deadlines {
 public:
  void add(Deadline deadline) { heap_.push(deadline); }

  std::optional<Deadline> take_due(Milliseconds now) {
    if (heap_.empty() || heap_.top().at > now) return std::nullopt;
    const Deadline due = heap_.top();
    heap_.pop();
    return due;
  }

  std::optional<Milliseconds> next() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.top().at;
  }

 private:
  std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> heap_;
};

}  // namespace sluice::slicer
