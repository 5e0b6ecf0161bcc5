// Time as a dependency. Cores never read a clock: they are told the time with each event. Only the
// edges (loop, worker) hold a Clock, and tests give them a ManualClock, which moves when told to.
// Not for measuring: a benchmark reads std::chrono::steady_clock itself.
#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {

/// Milliseconds of a monotonic clock; what every core's `now` means.
using Milliseconds = std::chrono::milliseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic: never goes back, may stop while the machine is suspended.
  virtual Milliseconds monotonic() const = 0;
  /// Wall clock, milliseconds since the Unix epoch: only for what people and Kafka read.
  virtual std::int64_t unix_ms() const = 0;
};

class SystemClock final : public Clock {
 public:
  Milliseconds monotonic() const override;
  std::int64_t unix_ms() const override;
};

class ManualClock final : public Clock {
 public:
  Milliseconds monotonic() const override { return now_; }
  std::int64_t unix_ms() const override { return kStartUnixMs + now_.count(); }
  void advance(Milliseconds by) { now_ += by; }

 private:
  static constexpr std::int64_t kStartUnixMs = 1'700'000'000'000;
  Milliseconds now_{0};
};

}  // namespace sluice
