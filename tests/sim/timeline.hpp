// Virtual time: a queue of things that will happen, microseconds apart, in one order for one seed.
// Nothing in a simulation waits, sleeps or looks at a clock; a run of ten virtual minutes takes
// milliseconds. Entries of the same instant happen in the order in which they were added.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "host/base/clock.hpp"

namespace sluice::sim {

inline constexpr std::int64_t kMillisecond = 1'000;
inline constexpr std::int64_t kSecond = 1'000'000;

class Timeline {
 public:
  std::int64_t now_us() const { return now_us_; }
  Milliseconds now() const { return Milliseconds{now_us_ / kMillisecond}; }

  void after(std::int64_t delay_us, std::function<void()> happen) {
    entries_.push({now_us_ + delay_us, next_order_++, std::move(happen)});
  }

  /// The next thing happens. False when nothing is left before `until_us`; then it is `until_us`.
  bool next(std::int64_t until_us) {
    if (entries_.empty() || entries_.top().at_us > until_us) {
      now_us_ = until_us;
      return false;
    }
    Entry entry = std::move(const_cast<Entry&>(entries_.top()));
    entries_.pop();
    now_us_ = entry.at_us;
    entry.happen();
    return true;
  }

 private:
  struct Entry {
    std::int64_t at_us = 0;
    std::uint64_t order = 0;
    std::function<void()> happen;

    bool operator>(const Entry& other) const {
      return at_us != other.at_us ? at_us > other.at_us : order > other.order;
    }
  };

  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
  std::int64_t now_us_ = 0;
  std::uint64_t next_order_ = 0;
};

}  // namespace sluice::sim
