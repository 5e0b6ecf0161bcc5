// What is on disk when (slicer.md R1-R4, S5, delivery.md D1), and that a host goes on from it.
#include <catch2/catch.hpp>

#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions small(OnFailure on_failure = OnFailure::Halt) {
  SlicerOptions options;
  options.slice_records_max = 100;
  options.credit_records = 400;
  options.on_failure = on_failure;
  return options;
}

}  // namespace

TEST_CASE("the group gets a frontier only when its rows are durable (D1)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 300);
  world.ready(0);
  world.commits.clear();
  world.persist_at_once = false;
  world.complete(0);
  CHECK(world.commits.empty());
  const auto set = world.slicer().take_changes(world.now);
  world.complete(0);  // after the set was taken: not part of it
  const auto commits = world.slicer().persisted(set.token, world.now);
  REQUIRE(commits.size() == 1);
  CHECK(commits[0].offset == 100);
  CHECK(world.status(0).frontier == 200);
  CHECK(world.status(0).durable_frontier == 100);
}

TEST_CASE("clean completions of one worker are one row (R3)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 2'000);
  world.ready(0);
  world.complete_all();
  const auto rows = world.rows_of(0);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].start == 0);
  CHECK(rows[0].end == 2'000);
  CHECK(rows[0].slice_count == 20);
  CHECK(rows[0].counts.in == 2'000);
  CHECK(rows[0].state == state::SliceState::Completed);
}

TEST_CASE("a change set tells a number above all slices that ran, which merged rows hide",
          "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 300);
  world.ready(0);
  world.persist_at_once = false;
  world.complete_all();
  const auto set = world.slicer().take_changes(world.now);
  REQUIRE(set.slices_upserted.size() == 1);
  const std::uint64_t last_of_run = set.slices_upserted[0].id + 2;
  CHECK(set.next_slice_id > last_of_run);
}

TEST_CASE("another worker incarnation begins another row", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 300);
  world.ready(0);
  world.complete(0);
  world.lose(0, {});
  world.ready(0);
  world.complete_all();
  const auto rows = world.rows_of(0);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].end == 100);
  CHECK(rows[1].start == 100);
  CHECK(rows[0].worker.incarnation != rows[1].worker.incarnation);
}

TEST_CASE("a first attempt has a row once it outlives a change set, and none when it is done",
          "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 100);
  world.ready(0);
  world.persist();
  CHECK(world.rows_of(0).empty());
  world.persist();
  REQUIRE(world.rows_of(0).size() == 1);
  CHECK(world.rows_of(0)[0].state == state::SliceState::Dispatched);
  world.complete(0);
  REQUIRE(world.rows_of(0).size() == 1);
  CHECK(world.rows_of(0)[0].state == state::SliceState::Completed);
}

TEST_CASE("one upsert per changed partition, however many slices it settled (R3)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(2, 2'000);
  world.ready(0);
  world.persist_at_once = false;
  for (int i = 0; i < 10; ++i) world.complete(0);
  const auto set = world.slicer().take_changes(world.now);
  CHECK(set.partitions.size() == 2);
  CHECK(set.slices_upserted.size() == 2);
  CHECK(set.slices_deleted.empty());
}

TEST_CASE("an idle slicer has nothing to persist", "[slicer]") {
  SlicerFixture world{small()};
  world.found(2, 100);
  world.ready(0);
  world.complete_all();
  world.advance(60'000);
  CHECK_FALSE(world.slicer().has_changes());
}

TEST_CASE("a host that comes back goes on at the frontier, with ids that were never used (S5)",
          "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 1'000);
  world.ready(0);
  for (int i = 0; i < 3; ++i) world.complete(0);
  const auto last = world.in_ring(0, 3).slice_id;
  world.restart_host(1'000);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).frontier == 300);
  world.ready(0);
  CHECK(world.in_ring(0).start == 300);
  CHECK(world.in_ring(0).attempt == 1);
  world.complete_all();
  CHECK(world.status(0).frontier == 1'000);
  world.sampled(0, 1'050);
  CHECK(world.in_ring(0).slice_id > last);
}

TEST_CASE("no slice is published under an id that a later host could use again", "[slicer]") {
  SlicerOptions options = small();
  options.slice_records_max = 1;
  options.slices_per_second_max = 1'000'000;
  SlicerFixture world{options};
  world.found(1, 100'000);
  world.ready(0);
  world.persist_at_once = false;
  std::uint64_t highest = 0;
  for (int i = 0; i < 2'000 && world.in_flight(0) > 0; ++i) {
    for (std::size_t k = 0; k < world.in_flight(0); ++k) {
      highest = std::max(highest, world.in_ring(0, k).slice_id);
    }
    world.complete(0);
    world.advance(1);
  }
  CHECK(world.in_flight(0) == 0);  // the reserve is used up, and nothing was written since
  CHECK(highest < world.stored.next_slice_id);
  world.persist();
  CHECK(world.in_flight(0) > 0);
}

TEST_CASE("attempts survive a host restart (R1)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 300);
  world.ready(0);
  const auto id = world.in_ring(0).slice_id;
  world.fail(0);
  world.return_all(0);
  world.advance(1'000);
  world.fail(0);  // attempt 2 has failed
  world.restart_host(300);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 3);
  CHECK(world.in_ring(0).slice_id == id);
  CHECK(world.in_ring(0).attempt == 3);
  CHECK(world.in_ring(0, 1).attempt == 1);
}

TEST_CASE("an attempt that the host's end interrupted is not used up (A28)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 100);
  world.ready(0);
  world.persist();
  world.persist();
  REQUIRE(world.rows_of(0).size() == 1);
  world.restart_host(100);
  world.ready(0);
  CHECK(world.in_ring(0).attempt == 1);
}

TEST_CASE("parked slices stay parked over a restart: resume is not recover (B18, S5)", "[slicer]") {
  SlicerOptions options = small(OnFailure::Park);
  options.attempts_max = 1;
  SlicerFixture world{options};
  world.found(1, 300);
  world.ready(0);
  world.fail(0);
  world.return_all(0);
  world.restart_host(300);
  CHECK(world.status(0).frontier == 100);
  world.ready(0);
  CHECK(world.in_ring(0).start == 100);
  world.complete_all();
  CHECK(world.rows_of(0)[0].state == state::SliceState::Parked);
}

TEST_CASE("nothing runs behind a parked slice before it is on record that it was parked",
          "[slicer]") {
  SlicerOptions options = small(OnFailure::Park);
  options.attempts_max = 1;
  SlicerFixture world{options};
  world.found(1, 300);
  world.ready(0);
  world.persist_at_once = false;
  world.complete(0);
  const auto before = world.slicer().take_changes(world.now);  // does not know of the park
  world.fail(0);
  world.return_all(0);
  world.produce(0, 300);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).wait == WaitReason::NotDurable);
  world.slicer().persisted(before.token, world.now);
  world.step();
  CHECK(world.in_flight(0) == 0);
  world.persist();
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 200);
}

TEST_CASE("a start is a restart: what was halted is tried again (F4)", "[slicer]") {
  SlicerOptions options = small();
  options.attempts_max = 1;
  SlicerFixture world{options};
  world.found(1, 100);
  world.ready(0);
  world.fail(0);
  REQUIRE(world.halted.size() == 1);
  world.restart_host(100);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).attempt == 1);
}

TEST_CASE("sticky assignment is remembered over a restart (A1)", "[slicer]") {
  SlicerOptions options = small();
  options.slots = 3;
  SlicerFixture world{options};
  world.found(6, 0);
  world.all_ready();
  std::vector<Slot> before;
  for (std::int32_t p = 0; p < 6; ++p) before.push_back(world.owner(p));
  world.restart_host(0);
  std::vector<Slot> after;
  for (std::int32_t p = 0; p < 6; ++p) after.push_back(world.owner(p));
  CHECK(before == after);
}

TEST_CASE("a hole before a restored slice is cut, not jumped over", "[slicer]") {
  SlicerFixture world{small()};
  FoundPartition found;
  found.tp = {0, 0};
  found.row = state::PartitionRow{};
  found.row->topic = "orders";
  found.row->frontier = 50;
  state::SliceRow open;
  open.id = 40;
  open.topic = "orders";
  open.start = 120;
  open.end = 180;
  open.attempt = 2;
  open.state = state::SliceState::Dispatched;
  found.slices.push_back(open);
  found.end = 400;
  world.found_one(found);
  world.slicer().discovery_done(world.now);
  world.ready(0);
  REQUIRE(world.in_flight(0) >= 3);
  CHECK(world.in_ring(0, 0).start == 50);
  CHECK(world.in_ring(0, 0).end == 120);
  CHECK(world.in_ring(0, 1).slice_id == 40);
  CHECK(world.in_ring(0, 1).attempt == 2);
  CHECK(world.in_ring(0, 2).start == 180);
  CHECK(world.in_ring(0, 2).slice_id > 40);
  world.complete_all();
  CHECK(world.status(0).frontier == 400);
}

TEST_CASE("restored rows that overlap are clipped, not believed", "[slicer]") {
  SlicerFixture world{small()};
  FoundPartition found;
  found.tp = {0, 0};
  found.row = state::PartitionRow{};
  found.row->topic = "orders";
  found.row->frontier = 50;
  for (const auto& [id, start, end] :
       {std::tuple<std::uint64_t, std::int64_t, std::int64_t>{1, 0, 80}, {2, 60, 120}}) {
    state::SliceRow row;
    row.id = id;
    row.start = start;
    row.end = end;
    row.attempt = 2;
    found.slices.push_back(row);
  }
  found.end = 200;
  world.found_one(found);
  world.slicer().discovery_done(world.now);
  world.ready(0);
  CHECK(world.in_ring(0, 0).start == 50);
  CHECK(world.in_ring(0, 0).end == 80);
  CHECK(world.in_ring(0, 1).start == 80);
  CHECK(world.in_ring(0, 1).end == 120);
  world.complete_all();
  CHECK(world.status(0).frontier == 200);
}

}  // namespace sluice::slicer
