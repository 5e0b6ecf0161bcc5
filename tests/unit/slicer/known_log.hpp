// A slicer that has read a log of which every record has a fingerprint, for tests of what becomes
// of it when that log is another one (slicer.md F5).
#pragma once

#include <catch2/catch.hpp>

#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {

/// Read up to 100 in slices of ten; every record holds 1. Then the host has looked.
inline SlicerFixture read_to_100(SlicerOptions options = {}, std::int32_t partitions = 1) {
  options.slice_records_max = 10;
  SlicerFixture world{options};
  world.content = 1;
  world.found(partitions, 100);
  world.all_ready();
  world.complete_all();
  world.advance(50);
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    world.sampled(partition, 100);
  }
  return world;
}

/// The newest record is asked about and is the same: work goes on, with nothing on record.
inline void check_goes_on(SlicerFixture& world) {
  REQUIRE(world.asks_for(0, 99));
  world.complete(0);
  CHECK(world.in_ring(0).start == 100);
  CHECK(world.stored.gaps.empty());
}

/// What the worker is asked about records, as long as that is what it is asked.
inline void answer_all_questions(SlicerFixture& world, Slot slot) {
  while (world.in_flight(slot) > 0 && (world.in_ring(slot).flags & ipc::kCompare) != 0) {
    world.complete(slot);
  }
}

/// Two looks of the host, five seconds apart.
inline void host_finds_end(SlicerFixture& world, std::int64_t end) {
  world.sampled(0, end);
  world.advance(5'000);
  world.sampled(0, end);
}

inline void host_finds_low(SlicerFixture& world, std::int32_t partition, std::int64_t low,
                           std::int64_t end) {
  world.slicer().low_observed({0, partition}, low, end, world.now);
  world.step();
}

}  // namespace sluice::slicer
