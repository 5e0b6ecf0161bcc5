// A time budget shared by several blocking calls in a row: each gets what the ones before it left.
// Real time, because librdkafka's timeouts are. Not for the pure cores, which are told the time.
// Internal to host/kafka.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace sluice::kafka {

class Deadline {
 public:
  explicit Deadline(int timeout_ms)
      : at_{std::chrono::steady_clock::now() + std::chrono::milliseconds{timeout_ms}} {}

  bool passed() const { return std::chrono::steady_clock::now() >= at_; }
  /// At least 1: a timeout of 0 means "do not wait" to some calls and "no answer" to others.
  int remaining_ms() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        at_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 1));
  }

 private:
  std::chrono::steady_clock::time_point at_;
};

}  // namespace sluice::kafka
