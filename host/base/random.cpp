#include "host/base/random.hpp"

#include <random>

#include "host/base/assert.hpp"

namespace sluice {

std::uint64_t Random::system_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) ^ device();
}

// Constants of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t bound) {
  SLUICE_ASSERT(bound > 0);
  return next() % bound;  // the bias is below 2^-32 for every bound we use
}

double Random::fraction() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

}  // namespace sluice
