// How long a randomised test runs, and its source of chance. Seeds are constants: a failure comes
// back, as far as the scheduler lets it.
#pragma once

#include <cstdint>

#include "unit/full_scale.hpp"

namespace sluice::ipc::test {

/// ThreadSanitizer is ten and more times slower, at threads and at forks alike.
inline std::uint64_t steps(std::uint64_t short_run, std::uint64_t full_run) {
#ifdef __SANITIZE_THREAD__
  short_run /= 10;
  full_run /= 10;
#endif
  return full_scale() ? full_run : short_run;
}

/// SplitMix64: ipc links nothing of the host, where Random lives.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_{seed} {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace sluice::ipc::test
