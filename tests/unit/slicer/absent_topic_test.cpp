// Topics that vanish and come back while a job runs (slicer.md F5).
#include <catch2/catch.hpp>

#include "unit/slicer/known_log.hpp"

namespace sluice::slicer {

TEST_CASE("a topic that is absent: its partitions wait, the others go on, nothing fails",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.slicer().add_topic(1, "bills", 1);
  FoundPartition bills;
  bills.tp = {1, 0};
  bills.end = 5;
  world.found_one(bills);
  world.slicer().topic_absent(0);
  world.step();
  world.asked_ends.clear();
  world.advance(10'000);
  CHECK(world.status(0).wait == WaitReason::Absent);
  for (const auto tp : world.asked_ends) CHECK(tp.topic == 1);
  CHECK(world.in_ring(0).topic == 1);
  CHECK(world.halted.empty());
}

TEST_CASE("what is in flight of an absent topic is asked back", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.produce(0, 110);
  REQUIRE(world.in_flight(0) == 1);
  world.slicer().topic_absent(0);
  world.slicer().topic_absent(0);
  world.step();
  CHECK(world.revokes.size() == 1);
  world.return_all(0);
  world.advance(1'000);
  CHECK(world.in_flight(0) == 0);
}

TEST_CASE("a topic that was absent and has the same records goes on where it was", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.slicer().topic_absent(0);
  world.slicer().topic_present(0, 1, world.now);
  world.step();
  world.sampled(0, 110);
  check_goes_on(world);
}

TEST_CASE("a topic that was absent and has other records, more or fewer, begins anew", "[slicer]") {
  const std::int64_t end = GENERATE(0, 50, 300);
  SlicerFixture world = read_to_100();
  world.slicer().topic_absent(0);
  world.content = 2;
  world.slicer().topic_present(0, 1, world.now);
  world.step();
  world.sampled(0, end);
  while (world.in_flight(0) > 0) world.complete(0);
  REQUIRE(world.status(0).wait == WaitReason::Recreated);
  host_finds_low(world, 0, 0, end);
  world.complete_all();
  CHECK(world.status(0).frontier == end);
  CHECK(world.stored.partitions.at({"orders", 0}).topic_incarnation == 2);
}

TEST_CASE("a host that dies while a topic is absent: the next one compares before all else",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.slicer().topic_absent(0);
  world.step();
  world.content = GENERATE(1, 2);
  world.restart_host(100);  // as many records as before: there is nothing to read
  world.ready(0);
  REQUIRE(world.asks_for(0, 99));
  while (world.in_flight(0) > 0) world.complete(0);
  CHECK((world.status(0).wait == WaitReason::Recreated) == (world.content == 2));
  if (world.content == 2) return;
  world.restart_host(100);
  world.ready(0);
  CHECK(world.in_flight(0) == 0);
}

TEST_CASE("a topic that was absent at first is compared like one that vanished", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(20, Doubt::WasAbsent);
  world.ready(0);
  REQUIRE(world.asks_for(0, 9));
  world.holes = {9};
  while (world.in_flight(0) > 0) world.complete(0);
  CHECK(world.status(0).wait == WaitReason::Recreated);
}

TEST_CASE("fewer partitions: recreated, and those that are gone wait until they are there again",
          "[slicer]") {
  SlicerFixture world = read_to_100({}, 3);
  world.slicer().topic_present(0, 2, world.now);
  world.step();
  CHECK(world.status(0).wait == WaitReason::Recreated);
  CHECK(world.status(2).wait == WaitReason::Absent);
  host_finds_low(world, 0, 0, 10);
  host_finds_low(world, 1, 0, 10);
  world.complete_all();
  CHECK(world.status(1).frontier == 10);
  world.asked_lows.clear();
  world.slicer().topic_present(0, 3, world.now);
  world.step();
  REQUIRE(world.asked_lows.size() == 1);
  host_finds_low(world, 2, 0, 7);
  world.complete_all();
  CHECK(world.status(2).frontier == 7);
  CHECK(world.stored.partitions.at({"orders", 2}).topic_incarnation == 2);
}

}  // namespace sluice::slicer
