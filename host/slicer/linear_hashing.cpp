#include "host/slicer/linear_hashing.hpp"

#include <bit>

#include "host/base/assert.hpp"

namespace sluice::slicer {

std::uint32_t linear_worker(std::uint32_t value, std::uint32_t first, std::uint32_t workers) {
  SLUICE_ASSERT(first > 0 && workers > 0, first, workers);
  if (workers < first) {
    std::uint32_t worker = value % first;
    while (worker >= workers) worker -= std::bit_floor(worker);
    return worker;
  }
  std::uint64_t round = first;  // workers at the last doubling
  while (round * 2 <= workers) round *= 2;
  const std::uint64_t unsplit = value % round;
  const bool was_split = unsplit < workers - round;
  return static_cast<std::uint32_t>(was_split ? value % (round * 2) : unsplit);
}

}  // namespace sluice::slicer
