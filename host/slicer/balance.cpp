#include "host/slicer/balance.hpp"

#include <algorithm>
#include <numeric>

namespace sluice::slicer {
namespace {

/// How many partitions each slot may have: n / slots, and one more for the slots that hold the most
/// already, because they have the most to keep.
std::vector<std::size_t> quotas(std::span<const Slot> remembered, std::uint32_t slots) {
  std::vector<std::size_t> held(slots, 0);
  for (const Slot slot : remembered) {
    if (slot < slots) ++held[slot];
  }
  std::vector<Slot> by_held(slots);
  std::iota(by_held.begin(), by_held.end(), Slot{0});
  std::stable_sort(by_held.begin(), by_held.end(),
                   [&](Slot left, Slot right) { return held[left] > held[right]; });
  std::vector<std::size_t> quota(slots, remembered.size() / slots);
  for (std::size_t i = 0; i < remembered.size() % slots; ++i) ++quota[by_held[i]];
  return quota;
}

}  // namespace

std::vector<Slot> plan_with_fewest_moves(std::span<const Slot> remembered, std::uint32_t slots) {
  std::vector<std::size_t> room = quotas(remembered, slots);
  std::vector<Slot> plan(remembered.size(), kNoSlot);
  for (std::size_t i = 0; i < remembered.size(); ++i) {
    if (remembered[i] < slots && room[remembered[i]] > 0) {
      plan[i] = remembered[i];
      --room[remembered[i]];
    }
  }
  // Around the slots, so that the partitions of one topic are spread as well as their number.
  Slot slot = 0;
  for (Slot& planned : plan) {
    if (planned != kNoSlot) continue;
    while (room[slot] == 0) slot = (slot + 1) % slots;
    planned = slot;
    --room[slot];
    slot = (slot + 1) % slots;
  }
  return plan;
}

Slot emptiest(std::span<const SlotLoad> loads) {
  const auto best = std::min_element(
      loads.begin(), loads.end(),
      [](const SlotLoad& a, const SlotLoad& b) { return a.partitions < b.partitions; });
  return best == loads.end() ? kNoSlot : best->slot;
}

}  // namespace sluice::slicer
