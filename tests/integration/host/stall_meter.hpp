// How long the machine has let this process stand still: a thread that does nothing but sleep a
// little, again and again, and adds up by how much it was woken too late. Who bounds how long an
// answer may take subtracts that: the bound is the product's, and a virtual machine that stops for
// a second is not. A process that does not answer because of what it does itself is not excused:
// this thread sleeps beside that as well as ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "host/base/blocked_signals.hpp"

namespace sluice::test {

class StallMeter {
 public:
  StallMeter() {
    const BlockedSignals blocked;
    thread_ = std::thread{[this] { measure(); }};
  }
  ~StallMeter() {
    {
      const std::lock_guard lock{mutex_};
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  StallMeter(const StallMeter&) = delete;
  StallMeter& operator=(const StallMeter&) = delete;

  /// Since the meter began; grows only. What is under way is in it.
  std::chrono::milliseconds stalled() const {
    const std::lock_guard lock{mutex_};
    return std::chrono::duration_cast<std::chrono::milliseconds>(stalled_ + late());
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSleep{10};
  /// Less is how any busy machine wakes its sleepers.
  static constexpr std::chrono::milliseconds kLate{20};

  Clock::duration late() const {
    const auto by = Clock::now() - slept_at_ - kSleep;
    return by > kLate ? by : Clock::duration{0};
  }
  void measure() {
    std::unique_lock lock{mutex_};
    while (!ended_) {
      slept_at_ = Clock::now();
      wake_.wait_for(lock, kSleep, [this] { return ended_; });
      stalled_ += late();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Clock::duration stalled_{0};
  Clock::time_point slept_at_ = Clock::now();
  bool ended_ = false;
  std::thread thread_;  // last: it uses all of the above
};

/// How long something takes, without what the machine withholds meanwhile.
class Stopwatch {
 public:
  bool is_below(std::chrono::milliseconds bound) const {
    const auto stalled = meter().stalled() - stalled_before_;
    return std::chrono::steady_clock::now() - begun_ - stalled < bound;
  }

 private:
  static const StallMeter& meter() {
    static const StallMeter kMeter;
    return kMeter;
  }

  std::chrono::milliseconds stalled_before_ = meter().stalled();
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace sluice::test
