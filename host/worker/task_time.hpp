// How the task thread reads the clock and sleeps. Production (kafka_source.hpp): CLOCK_MONOTONIC
// and poll(2) on the doorbell and the source's wake-up. Tests: a clock that the pause itself moves,
// so that a minute of back-off takes no time and nothing depends on the machine's load.
#pragma once

#include <cstdint>

namespace sluice::worker {

/// What may end a sleep before its time.
enum class Wake {
  CommandsOnly,  ///< between retries of a plugin call: records may wait
  AnyWork,
};

class TaskTime {
 public:
  virtual ~TaskTime() = default;
  virtual std::int64_t now_us() const = 0;
  /// Requires: prepare_to_sleep() was called and nothing was there.
  virtual void pause(std::int64_t timeout_us, Wake wake) = 0;
};

}  // namespace sluice::worker
