// Deaths and hangs: who is suspected, who is charged, what else they cost (slicer.md F1, F2, A2).
#include <catch2/catch.hpp>
#include <set>

#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions workers(std::uint32_t slots, OnFailure on_failure = OnFailure::Halt) {
  SlicerOptions options;
  options.slots = slots;
  options.slice_records_max = 100;
  options.credit_records = 800;
  options.on_failure = on_failure;
  return options;
}

Accusation killed(std::uint64_t slice_id) {
  Accusation accusation;
  accusation.cause = LossCause::Killed;
  accusation.slice_id = slice_id;
  accusation.phase = ipc::Phase::Put;
  accusation.text = "SIGKILL, not from us";
  return accusation;
}

std::set<std::int32_t> partitions_in(const SlicerFixture& world, Slot slot) {
  std::set<std::int32_t> found;
  for (std::size_t i = 0; i < world.in_flight(slot); ++i) {
    found.insert(world.in_ring(slot, i).partition);
  }
  return found;
}

}  // namespace

TEST_CASE("a reaped worker's slices run again with the same attempt, in order, elsewhere (A2)",
          "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(2, 300);
  world.all_ready();
  const Slot other = world.owner(0) == 0 ? 1 : 0;
  const Slot dead = 1 - other;
  world.complete_all();
  world.sampled(0, 600);
  REQUIRE(world.in_flight(dead) == 3);
  world.lose(dead, killed(0));
  CHECK(world.owner(0) == other);
  REQUIRE(world.in_flight(other) == 3);
  CHECK(world.in_ring(other).start == 300);
  CHECK(world.in_ring(other).attempt == 1);
  CHECK(world.in_ring(other, 2).end == 600);
  CHECK(world.slicer().counts().redelivered == 3);
}

TEST_CASE("the first crash makes a suspect and charges nobody (F1)", "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(4, 100);
  world.all_ready();
  REQUIRE(world.in_flight(0) == 2);
  const auto suspect = world.in_ring(0, 1);
  world.crash(0, suspect.slice_id);
  CHECK(world.slicer().counts().charged == 0);
  CHECK(world.noticed(Notice::Kind::Suspected));
  // Its neighbour has moved, the suspect's partition waits for its own slot.
  CHECK(world.owner(suspect.partition) == 0);
  CHECK(world.status(suspect.partition).wait == WaitReason::Suspect);
  CHECK(partitions_in(world, 1).size() == 3);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).slice_id == suspect.slice_id);
  CHECK(world.in_ring(0).attempt == 1);
  CHECK((world.in_ring(0).flags & ipc::kAlone) != 0);
}

TEST_CASE("a suspect that dies alone is charged, and used up it halts its partition", "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(2, 100);
  world.all_ready();
  const auto id = world.in_ring(0).slice_id;
  world.crash(0, id);
  for (std::uint32_t attempt = 1; attempt <= 4; ++attempt) {
    world.ready(0);
    world.advance(60'000);
    REQUIRE(world.in_flight(0) == 1);
    CHECK(world.in_ring(0).attempt == attempt);
    world.crash(0, id);
  }
  REQUIRE(world.halted.size() == 1);
  CHECK(world.halted[0].slice_id == id);
  CHECK(world.halted[0].error.stage == "CRASH");
  CHECK(world.slicer().counts().charged == 4);
}

TEST_CASE("a slice that halts by its crashes names the plugin that crashed", "[slicer]") {
  auto options = workers(1);
  options.attempts_max = 1;
  SlicerFixture world{options};
  world.found(1, 100);
  world.all_ready();
  Accusation accusation = killed(world.in_ring(0).slice_id);
  accusation.cause = LossCause::Crash;
  accusation.blame = Blame::Record;
  accusation.phase = ipc::Phase::Process;
  accusation.plugin = "big";
  for (int death = 0; death < 2; ++death) {
    world.lose(0, accusation);
    world.ready(0);
    world.advance(60'000);
  }
  REQUIRE(world.halted.size() == 1);
  CHECK(world.halted[0].error.plugin == "big");
}

TEST_CASE("under park a poison slice is set aside and its partition goes on (B15)", "[slicer]") {
  SlicerFixture world{workers(1, OnFailure::Park)};
  world.found(1, 300);
  world.all_ready();
  const auto id = world.in_ring(0, 1).slice_id;
  for (int deaths = 0; deaths < 5; ++deaths) {
    while (world.in_ring(0).slice_id != id) world.complete(0);
    world.crash(0, id);
    world.ready(0);
    world.advance(60'000);
  }
  world.complete_all();
  CHECK(world.status(0).frontier == 300);
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].start == 100);
  CHECK(world.stored.gaps[0].end == 200);
}

TEST_CASE("a suspect that completes alone is a suspect no more", "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(2, 200);
  world.all_ready();
  world.crash(0, world.in_ring(0).slice_id);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 1);
  world.complete(0);
  CHECK(world.in_flight(0) == 3);  // everybody else, at once
  CHECK((world.in_ring(0).flags & ipc::kAlone) == 0);
  CHECK(world.slicer().counts().charged == 0);
}

TEST_CASE("a suspect runs with nothing else in its worker, whatever else waits", "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(4, 100);
  world.all_ready();
  const auto id = world.in_ring(0, 2).slice_id;
  world.crash(0, id);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).slice_id == id);
  world.complete(0);
  CHECK(world.in_flight(0) == 3);
}

TEST_CASE("a crash in FLUSH accuses the whole group, and nothing published after it (F1)",
          "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(4, 100);
  world.all_ready();
  const auto last = world.in_ring(0, 2);
  const auto outside = world.in_ring(0, 3);
  world.crash(0, last.slice_id, ipc::Phase::Flush);
  std::set<std::uint64_t> suspects;
  for (const auto& notice : world.notices) {
    if (notice.kind == Notice::Kind::Suspected) suspects.insert(notice.slice_id);
  }
  CHECK(suspects.size() == 3);
  CHECK(suspects.count(outside.slice_id) == 0);
  world.ready(0);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(world.in_flight(0) == 1);
    CHECK((world.in_ring(0).flags & ipc::kAlone) != 0);
    world.complete(0);
  }
  CHECK(world.in_ring(0).slice_id == outside.slice_id);
}

TEST_CASE("an accusation of a slice that is not in flight there accuses nobody (F1)", "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(1, 300);
  world.all_ready();
  const auto id = world.in_ring(0).slice_id;
  world.complete(0);
  world.crash(0, id);
  world.ready(0);
  CHECK(world.in_flight(0) == 2);
  CHECK_FALSE(world.noticed(Notice::Kind::Suspected));
}

TEST_CASE("earlier slices of a suspect's partition run before it, alone as well", "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(1, 300);
  world.all_ready();
  const auto second = world.in_ring(0, 1).slice_id;
  world.crash(0, second);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 0);
  world.complete(0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).slice_id == second);
}

TEST_CASE("deaths by the environment move partitions and charge nobody (F2)", "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(2, 100);
  world.all_ready();
  const auto slice = world.in_ring(0);
  world.lose(0, killed(slice.slice_id));
  CHECK(world.owner(slice.partition) == 1);
  CHECK(world.slicer().counts().charged == 0);
  CHECK_FALSE(world.noticed(Notice::Kind::Suspected));
}

TEST_CASE("slice.attempts.max such deaths in a row with one slice in hand halt it, never park",
          "[slicer]") {
  SlicerFixture world{workers(1, OnFailure::Park)};
  world.found(1, 100);
  world.all_ready();
  const auto id = world.in_ring(0).slice_id;
  for (int i = 0; i < 4; ++i) {
    CHECK(world.halted.empty());
    REQUIRE(world.in_flight(0) == 1);
    world.lose(0, killed(id));
    world.ready(0);
  }
  REQUIRE(world.halted.size() == 1);
  CHECK(world.halted[0].error.stage == "WORKER");
  CHECK(world.stored.gaps.empty());
}

TEST_CASE("200 workers killed one after the other cost nobody an attempt (B15)", "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(4, 100'000);
  world.all_ready();
  for (int i = 0; i < 200; ++i) {
    const Slot slot = static_cast<Slot>(i % 2);
    if (world.in_flight(slot) > 0) world.complete(slot);
    world.lose(slot, killed(0));
    world.ready(slot);
  }
  CHECK(world.slicer().counts().charged == 0);
  CHECK(world.halted.empty());
  CHECK(world.slicer().counts().redelivered > 0);
}

TEST_CASE("without another worker partitions stay with their slot", "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(3, 100);
  world.all_ready();
  world.lose(0, killed(0));
  CHECK(world.slicer().counts().moves == 0);
  world.ready(0);
  CHECK(world.in_flight(0) == 3);
}

TEST_CASE("a slot that found nobody up gives its partitions away when it stays down for 1 s",
          "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(2, 100);
  world.all_ready();
  world.lose(0, killed(0));
  world.lose(1, killed(0));
  world.ready(0);
  CHECK(world.in_flight(0) == 0);  // slot 1, which had both by then, may come back as quickly
  world.advance(999);
  CHECK(world.in_flight(0) == 0);
  world.advance(1);
  CHECK(world.in_flight(0) == 2);
}

}  // namespace sluice::slicer
