// Which slot for which partition, as arithmetic (slicer.md A1): balanced within one partition, and
// with the fewest moves. Pure functions: who is running, who is quarantined, and how a partition
// gets from one worker to another is the business of moves.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/slicer/topic_partition.hpp"

namespace sluice::slicer {

/// One slot for each partition. `remembered[i]` is where partition i was, or kNoSlot. Loads differ
/// by at most one; no other plan with that property moves fewer partitions. Requires: slots > 0.
std::vector<Slot> plan_with_fewest_moves(std::span<const Slot> remembered, std::uint32_t slots);

struct SlotLoad {
  Slot slot = kNoSlot;
  std::size_t partitions = 0;
};

/// The emptiest (lowest number among equals); kNoSlot of none.
Slot emptiest(std::span<const SlotLoad> loads);

}  // namespace sluice::slicer
