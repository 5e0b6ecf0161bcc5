#include <catch2/catch.hpp>

#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions small() {
  SlicerOptions options;
  options.slice_records_max = 100;
  options.credit_records = 400;
  return options;
}

}  // namespace

TEST_CASE("under lag slices are full, contiguous and in order (C1)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 350);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 4);
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto& command = world.in_ring(0, static_cast<std::size_t>(i));
    CHECK(command.start == i * 100);
    CHECK(command.end == std::min<std::int64_t>(350, (i + 1) * 100));
    CHECK(command.attempt == 1);
    CHECK(command.lane == kOnlyLane);
  }
}

TEST_CASE("a worker never holds more records than its credit (C1)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 10'000);
  world.ready(0);
  CHECK(world.in_flight(0) == 4);
  world.complete(0);
  CHECK(world.in_flight(0) == 4);
  CHECK(world.in_ring(0, 3).start == 400);
}

TEST_CASE("a worker never holds more slices than its credit (C1)", "[slicer]") {
  SlicerOptions options = small();
  options.slice_records_max = 1;
  options.credit_slices = 3;
  SlicerFixture world{options};
  world.found(1, 100);
  world.ready(0);
  CHECK(world.in_flight(0) == 3);
}

TEST_CASE("at the tail a slice holds what has arrived, and nothing waits for it to fill (C1)",
          "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 0);
  world.ready(0);
  world.produce(0, 1);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).end == 1);
  world.produce(0, 8);
  CHECK(world.in_ring(0, 1).start == 1);
  CHECK(world.in_ring(0, 1).end == 8);
}

TEST_CASE("partitions of one worker are served in turn", "[slicer]") {
  SlicerFixture world{small()};
  world.found(2, 10'000);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 4);
  CHECK(world.in_ring(0, 0).partition != world.in_ring(0, 1).partition);
  CHECK(world.in_ring(0, 0).partition == world.in_ring(0, 2).partition);
}

TEST_CASE("slice.max.bytes bounds a slice by what records have weighed so far (C1)", "[slicer]") {
  SlicerOptions options = small();
  options.slice_bytes_max = 1'000;  // the fixture's records weigh 100 bytes
  SlicerFixture world{options};
  world.found(1, 10'000);
  world.ready(0);
  world.complete(0);
  REQUIRE(world.in_flight(0) >= 4);
  const auto& command = world.in_ring(0, 3);
  CHECK(command.start == 400);
  CHECK(command.end == 410);
}

TEST_CASE("no slice is published before its partition's start position is durable (S2)",
          "[slicer]") {
  SlicerFixture world{small()};
  world.persist_at_once = false;
  world.found(1, 100);
  world.ready(0);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).wait == WaitReason::NotDurable);
  world.persist();
  CHECK(world.in_flight(0) == 1);
}

TEST_CASE("nothing is published to a slot without a running worker", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 100);
  CHECK(world.actions.commands.empty());
  CHECK(world.status(0).wait == WaitReason::NoWorker);
  world.ready(0);
  CHECK(world.in_flight(0) == 1);
}

TEST_CASE("above slices.per.second.max the time between cuts grows and slices with it (C1)",
          "[slicer]") {
  SlicerOptions options = small();
  options.slices_per_second_max = 100;
  SlicerFixture world{options};
  world.found(1, 0);
  world.ready(0);
  std::size_t published = 0;
  std::int64_t end = 0;
  for (int ms = 0; ms < 1'000; ++ms) {
    world.produce(0, ++end);  // a record each ms, 10 times what may be cut
    world.advance(1);
    while (world.in_flight(0) > 0) {
      world.complete(0);
      ++published;
    }
  }
  CHECK(published <= 102);
  CHECK(published >= 95);
  CHECK(world.status(0).frontier >= 985);
}

TEST_CASE("one partition with news is not starved by others when the rate is limited", "[slicer]") {
  SlicerOptions options = small();
  options.slices_per_second_max = 10;
  options.slice_records_max = 1;
  options.credit_records = 8;
  SlicerFixture world{options};
  world.found(4, 1'000);
  world.ready(0);
  for (int i = 0; i < 40; ++i) {
    world.advance(100);
    while (world.in_flight(0) > 0) world.complete(0);
  }
  for (std::int32_t partition = 0; partition < 4; ++partition) {
    CHECK(world.status(partition).frontier >= 9);
  }
}

TEST_CASE("a paused slicer publishes nothing more, sees its lag grow, and goes on where it stood",
          "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 1'000);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 4);
  world.slicer().pause();
  world.complete_all();
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).frontier == 400);
  CHECK(world.status(0).wait == WaitReason::Paused);
  world.sampled(0, 2'000);
  CHECK(world.status(0).lag == 1'600);
  world.slicer().resume(world.now);
  world.step();
  REQUIRE(world.in_flight(0) == 4);
  CHECK(world.in_ring(0).start == 400);
}

}  // namespace sluice::slicer
