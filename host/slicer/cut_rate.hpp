// Keeps a host below slices.per.second.max (C1). A bucket of tokens with 10 ms of depth: below the
// limit nobody notices it; above, partitions wait in turn, and while one waits more records arrive
// for its next slice. So the time between two cuts of a partition grows just as far as it must:
// (partitions with news) / (slices per second), and no partition is favoured.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "host/base/clock.hpp"

namespace sluice::slicer {

class CutRate {
 public:
  explicit CutRate(std::uint32_t per_second) {
    set(per_second);
    level_ = full_;
  }

  void set(std::uint32_t per_second) {
    per_second_ = per_second;
    full_ = std::max<std::int64_t>(kToken, std::int64_t{per_second} * kDepthMs);
    level_ = std::min(level_, full_);
  }

  void refill(Milliseconds now) {
    if (now > filled_at_) {
      const std::int64_t elapsed_ms =
          std::min<std::int64_t>((now - filled_at_).count(), kRefillMsMax);
      level_ = std::min(full_, level_ + elapsed_ms * per_second_);
      filled_at_ = now;
    }
  }

  bool take() {
    if (level_ < kToken) return false;
    level_ -= kToken;
    return true;
  }

  bool empty() const { return level_ < kToken; }

  /// When the next token is there.
  Milliseconds next_at() const {
    const std::int64_t missing = std::max<std::int64_t>(0, kToken - level_);
    return filled_at_ + Milliseconds{(missing + per_second_ - 1) / per_second_};
  }

 private:
  static constexpr std::int64_t kToken = 1000;  ///< so that one ms adds `per_second_` to the level
  static constexpr std::int64_t kDepthMs = 10;
  static constexpr std::int64_t kRefillMsMax = 1'000'000;  ///< keeps the product far below 2^63

  std::int64_t per_second_ = 1;
  std::int64_t full_ = kToken;
  std::int64_t level_ = kToken;
  Milliseconds filled_at_{0};
};

}  // namespace sluice::slicer
