// Resume is not recover (slicer.md S5, S6; B18): parked ranges are left alone until a user asks,
// and then run once, each with its range, while the live slices go on.
#include <catch2/catch.hpp>

#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions parking() {
  SlicerOptions options;
  options.slice_records_max = 10;
  options.credit_records = 80;
  options.attempts_max = 1;
  options.on_failure = OnFailure::Park;
  return options;
}

std::vector<state::SliceRow> parked_rows(const SlicerFixture& world) {
  std::vector<state::SliceRow> rows;
  for (const auto& row : world.rows_of(0)) {
    if (row.state == state::SliceState::Parked) rows.push_back(row);
  }
  return rows;
}

/// Ten slices of ten records, of which [30, 40) and [70, 80) fail for good.
void park_two(SlicerFixture& world) {
  world.found(1, 100);
  world.ready(0);
  for (int turn = 0; turn < 200 && world.status(0).frontier < 100; ++turn) {
    if (world.in_flight(0) == 0) {
      world.advance(1'000);
      continue;
    }
    const ipc::Command front = world.in_ring(0);
    if (front.start == 30 || front.start == 70) {
      world.fail(0);
      world.return_lane_of(0, front);
    } else {
      world.complete(0);
    }
  }
  REQUIRE(world.status(0).frontier == 100);
  REQUIRE(parked_rows(world).size() == 2);
}

}  // namespace

TEST_CASE("a start goes on behind what is parked and replays nothing of it (S5)", "[slicer]") {
  SlicerFixture world{parking()};
  park_two(world);
  world.restart_host(120);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 2);
  CHECK(world.in_ring(0).start == 100);
}

TEST_CASE("recover delivers exactly the parked ranges, once, and the frontier stays (S6, B18)",
          "[slicer]") {
  SlicerFixture world{parking()};
  park_two(world);
  world.restart_host(100);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 0);
  const auto started = world.slicer().recover({0, 0}, parked_rows(world), world.now);
  CHECK(started.slices == 2);
  CHECK(started.records_max == 20);
  world.step();
  REQUIRE(world.in_flight(0) == 1);  // one at a time
  CHECK(world.in_ring(0).start == 30);
  CHECK(world.in_ring(0).end == 40);
  CHECK((world.in_ring(0).flags & ipc::kRecovered) != 0);
  world.complete(0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 70);
  world.complete(0);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).frontier == 100);
  CHECK(parked_rows(world).empty());
  CHECK(world.slicer().counts().recovered == 2);
  // Asked again there is nothing to do.
  CHECK(world.slicer().recover({0, 0}, parked_rows(world), world.now).slices == 0);
}

TEST_CASE("asked twice while it runs, recover takes nothing on twice (S6)", "[slicer]") {
  SlicerFixture world{parking()};
  park_two(world);
  const auto rows = parked_rows(world);
  CHECK(world.slicer().recover({0, 0}, rows, world.now).slices == 2);
  CHECK(world.slicer().recover({0, 0}, rows, world.now).slices == 0);
}

TEST_CASE("a slice that is recovered right after it was parked has no open row (S6, R5)",
          "[slicer]") {
  SlicerFixture world{parking()};
  world.found(1, 10);
  world.persist_at_once = false;
  world.ready(0);
  const ipc::Command first = world.in_ring(0);
  world.fail(0);
  world.return_lane_of(0, first);
  world.persist();  // the first set since it was published
  state::SliceRow parked;
  parked.id = first.slice_id;
  parked.partition = 0;
  parked.start = first.start;
  parked.end = first.end;
  parked.state = state::SliceState::Parked;
  REQUIRE(world.slicer().recover({0, 0}, {parked}, world.now).slices == 1);
  world.advance(10'000);
  REQUIRE(world.in_flight(0) > 0);
  REQUIRE(world.in_ring(0).slice_id == first.slice_id);
  world.persist();
  for (const auto& row : world.rows_of(0)) {
    if (row.id == first.slice_id) CHECK(row.state == state::SliceState::Parked);
  }
}

TEST_CASE("the live tail goes on between recovered slices (S6)", "[slicer]") {
  SlicerFixture world{parking()};
  park_two(world);
  world.slicer().recover({0, 0}, parked_rows(world), world.now);
  world.step();
  world.produce(0, 130);
  REQUIRE(world.in_flight(0) == 4);
  CHECK(world.in_ring(0).start == 30);
  CHECK(world.in_ring(0, 1).start == 100);
  world.complete_all();
  CHECK(world.status(0).frontier == 130);
  CHECK(parked_rows(world).empty());
}

TEST_CASE("a host that dies in the middle of recover leaves what was not done, and no more (B18)",
          "[slicer]") {
  SlicerFixture world{parking()};
  park_two(world);
  world.slicer().recover({0, 0}, parked_rows(world), world.now);
  world.step();
  world.complete(0);
  world.restart_host(100);
  world.ready(0);
  CHECK(world.in_flight(0) == 0);
  const auto left = parked_rows(world);
  REQUIRE(left.size() == 1);
  CHECK(left[0].start == 70);
  CHECK(world.slicer().recover({0, 0}, left, world.now).slices == 1);
  world.step();
  world.complete_all();
  CHECK(parked_rows(world).empty());
}

TEST_CASE("what fails again stays parked with the new error, and nobody else is charged (S6)",
          "[slicer]") {
  SlicerFixture world{parking()};
  park_two(world);
  world.slicer().recover({0, 0}, parked_rows(world), world.now);
  world.step();
  SECTION("by a report") {
    world.fail(0);
  }
  SECTION("by a death") {
    world.crash(0, world.in_ring(0).slice_id);
    world.ready(0);
  }
  world.advance(60'000);
  world.complete_all();
  const auto left = parked_rows(world);
  REQUIRE(left.size() == 1);
  CHECK(left[0].start == 30);
  CHECK(left[0].attempt == 2);
  CHECK(world.status(0).frontier == 100);
  CHECK(world.slicer().counts().recovered == 1);
  CHECK(world.noticed(Notice::Kind::Unrecovered));
}

TEST_CASE("a worker that dies for another reason costs recover a delay, not the range (S6)",
          "[slicer]") {
  SlicerFixture world{parking()};
  park_two(world);
  world.slicer().recover({0, 0}, parked_rows(world), world.now);
  world.step();
  Accusation killed;
  killed.slice_id = world.in_ring(0).slice_id;
  killed.phase = ipc::Phase::Put;
  world.lose(0, killed);
  world.ready(0);
  world.advance(60'000);
  while (world.in_flight(0) > 0) {
    world.complete(0);
    world.advance(60'000);
  }
  CHECK(parked_rows(world).empty());
}

TEST_CASE("a once execution whose gaps were all recovered ends COMPLETED (S1, S6)", "[slicer]") {
  SlicerOptions options = parking();
  options.mode = Mode::Once;
  SlicerFixture world{options};
  FoundPartition found;
  found.tp = {0, 0};
  found.end = found.once_end = 30;
  world.found_one(found);
  world.slicer().discovery_done(world.now);
  world.all_ready();
  world.complete(0);
  const ipc::Command failed = world.in_ring(0);
  world.fail(0);
  world.return_lane_of(0, failed);
  REQUIRE(parked_rows(world).size() == 1);
  world.slicer().recover({0, 0}, parked_rows(world), world.now);
  world.advance(60'000);
  while (world.in_flight(0) > 0) world.complete(0);
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::Completed);
}

TEST_CASE("a parked range that a once execution's log has lost stays parked, and the job ends (S6)",
          "[slicer]") {
  SlicerOptions options = parking();
  options.mode = Mode::Once;
  SlicerFixture world{options};
  world.found(1, 30);
  world.ready(0);
  const ipc::Command failed = world.in_ring(0);
  world.fail(0);
  world.return_lane_of(0, failed);
  world.advance(60'000);
  world.slicer().recover({0, 0}, parked_rows(world), world.now);
  while (world.in_flight(0) > 0 && world.in_ring(0).start > 0) world.complete(0);
  REQUIRE(world.in_flight(0) == 1);
  REQUIRE(world.status(0).frontier == 30);
  CHECK(world.outcomes.empty());
  const bool is_asked_back = GENERATE(false, true);
  if (is_asked_back) {
    world.sampled(0, 5);
    REQUIRE_FALSE(world.revokes.empty());
  } else {
    world.release(0, 5);
    world.sampled(0, 5);
  }
  world.return_all(0);
  world.advance(60'000);
  CHECK(world.in_flight(0) == 0);
  REQUIRE(parked_rows(world).size() == 1);
  CHECK(parked_rows(world)[0].error->message == "the log was cut off, it ends at 5");
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::CompletedWithGaps);
}

}  // namespace sluice::slicer
