// How long a randomised test runs, and its source of chance. SLUICE_FULL=1 in the environment means
// the long version, which is not for every day; the short one must still be able to fail.
// Seeds are constants: a failure comes back, as far as the scheduler lets it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace sluice::ipc::test {

inline bool full_scale() {
  const char* const full = std::getenv("SLUICE_FULL");
  return full != nullptr && std::string_view{full} == "1";
}

/// ThreadSanitizer is ten and more times slower, at threads and at forks alike.
inline std::uint64_t steps(std::uint64_t short_run, std::uint64_t full_run) {
#ifdef __SANITIZE_THREAD__
  short_run /= 10;
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
