// slicer.assignment = linear (slicer.md A3): the arithmetic, and who stands in for a lost worker.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "host/base/random.hpp"
#include "host/slicer/linear_hashing.hpp"
#include "unit/slicer/fixture.hpp"
#include "unit/slicer/known_log.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions linear(std::uint32_t slots, std::uint32_t standby = 0) {
  SlicerOptions options;
  options.slots = slots;
  options.standby = standby;
  options.assignment = Assignment::Linear;
  options.slice_records_max = 10;
  options.credit_records = 80;
  return options;
}

std::vector<Slot> owners(const SlicerFixture& world, std::int32_t partitions) {
  std::vector<Slot> all;
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    all.push_back(world.owner(partition));
  }
  return all;
}

/// Partitions count .. count + more - 1 appear: the topic has grown.
void grow(SlicerFixture& world, std::int32_t count, std::int32_t more) {
  for (std::int32_t partition = count; partition < count + more; ++partition) {
    FoundPartition found;
    found.tp = {0, partition};
    found.end = 0;
    world.found_one(std::move(found));
  }
}

void require_families(const SlicerFixture& world, std::int32_t partitions, std::int32_t first) {
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    CAPTURE(partition);
    CHECK(world.owner(partition) == world.owner(partition % first));
  }
}

}  // namespace

TEST_CASE("one worker more takes values of one other worker, and only that moves (A3)",
          "[slicer]") {
  for (std::uint32_t first = 1; first <= 24; ++first) {
    for (std::uint32_t workers = 1; workers <= 60; ++workers) {
      std::set<std::uint32_t> givers;
      for (std::uint32_t value = 0; value < 300; ++value) {
        const auto before = linear_worker(value, first, workers);
        const auto after = linear_worker(value, first, workers + 1);
        REQUIRE(before < workers);
        REQUIRE(after < workers + 1);
        if (before == after) continue;
        givers.insert(before);
        CHECK(after == workers);
      }
      CAPTURE(first, workers);
      CHECK(givers.size() == 1);
    }
  }
}

TEST_CASE("with as many workers as the hashing began with a value's worker is its remainder (A3)",
          "[slicer]") {
  for (std::uint32_t value = 0; value < 100; ++value) {
    CHECK(linear_worker(value, 12, 12) == value % 12);
    CHECK(linear_worker(value, 12, 24) == value % 24);
    CHECK(linear_worker(value, 5, 40) == value % 40);
  }
  // 10 to 15 workers: 0 to 4 are split, 5 to 9 keep all that they have.
  for (std::uint32_t value = 0; value < 100; ++value) {
    const auto expected = value % 10 < 5 ? value % 20 : value % 10;
    CHECK(linear_worker(value, 10, 15) == expected);
  }
}

TEST_CASE("as many workers as partitions: partition 12 is with worker 12 (A3)", "[slicer]") {
  SlicerFixture world{linear(15)};
  world.found(15, 0);
  for (std::int32_t partition = 0; partition < 15; ++partition) {
    CHECK(world.owner(partition) == static_cast<Slot>(partition));
  }
}

TEST_CASE("a topic that grows: a new partition is with its ancestor, no old one moves (A3)",
          "[slicer]") {
  SlicerFixture world{linear(3)};
  world.found(4, 0);
  world.all_ready();
  const auto before = owners(world, 4);
  grow(world, 4, 9);
  require_families(world, 13, 4);
  CHECK(owners(world, 4) == before);
  CHECK(world.slicer().counts().moves == 0);
}

TEST_CASE("one worker more takes its part at once, one fewer gives back only its own (A3)",
          "[slicer]") {
  SlicerFixture world{linear(3)};
  world.found(12, 0);
  world.all_ready();
  const auto three = owners(world, 12);
  world.slicer().set_slots(4, world.now);
  world.ready(3);
  for (std::int32_t partition = 0; partition < 12; ++partition) {
    const auto now = world.owner(partition);
    CHECK(now == linear_worker(static_cast<std::uint32_t>(partition), 3, 4));
    CHECK((now == three[static_cast<std::size_t>(partition)] || now == 3));
  }
  CHECK(world.slicer().counts().moves == 2);  // 3 and 9 of worker 0
  world.slicer().set_slots(3, world.now);
  world.step();
  CHECK(owners(world, 12) == three);
  CHECK(world.slicer().counts().moves == 4);
}

TEST_CASE("a restart remembers what the hashing began with (A3)", "[slicer]") {
  SlicerFixture world{linear(3)};
  world.found(4, 0);
  world.all_ready();
  grow(world, 4, 6);
  world.options.slots = 5;  // tasks.max was changed while the host was down
  world.restart_host(0);
  for (std::int32_t partition = 0; partition < 10; ++partition) {
    CHECK(world.owner(partition) == linear_worker(static_cast<std::uint32_t>(partition % 4), 3, 5));
  }
}

TEST_CASE("a recreated topic is hashed with its own count, and moves are few (A3, F5)",
          "[slicer]") {
  SlicerFixture world = read_to_100(linear(2), 2);
  grow(world, 2, 2);
  world.complete_all();
  require_families(world, 4, 2);
  REQUIRE(world.owner(3) == 1);
  const std::size_t moved = world.slicer().counts().moves;
  // Three partitions now; of the old topic's four the last is gone.
  world.content = 2;
  world.slicer().topic_present(0, 3, world.now);
  world.step();
  for (Slot slot = 0; slot < 2; ++slot) world.return_all(slot);
  for (std::int32_t partition = 0; partition < 3; ++partition) {
    host_finds_low(world, partition, 0, 20);
  }
  world.complete_all();
  CHECK(world.stored.first_count("orders", 1) == 2);
  CHECK(world.stored.first_count("orders", 2) == 3);
  // 2 is an ancestor of its own; with two workers its home is still 0.
  for (std::int32_t partition = 0; partition < 3; ++partition) {
    CHECK(world.owner(partition) == linear_worker(static_cast<std::uint32_t>(partition), 2, 2));
    CHECK(world.status(partition).frontier == 20);
  }
  CHECK(world.slicer().counts().moves == moved);
  // The new topic grows: 3 comes back with its ancestor 0, 4 is with 1.
  world.slicer().topic_present(0, 5, world.now);
  world.step();
  host_finds_low(world, 3, 0, 20);
  grow(world, 4, 1);
  require_families(world, 5, 3);
  world.complete_all();
  world.restart_host(20);
  require_families(world, 5, 3);
}

TEST_CASE("a partition of a recreated topic goes to its new family, home or not (A3, F5)",
          "[slicer]") {
  SlicerFixture world = read_to_100(linear(3), 2);
  grow(world, 2, 3);
  require_families(world, 5, 2);
  REQUIRE(world.owner(2) == 0);
  world.lose(2, {});  // nothing lives there
  world.slicer().topic_present(0, 4, world.now);
  world.step();
  for (Slot slot = 0; slot < 2; ++slot) world.return_all(slot);
  for (std::int32_t partition = 0; partition < 4; ++partition) {
    host_finds_low(world, partition, 0, 20);
  }
  CHECK(world.owner(2) == 0);  // its new home is not there
  CHECK(world.owner(3) == 0);  // ... 3's is
  world.complete_all();
  world.ready(2);
  world.advance(120'000);
  CHECK(world.owner(2) == 2);
  CHECK(world.owner(3) == 0);
}

TEST_CASE("a lost worker's families move at once, each as a whole, and home one per delay (A2, A3)",
          "[slicer]") {
  SlicerFixture world{linear(3)};
  world.found(6, 0);
  world.all_ready();
  grow(world, 6, 6);
  const auto home = owners(world, 12);
  world.lose(0, {});
  for (std::int32_t partition = 0; partition < 12; ++partition) {
    CHECK(world.owner(partition) != 0);
    if (home[static_cast<std::size_t>(partition)] != 0) {
      CHECK(world.owner(partition) == home[static_cast<std::size_t>(partition)]);
    }
  }
  require_families(world, 12, 6);
  grow(world, 12, 1);  // of family 0, which is away
  require_families(world, 13, 6);
  world.ready(0);
  world.advance(59'999);
  CHECK(world.owner(0) != 0);
  world.advance(1);
  CHECK((world.owner(0) == 0) != (world.owner(3) == 0));
  require_families(world, 13, 6);
  world.advance(60'000);
  for (std::int32_t partition = 0; partition < 12; ++partition) {
    CHECK(world.owner(partition) == home[static_cast<std::size_t>(partition)]);
  }
  CHECK(world.owner(12) == 0);
}

TEST_CASE("a family with a suspect waits for its slot as a whole, the others move (F1, A3)",
          "[slicer]") {
  SlicerFixture world{linear(2)};
  world.found(4, 10);
  world.all_ready();
  grow(world, 4, 4);
  const auto suspect = world.in_ring(0);
  REQUIRE(suspect.partition == 0);
  world.crash(0, suspect.slice_id);
  CHECK(world.owner(0) == 0);
  CHECK(world.owner(4) == 0);
  CHECK(world.owner(2) == 1);
  CHECK(world.owner(6) == 1);
  world.advance(10'000);
  CHECK(world.owner(0) == 0);
}

TEST_CASE("a partition on its way home when that worker dies stays with its family (A3)",
          "[slicer]") {
  SlicerFixture world{linear(2)};
  world.found(4, 20);
  world.all_ready();
  world.lose(0, {});
  world.ready(0);
  world.advance(60'000);
  REQUIRE_FALSE(world.revokes.empty());
  world.lose(0, {});
  world.return_all(1);
  for (std::int32_t partition = 0; partition < 4; ++partition) CHECK(world.owner(partition) == 1);
}

TEST_CASE("whatever happens, families come together and home again (A2, A3)", "[slicer]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    const auto first = static_cast<std::int32_t>(1 + random.below(8));
    std::uint32_t tasks = 1 + static_cast<std::uint32_t>(random.below(4));
    const std::uint32_t workers_first = tasks;
    const auto standby = static_cast<std::uint32_t>(random.below(2));
    SlicerFixture world{linear(tasks, standby)};
    world.found(first, 0);
    std::set<Slot> up;
    const auto raise = [&] {
      for (Slot slot = 0; slot < tasks + standby; ++slot) {
        if (up.insert(slot).second) world.ready(slot);
      }
    };
    raise();
    std::int32_t partitions = first;
    for (int round = 0; round < 40; ++round) {
      const auto slot = static_cast<Slot>(random.below(tasks + standby));
      if (random.once_in(3) && up.contains(slot)) {
        world.lose(slot, {});
        up.erase(slot);
      }
      if (random.once_in(4)) raise();
      if (random.once_in(8)) grow(world, partitions++, 1);
      if (random.once_in(6)) {
        tasks = 1 + static_cast<std::uint32_t>(random.below(5));
        world.slicer().set_slots(tasks, world.now);
        world.step();
        for (const Slot gone : std::set<Slot>{up}) {
          if (gone < tasks + standby) continue;
          world.lose(gone, {});
          up.erase(gone);
        }
      }
      world.advance(static_cast<std::int64_t>(random.below(70'000)));
    }
    raise();
    for (int delay = 0; delay < 3 * partitions + 10; ++delay) world.advance(60'000);
    for (std::int32_t partition = 0; partition < partitions; ++partition) {
      CAPTURE(partition);
      CHECK(world.owner(partition) ==
            linear_worker(static_cast<std::uint32_t>(partition % first), workers_first, tasks));
    }
  }
}

}  // namespace sluice::slicer
