// Which slot has which partition (slicer.md A1, A2), and balance as arithmetic.
#include <catch2/catch.hpp>
#include <map>
#include <set>

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

namespace {

SlicerOptions with_standby(std::uint32_t tasks, std::uint32_t standby) {
  SlicerOptions options;
  options.slots = tasks;
  options.standby = standby;
  options.slice_records_max = 10;
  options.credit_records = 80;
  return options;
}

std::set<Slot> serving(const SlicerFixture& world, std::int32_t partitions) {
  std::set<Slot> slots;
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    slots.insert(world.owner(partition));
  }
  return slots;
}

}  // namespace

TEST_CASE("a worker that stands by has nothing until another dies, then all that one had (A5)",
          "[slicer]") {
  SlicerFixture world{with_standby(2, 1)};
  world.found(6, 100);
  for (Slot slot = 0; slot < 3; ++slot) world.ready(slot);
  CHECK(serving(world, 6) == std::set<Slot>{0, 1});
  world.lose(0, {});
  CHECK(serving(world, 6) == std::set<Slot>{1, 2});
  for (std::int32_t partition = 0; partition < 6; ++partition) {
    CHECK(world.owner(partition) == (partition % 2 == 0 ? 2U : 1U));
  }
  // The one that comes back stands by now, also when balance is looked at again.
  world.ready(0);
  world.advance(600'000);
  CHECK(serving(world, 6) == std::set<Slot>{1, 2});
}

TEST_CASE("a suspect goes to a worker that stands by, its neighbours do not follow it (F1, A5)",
          "[slicer]") {
  SlicerFixture world{with_standby(2, 1)};
  world.found(4, 10);
  for (Slot slot = 0; slot < 3; ++slot) world.ready(slot);
  const auto suspect = world.in_ring(0);
  world.crash(0, suspect.slice_id);
  CHECK(world.owner(suspect.partition) == 2);
  REQUIRE(world.in_flight(2) == 1);
  CHECK((world.in_ring(2).flags & ipc::kAlone) != 0);
  for (std::int32_t partition = 0; partition < 4; ++partition) {
    if (partition != suspect.partition) CHECK(world.owner(partition) == 1);
  }
}

namespace {

SlicerOptions any_worker(std::uint32_t slots) {
  SlicerOptions options;
  options.slots = slots;
  options.assignment = Assignment::Any;
  options.slice_records_max = 100;
  options.credit_records = 800;
  return options;
}

}  // namespace

TEST_CASE("with any, all workers run slices of one partition at a time (A4)", "[slicer]") {
  SlicerFixture world{any_worker(4)};
  world.found(1, 1'000);
  for (Slot slot = 0; slot < 4; ++slot) world.ready(slot);
  std::set<std::int64_t> starts;
  for (Slot slot = 0; slot < 4; ++slot) {
    REQUIRE(world.in_flight(slot) == 2);  // one runs, one waits
    for (std::size_t i = 0; i < 2; ++i) starts.insert(world.in_ring(slot, i).start);
  }
  CHECK(starts.size() == 8);
  // Settled out of turn: the frontier waits for the first.
  const Slot first = world.in_ring(0).start == 0 ? 0 : world.in_ring(1).start == 0 ? 1 : 2;
  for (Slot slot = 0; slot < 4; ++slot) {
    if (slot != first) world.complete(slot);
  }
  CHECK(world.status(0).frontier == 0);
  world.complete_all();
  CHECK(world.status(0).frontier == 1'000);
}

TEST_CASE("with any, a dead worker's slices go to whoever is idle, the others go on (A4)",
          "[slicer]") {
  SlicerFixture world{any_worker(2)};
  world.found(1, 400);
  world.ready(0);
  world.ready(1);
  const auto lost = world.in_ring(0);
  const auto kept = world.in_ring(1);
  world.lose(0, {});
  CHECK(world.in_ring(1).slice_id == kept.slice_id);
  world.complete_all();
  CHECK(world.status(0).frontier == 400);
  CHECK(lost.fence != kept.fence);
}

TEST_CASE("with any, a slice that fails is tried again and stops no other (A4)", "[slicer]") {
  SlicerFixture world{any_worker(2)};
  world.found(2, 200);
  world.ready(0);
  world.ready(1);
  const auto failed = world.in_ring(0);
  world.fail(0);
  CHECK(world.in_flight(1) == 2);
  world.advance(60'000);
  world.complete_all();
  CHECK(world.status(0).frontier == 200);
  CHECK(world.status(1).frontier == 200);
  CHECK(world.slicer().counts().charged == 1);
  CHECK(failed.attempt == 1);
}

TEST_CASE("with any, a worker that has nothing more of a partition stops reading it (A4)",
          "[slicer]") {
  SlicerFixture world{any_worker(1)};
  world.found(1, 100);
  world.ready(0);
  const auto fence = world.in_ring(0).fence;
  world.complete(0);
  REQUIRE(world.revokes.size() == 1);
  CHECK(world.revokes[0].fence == fence);
  world.sampled(0, 200);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).fence > fence);
}

TEST_CASE("with any, a worker goes on in the partition it reads, but not for ever (A4)",
          "[slicer]") {
  SlicerFixture world{any_worker(1)};
  world.found(3, 2'000);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 2);
  const auto first = world.in_ring(0, 0);
  const auto second = world.in_ring(0, 1);
  world.complete(0);
  REQUIRE(world.in_flight(0) == 2);
  CHECK(world.in_ring(0, 1).partition == first.partition);
  CHECK(world.in_ring(0, 1).start == first.end);
  CHECK(world.revokes.empty());  // what it has read ahead is what it needs
  int completed = 1;
  const auto third_has_its_turn = [&] {
    const auto partition = world.in_ring(0, 1).partition;
    return partition != first.partition && partition != second.partition;
  };
  for (; completed < 100 && !third_has_its_turn(); ++completed) world.complete(0);
  CHECK(completed == 9);
  CHECK(world.revokes.size() == 1);
  world.complete_all();
  for (std::int32_t partition = 0; partition < 3; ++partition) {
    CHECK(world.status(partition).frontier == 2'000);
  }
}

}  // namespace sluice::slicer
