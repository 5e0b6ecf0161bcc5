// A partition, as everything inside one job names it: a number of the job's topic table and Kafka's
// partition number. Names travel once, in the topic table. Beside it the two numbers that go with a
// partition everywhere: the slot of the worker that owns it, and its lane.
#pragma once

#include <compare>
#include <cstdint>

namespace sluice::slicer {

struct TopicPartition {
  std::uint16_t topic = 0;
  std::int32_t partition = 0;

  auto operator<=>(const TopicPartition&) const = default;
};

/// A worker slot's number, and what stands for "none" (a partition that no slot owns yet).
using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = 0xffff'ffff;

/// Lanes come with partition expansion (expansion.md E2); until then every partition has lane 0.
inline constexpr std::uint16_t kOnlyLane = 0;

}  // namespace sluice::slicer
