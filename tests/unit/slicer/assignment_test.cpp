// Which slot has which partition (slicer.md A1, A2), and balance as arithmetic.
#include <catch2/catch.hpp>
#include <map>

#include "host/base/random.hpp"
#include "host/slicer/balance.hpp"
#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions workers(std::uint32_t slots) {
  SlicerOptions options;
  options.slots = slots;
  options.slice_records_max = 100;
  options.credit_records = 800;
  return options;
}

std::map<Slot, int> loads(const SlicerFixture& world, std::int32_t partitions) {
  std::map<Slot, int> count;
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    ++count[world.owner(partition)];
  }
  return count;
}

std::vector<Slot> owners(const SlicerFixture& world, std::int32_t partitions) {
  std::vector<Slot> all;
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    all.push_back(world.owner(partition));
  }
  return all;
}

std::size_t moved(const std::vector<Slot>& before, const std::vector<Slot>& after) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) count += before[i] != after[i] ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a plan is balanced within one and moves no more than it must", "[slicer]") {
  Random random{3};
  for (int round = 0; round < 500; ++round) {
    const auto slots = static_cast<std::uint32_t>(1 + random.below(6));
    std::vector<Slot> remembered(random.below(30));
    for (Slot& slot : remembered) {
      slot = random.once_in(4) ? kNoSlot : static_cast<Slot>(random.below(slots + 2));
    }
    const auto plan = plan_with_fewest_moves(remembered, slots);
    std::vector<std::size_t> held(slots, 0);
    std::vector<std::size_t> had(slots, 0);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      REQUIRE(plan[i] < slots);
      ++held[plan[i]];
      if (remembered[i] < slots) ++had[remembered[i]];
      kept += plan[i] == remembered[i] ? 1 : 0;
    }
    const std::size_t floor = plan.size() / slots;
    std::size_t extra = plan.size() % slots;
    std::size_t can_keep = 0;
    for (Slot slot = 0; slot < slots; ++slot) {
      CHECK(held[slot] >= floor);
      CHECK(held[slot] <= floor + 1);
      can_keep += std::min(had[slot], floor);
      if (had[slot] > floor && extra > 0) {
        ++can_keep;
        --extra;
      }
    }
    CHECK(kept == can_keep);
  }
}

TEST_CASE("partitions are spread evenly, and stay: 10,000 slices, one worker each (A9)",
          "[slicer]") {
  SlicerFixture world{workers(3)};
  world.found(7, 0);
  world.all_ready();
  const auto before = owners(world, 7);
  for (const auto& [slot, count] : loads(world, 7)) CHECK((count == 2 || count == 3));
  for (std::int64_t end = 1; end <= 1'500; ++end) {
    world.advance(1);
    for (std::int32_t partition = 0; partition < 7; ++partition) world.produce(partition, end);
    world.complete_all();
  }
  CHECK(owners(world, 7) == before);
  CHECK(world.slicer().counts().moves == 0);
  CHECK(world.slicer().counts().completed == 7U * 1'500U);
}

TEST_CASE("a loss moves only the dead worker's partitions, once (A8)", "[slicer]") {
  SlicerFixture world{workers(4)};
  world.found(8, 100);
  world.all_ready();
  const auto before = owners(world, 8);
  world.lose(2, {});
  const auto after = owners(world, 8);
  CHECK(moved(before, after) == 2);
  CHECK(world.slicer().counts().moves == 2);
  CHECK(loads(world, 8)[2] == 0);
  CHECK(world.revokes.empty());
}

TEST_CASE("balance is restored after the delay, one partition per delay, the old ones first (A2)",
          "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(8, 0);
  world.all_ready();
  const auto before = owners(world, 8);
  world.lose(1, {});
  world.ready(1);
  CHECK(loads(world, 8)[1] == 0);
  world.advance(59'999);
  CHECK(loads(world, 8)[1] == 0);
  for (int expected = 1; expected <= 4; ++expected) {
    world.advance(expected == 1 ? 1 : 60'000);
    CHECK(loads(world, 8)[1] == expected);
  }
  world.advance(600'000);
  CHECK(owners(world, 8) == before);
}

TEST_CASE("a slot in a crash loop gets nothing back", "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(8, 0);
  world.all_ready();
  for (int i = 0; i < 20; ++i) {
    world.lose(1, {});
    world.advance(10'000);
    world.ready(1);
    world.advance(20'000);
    CHECK(loads(world, 8)[1] == 0);
  }
}

TEST_CASE("a running partition is moved at a batch boundary: revoked, returned, then published",
          "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(2, 10'000);
  world.ready(0);
  world.slicer().set_slots(2, world.now);
  world.ready(1);
  REQUIRE(world.revokes.size() == 1);
  const std::int32_t moving = world.revokes[0].partition;
  CHECK(world.owner(moving) == 0);
  CHECK(world.in_flight(1) == 0);
  std::int64_t reached = 0;
  bool first = true;
  for (std::size_t i = 0; i < world.in_flight(0);) {
    if (world.in_ring(0, i).partition != moving) {
      ++i;
      continue;
    }
    ipc::Report report = world.answer(0, i, ipc::ReportKind::Released);
    if (first) report.next_offset += 30;
    if (first) reached = report.next_offset;
    first = false;
    world.send(0, report);
  }
  CHECK(world.owner(moving) == 1);
  REQUIRE(world.in_flight(1) == 8);
  CHECK(world.in_ring(1).start == reached);
  CHECK(world.in_ring(1).fence > world.revokes[0].fence);
  CHECK(world.in_ring(1).attempt == 1);
}

TEST_CASE("more workers move the fewest partitions, fewer give back only theirs (A1)", "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(12, 0);
  world.all_ready();
  const auto two = owners(world, 12);
  world.slicer().set_slots(3, world.now);
  world.ready(2);
  const auto three = owners(world, 12);
  CHECK(moved(two, three) == 4);
  CHECK(loads(world, 12)[2] == 4);
  world.slicer().set_slots(2, world.now);
  world.step();
  const auto again = owners(world, 12);
  CHECK(moved(three, again) == 4);
  CHECK(loads(world, 12)[0] == 6);
  CHECK(loads(world, 12)[1] == 6);
}

TEST_CASE("a partition found later goes to the emptiest slot and disturbs no other (B03)",
          "[slicer]") {
  SlicerFixture world{workers(2)};
  world.found(3, 0);
  world.all_ready();
  const auto before = owners(world, 3);
  FoundPartition found;
  found.tp = {0, 3};
  found.end = 5;
  world.found_one(found);
  CHECK(owners(world, 3) == before);
  CHECK(loads(world, 4)[0] == 2);
  CHECK(loads(world, 4)[1] == 2);
  REQUIRE(world.in_flight(world.owner(3)) == 1);
  CHECK(world.in_ring(world.owner(3)).start == 0);
}

TEST_CASE("a target that dies during a move costs the partition nothing", "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(2, 10'000);
  world.ready(0);
  world.slicer().set_slots(2, world.now);
  world.ready(1);
  const std::int32_t moving = world.revokes.at(0).partition;
  const auto fence = world.revokes.at(0).fence;
  world.lose(1, {});
  world.return_all(0);
  CHECK(world.owner(moving) == 0);
  world.sampled(moving, 10'000);
  REQUIRE(world.in_flight(0) > 0);
  CHECK(world.in_ring(0).fence > fence);  // at or below it the worker would return everything
}

TEST_CASE("a partition whose move loses both its workers goes on with the first that is back",
          "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(4, 10'000);
  world.ready(0);
  world.slicer().set_slots(2, world.now);
  world.ready(1);
  REQUIRE(world.revokes.size() == 2);
  world.lose(1, {});
  world.lose(0, {});
  world.ready(0);
  for (std::int32_t partition = 0; partition < 4; ++partition) {
    CHECK(world.owner(partition) == 0);
    CHECK(world.status(partition).wait != WaitReason::Moving);
  }
}

TEST_CASE("a source that dies during a move hands over at once", "[slicer]") {
  SlicerFixture world{workers(1)};
  world.found(2, 300);
  world.ready(0);
  world.slicer().set_slots(2, world.now);
  world.ready(1);
  const std::int32_t moving = world.revokes.at(0).partition;
  world.lose(0, {});
  CHECK(world.owner(moving) == 1);
  CHECK(world.in_flight(1) > 0);
}

}  // namespace sluice::slicer
