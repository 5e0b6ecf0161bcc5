// Sinks that name their output after the slice (slicer.md C5, C3): rows are durable before slices
// are published, and a range never changes.
#include <catch2/catch.hpp>

#include "unit/slicer/fixture.hpp"
#include "unit/slicer/known_log.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions stable(std::uint32_t slots = 1) {
  SlicerOptions options;
  options.slots = slots;
  options.stable_slices = true;
  options.slice_records_max = 10;
  options.credit_records = 80;
  options.attempts_max = 2;
  return options;
}

using Range = std::pair<std::int64_t, std::int64_t>;

std::vector<Range> in_flight(const SlicerFixture& world, Slot slot) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < world.in_flight(slot); ++i) {
    ranges.emplace_back(world.in_ring(slot, i).start, world.in_ring(slot, i).end);
  }
  return ranges;
}

/// 90 of 95 records are settled, [90, 95) is in flight.
SlicerFixture at_90_of_95() {
  SlicerFixture world{stable()};
  world.content = 1;
  world.found(1, 95);
  world.ready(0);
  while (world.status(0).frontier < 90) world.complete(0);
  REQUIRE(in_flight(world, 0) == std::vector<Range>{{90, 95}});
  world.advance(50);
  world.sampled(0, 95);
  return world;
}

void check_cut_off_at_93(SlicerFixture& world, std::uint64_t old_id) {
  REQUIRE(world.asks_for(0, 89));
  world.complete(0);
  CHECK(world.noticed(Notice::Kind::Truncated));
  REQUIRE(in_flight(world, 0) == std::vector<Range>{{90, 93}});
  CHECK(world.in_ring(0).slice_id != old_id);
  CHECK((world.in_ring(0).flags & ipc::kStable) != 0);
  CHECK_FALSE(world.stored.slices.contains(old_id));
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].cause == state::Cause::Truncated);
  CHECK(world.stored.gaps[0].start == 93);
  CHECK(world.stored.gaps[0].end == 95);
  CHECK(world.stored.gaps[0].records_max == 2);
  world.complete_all();
  CHECK(world.status(0).frontier == 93);
  world.sampled(0, 100);
  CHECK(in_flight(world, 0) == std::vector<Range>{{93, 100}});
  CHECK(world.violations.empty());
}

}  // namespace

TEST_CASE("a log that is cut off inside a stable slice ends its name (C5, F5)", "[slicer]") {
  SlicerFixture world = at_90_of_95();
  const std::uint64_t old_id = world.in_ring(0).slice_id;
  host_finds_end(world, 93);
  REQUIRE(world.revokes.size() == 1);
  world.release(0, 90);
  check_cut_off_at_93(world, old_id);
}

TEST_CASE("a log that is cut off inside a stable slice while the host is down (C5, F5)",
          "[slicer]") {
  SlicerFixture world = at_90_of_95();
  const std::uint64_t old_id = world.in_ring(0).slice_id;
  world.restart_host(93);
  world.ready(0);
  CHECK(world.in_flight(0) == 0);
  host_finds_end(world, 93);
  check_cut_off_at_93(world, old_id);
}

// They may be written beside what holds the same records: the ledger says which names are void.
TEST_CASE("completed stable slices behind the last record that is proved come again (C5, F5, D1)",
          "[slicer]") {
  SlicerFixture world = at_90_of_95();
  world.release(0, 90);
  host_finds_end(world, 75);
  REQUIRE(world.asks_for(0, 69));
  world.complete(0);
  REQUIRE(in_flight(world, 0) == std::vector<Range>{{70, 75}});
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].start == 70);
  CHECK(world.stored.gaps[0].end == 95);
  for (const auto& row : world.rows_of(0)) {
    CHECK((row.end <= 90 || row.id == world.in_ring(0).slice_id));
  }
}

TEST_CASE("a once execution looks at the end again while a stable slice runs (C5, F5)",
          "[slicer]") {
  SlicerOptions options = stable();
  options.mode = Mode::Once;
  SlicerFixture world{options};
  world.content = 1;
  world.found(1, 10);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 1);
  world.asked_ends.clear();
  for (int ms = 0; ms < 5'000 && world.asked_ends.empty(); ++ms) world.advance(1);
  CHECK_FALSE(world.asked_ends.empty());
}

TEST_CASE("an end that is too low for a moment leaves a stable slice its name (C5, F5)",
          "[slicer]") {
  SlicerFixture world = at_90_of_95();
  const std::uint64_t id = world.in_ring(0).slice_id;
  world.sampled(0, 93);
  world.return_all(0);
  CHECK(world.status(0).wait == WaitReason::BeyondEnd);
  world.sampled(0, 95);
  REQUIRE(world.asks_for(0, 89));
  world.complete(0);
  REQUIRE(in_flight(world, 0) == std::vector<Range>{{90, 95}});
  CHECK(world.in_ring(0).slice_id == id);
  world.complete_all();
  CHECK(world.status(0).frontier == 95);
  CHECK(world.stored.gaps.empty());
}

TEST_CASE("a log that is cut off before anything of it was settled is no other topic (C5, F5)",
          "[slicer]") {
  SlicerFixture world{stable()};
  world.content = 1;
  world.found(1, 10);
  world.ready(0);
  REQUIRE(in_flight(world, 0) == std::vector<Range>{{0, 10}});
  host_finds_end(world, 5);
  world.release(0, 0);
  CHECK(in_flight(world, 0) == std::vector<Range>{{0, 5}});
  CHECK_FALSE(world.noticed(Notice::Kind::Recreated));
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].start == 5);
  CHECK(world.stored.gaps[0].end == 10);
}

TEST_CASE("stable slices of a recreated topic begin anew, durable first (C5, F5)", "[slicer]") {
  SlicerFixture world = at_90_of_95();
  world.restart_host(95);
  world.content = 2;
  world.ready(0);
  REQUIRE(world.asks_for(0, 89));
  answer_all_questions(world, 0);
  host_finds_low(world, 0, 0, 20);
  REQUIRE(in_flight(world, 0) == std::vector<Range>{{0, 10}, {10, 20}});
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& row = world.stored.slices.at(world.in_ring(0, i).slice_id);
    CHECK(row.stable);
    CHECK(row.topic_incarnation == 2);
  }
  world.complete_all();
  CHECK(world.status(0).frontier == 20);
}

TEST_CASE("a stable slice is published when its row is durable, not before (C5)", "[slicer]") {
  SlicerFixture world{stable()};
  world.persist_at_once = false;
  world.found(1, 25);
  world.ready(0);
  world.persist();  // the start
  CHECK(world.in_flight(0) == 0);
  CHECK(world.rows_of(0).empty());
  world.persist();
  CHECK(in_flight(world, 0) == std::vector<Range>{{0, 10}, {10, 20}});
  world.persist();
  const std::vector<Range> cut{{0, 10}, {10, 20}, {20, 25}};
  REQUIRE(in_flight(world, 0) == cut);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto row = world.stored.slices.at(world.in_ring(0, i).slice_id);
    CHECK(row.stable);
    CHECK(row.start == cut[i].first);
    CHECK(row.end == cut[i].second);
    CHECK((world.in_ring(0, i).flags & ipc::kStable) != 0);
  }
}

TEST_CASE("without the capability a slice waits for no row, and has none of its own", "[slicer]") {
  SlicerOptions options = stable();
  options.stable_slices = false;
  SlicerFixture world{options};
  world.persist_at_once = false;
  world.found(1, 25);
  world.ready(0);
  world.persist();
  REQUIRE(world.in_flight(0) == 3);
  CHECK((world.in_ring(0).flags & ipc::kStable) == 0);
  world.persist_at_once = true;
  world.complete_all();
  CHECK(world.rows_of(0).size() == 1);
}

TEST_CASE("slices are cut ahead while others run, and only so many", "[slicer]") {
  SlicerFixture world{stable()};
  world.found(1, 10'000);
  world.ready(0);
  CHECK(world.in_flight(0) == 8);  // the credit
  std::size_t waiting = 0;
  for (const auto& row : world.rows_of(0)) {
    if (row.state == state::SliceState::Ready) ++waiting;
  }
  CHECK(waiting == 8);
  world.complete(0);
  CHECK(world.in_flight(0) == 8);
}

TEST_CASE("at the tail a hint asks for the host's own end, and only that is cut (C2, C3)",
          "[slicer]") {
  SlicerFixture world{stable()};
  world.found(1, 5);
  world.ready(0);
  world.complete_all();
  world.advance(1'000);
  world.sampled(0, 5);
  world.advance(1'000);
  world.asked_ends.clear();
  world.produce(0, 9);
  CHECK(world.in_flight(0) == 0);
  REQUIRE(world.asked_ends.size() == 1);
  CHECK(world.status(0).visible_end == 5);
  world.sampled(0, 9);
  CHECK(in_flight(world, 0) == std::vector<Range>{{5, 9}});
  // A hint that came while the host was asking is looked at again, but not at once.
  world.produce(0, 12);
  world.advance(50);
  CHECK(world.asked_ends.size() == 2);
  world.sampled(0, 12);
  CHECK(world.in_flight(0) == 2);
}

TEST_CASE("what arrives while a row is written waits for the next slice", "[slicer]") {
  SlicerFixture world{stable()};
  world.found(1, 0);
  world.ready(0);
  world.persist_at_once = false;
  world.sampled(0, 3);
  world.sampled(0, 5);
  world.sampled(0, 7);
  world.persist();
  CHECK(in_flight(world, 0) == std::vector<Range>{{0, 3}});
  world.persist();
  CHECK(in_flight(world, 0) == std::vector<Range>{{0, 3}, {3, 7}});
}

TEST_CASE("completed stable slices keep their rows, one each (R3)", "[slicer]") {
  SlicerFixture world{stable()};
  world.found(1, 30);
  world.ready(0);
  world.complete_all();
  const auto rows = world.rows_of(0);
  REQUIRE(rows.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(rows[i].state == state::SliceState::Completed);
    CHECK(rows[i].stable);
    CHECK(rows[i].slice_count == 1);
    CHECK(rows[i].counts.in == 10);
  }
  CHECK(world.status(0).frontier == 30);
}

TEST_CASE("after the death of a worker or of the host the same ranges come again (C5)",
          "[slicer]") {
  SlicerFixture world{stable()};
  world.found(1, 17);
  world.ready(0);
  const std::vector<Range> cut{{0, 10}, {10, 17}};
  REQUIRE(in_flight(world, 0) == cut);
  world.lose(0, {});
  world.ready(0);
  CHECK(in_flight(world, 0) == cut);
  world.restart_host(500);  // more has come: it does not join a slice that somebody has seen
  world.ready(0);
  REQUIRE(world.in_flight(0) >= 2);
  CHECK(in_flight(world, 0)[0] == cut[0]);
  CHECK(in_flight(world, 0)[1] == cut[1]);
  CHECK((world.in_ring(0).flags & ipc::kStable) != 0);
  world.complete_all();
  CHECK(world.status(0).frontier == 500);
}

TEST_CASE("a slice whose row the host's death has swallowed was never seen: it is cut anew",
          "[slicer]") {
  SlicerFixture world{stable()};
  world.found(1, 0);
  world.ready(0);
  world.persist_at_once = false;
  world.sampled(0, 4);
  world.persist_at_once = true;
  world.restart_host(6);
  world.ready(0);
  CHECK(in_flight(world, 0) == std::vector<Range>{{0, 6}});
}

TEST_CASE("a stable slice comes back at its start, and waits until the log reaches its end (C3)",
          "[slicer]") {
  SlicerFixture world{stable()};
  world.found(1, 10);
  world.ready(0);
  const auto published = world.in_ring(0);
  world.release(0, 0);
  CHECK(world.in_flight(0) == 0);
  world.sampled(0, 7);
  CHECK(world.in_flight(0) == 0);
  world.sampled(0, 14);
  REQUIRE(world.in_flight(0) >= 1);
  CHECK(world.in_ring(0).slice_id == published.slice_id);
  CHECK(world.in_ring(0).end == published.end);
  CHECK(world.in_ring(0).attempt == 1);
}

TEST_CASE("a worker that gives back the rest of a stable slice breaks a rule", "[slicer]") {
  SlicerFixture world{stable()};
  world.found(1, 10);
  world.ready(0);
  world.release(0, 6);
  REQUIRE(world.violations.size() == 1);
  CHECK(world.violations[0].rule == Rule::NextOutside);
  CHECK(world.status(0).frontier == 0);
}

TEST_CASE("expiry inside a stable slice ends its name: what is left is a new slice, durable first",
          "[slicer]") {
  SlicerFixture world{stable()};
  world.found(1, 20);
  world.ready(0);
  const auto old_id = world.in_ring(0).slice_id;
  world.expire(0);
  world.return_all(0);
  world.persist_at_once = false;
  world.slicer().low_observed({0, 0}, 4, 20, world.now);
  world.step();
  CHECK(world.in_flight(0) == 0);
  world.persist_at_once = true;
  world.persist();
  REQUIRE(world.in_flight(0) == 2);
  CHECK(in_flight(world, 0) == std::vector<Range>{{4, 10}, {10, 20}});
  CHECK(world.in_ring(0).slice_id != old_id);
  CHECK((world.in_ring(0).flags & ipc::kStable) != 0);
}

TEST_CASE("a slice that is parked and recovered keeps its range and its name (S6, C5)",
          "[slicer]") {
  SlicerOptions options = stable();
  options.on_failure = OnFailure::Park;
  options.attempts_max = 1;
  SlicerFixture world{options};
  world.found(1, 10);
  world.ready(0);
  world.fail(0);
  REQUIRE(world.status(0).frontier == 10);
  const auto rows = world.rows_of(0);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].stable);
  world.slicer().recover({0, 0}, rows, world.now);
  world.step();
  REQUIRE(world.in_flight(0) == 1);
  CHECK(in_flight(world, 0) == std::vector<Range>{{0, 10}});
  CHECK((world.in_ring(0).flags & ipc::kStable) != 0);
}

TEST_CASE("with any, stable slices that settle out of turn keep what became of them (A4, R3)",
          "[slicer]") {
  SlicerOptions options = stable(2);
  options.assignment = Assignment::Any;
  SlicerFixture world{options};
  world.found(1, 40);
  world.ready(0);
  world.ready(1);
  const Slot later = world.in_ring(0).start == 0 ? 1 : 0;
  while (world.in_flight(later) > 0 && world.in_ring(later).start != 0) world.complete(later);
  world.complete_all();
  CHECK(world.status(0).frontier == 40);
  for (const auto& row : world.rows_of(0)) {
    CHECK(row.state == state::SliceState::Completed);
    CHECK(row.counts.in == 10);
  }
}

}  // namespace sluice::slicer
