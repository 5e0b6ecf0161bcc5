#include "host/base/clock.hpp"

namespace sluice {

Milliseconds SystemClock::monotonic() const {
  return std::chrono::duration_cast<Milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

std::int64_t SystemClock::unix_ms() const {
  return std::chrono::duration_cast<Milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace sluice
