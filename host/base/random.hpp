// The only source of chance: SplitMix64, seeded. A core that needs jitter gets a Random; the
// simulator gives it the seed of the run, so one seed replays one schedule on every machine
// (std::uniform_int_distribution differs between standard libraries).
#pragma once

#include <cstdint>

namespace sluice {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_{seed} {}

  /// A seed from the operating system, for production.
  static std::uint64_t system_seed();

  std::uint64_t next();
  /// Uniform in [0, bound). Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// True once in `one_in` calls on average. Requires: one_in > 0.
  bool once_in(std::uint64_t one_in) { return below(one_in) == 0; }
  /// Uniform in [0, 1).
  double fraction();

 private:
  std::uint64_t state_;
};

}  // namespace sluice
