// Logs that were cut off, and may have grown again (slicer.md F5, D1): what is proved to be there,
// what runs again, what is on record.
#include <catch2/catch.hpp>

#include "unit/slicer/known_log.hpp"

namespace sluice::slicer {

namespace {

/// A once execution of [0, 100), in slices of ten; the host has looked since the eighth.
SlicerFixture once_read_to_80() {
  SlicerOptions options;
  options.mode = Mode::Once;
  options.slice_records_max = 10;
  SlicerFixture world{options};
  world.content = 1;
  world.found(1, 100);
  world.ready(0);
  for (int i = 0; i < 8; ++i) world.complete(0);
  world.advance(50);
  world.sampled(0, 100);
  return world;
}

}  // namespace

TEST_CASE("an end below the position is believed after two looks five seconds apart", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.sampled(0, 90);
  CHECK(world.status(0).wait == WaitReason::BeyondEnd);
  world.advance(4'900);
  world.sampled(0, 90);
  CHECK(world.in_flight(0) == 0);
  world.advance(100);
  CHECK(world.asked_ends.size() > 0);
  world.sampled(0, 90);
  CHECK(world.asks_for(0, 89));
}

// It may have been cut off anywhere behind that record, and have grown until the host looked.
TEST_CASE("cut off: work goes on behind the newest record that is still there, on record (D1)",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  host_finds_end(world, 85);
  REQUIRE(world.asks_for(0, 79));
  world.complete(0);
  CHECK(world.noticed(Notice::Kind::Truncated));
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].cause == state::Cause::Truncated);
  CHECK(world.stored.gaps[0].start == 80);
  CHECK(world.stored.gaps[0].end == 100);
  CHECK(world.stored.gaps[0].records_max == 20);
  const auto& row = world.stored.partitions.at({"orders", 0});
  CHECK(row.frontier == 80);
  CHECK(row.topic_incarnation == 1);
  CHECK(row.lowered_from == 100);
  CHECK(world.status(0).wait == WaitReason::None);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 80);
  CHECK(world.in_ring(0).end == 85);
}

TEST_CASE("an end that was believed to be too low and is not any more: the records tell",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.sampled(0, 85);
  world.advance(3'000);
  world.sampled(0, 92);
  world.advance(2'000);
  world.sampled(0, 95);
  REQUIRE(world.asks_for(0, 89));
  world.complete(0);
  CHECK(world.status(0).frontier == 90);
}

TEST_CASE("an end that was too low only once is no reason to go back", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.sampled(0, 90);
  world.advance(1'000);
  world.sampled(0, 110);
  check_goes_on(world);
}

TEST_CASE("cut off and grown again before anybody believed it: found by the records", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.sampled(0, 85);
  world.advance(1'000);
  world.sampled(0, 110);
  REQUIRE(world.asks_for(0, 99));
  world.content = 2;
  world.complete(0);
  REQUIRE(world.asks_for(0, 89));
  world.complete(0);
  REQUIRE(world.asks_for(0, 79));
  world.content = 1;
  world.complete(0);
  CHECK(world.noticed(Notice::Kind::Truncated));
  CHECK(world.status(0).frontier == 80);
  CHECK(world.in_ring(0).start == 80);
}

TEST_CASE("cut off and grown again between two looks: found by its leader, another one",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.content = 2;
  world.sampled(0, 110, LeaderChange::Seen);
  REQUIRE(world.asks_for(0, 99));
  world.complete(0);
  REQUIRE(world.asks_for(0, 89));
  world.content = 1;
  world.complete(0);
  CHECK(world.status(0).frontier == 90);
  CHECK(world.in_ring(0).start == 90);
}

TEST_CASE("cut off and grown again while the host was down: no other topic", "[slicer]") {
  SlicerFixture world = read_to_100({}, 2);
  world.restart_host(120);
  world.ready(0);
  REQUIRE(world.asks_for(0, 99));
  world.content = 2;
  const std::int32_t cut = world.in_ring(0).partition;
  world.complete(0);
  world.content = 1;
  world.complete_all();
  CHECK_FALSE(world.noticed(Notice::Kind::Recreated));
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].partition == cut);
  CHECK(world.stored.gaps[0].cause == state::Cause::Truncated);
  CHECK(world.stored.gaps[0].start == 90);
  CHECK(world.stored.gaps[0].end == 100);
  for (const std::int32_t partition : {0, 1}) CHECK(world.status(partition).frontier == 120);
}

TEST_CASE("cut off and grown again between two looks: found by a worker whose position was gone",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.sampled(0, 110);
  REQUIRE(world.in_ring(0).start == 100);
  world.expire(0);  // the log ended at 85 for a moment
  host_finds_low(world, 0, 0, 112);
  CHECK(world.noticed(Notice::Kind::Unconfirmed));
  world.advance(1'000);
  REQUIRE(world.asks_for(0, 99));
  world.content = 2;
  world.complete(0);
  REQUIRE(world.asks_for(0, 89));
  world.content = 1;
  world.complete(0);
  CHECK(world.noticed(Notice::Kind::Truncated));
  CHECK(world.status(0).frontier == 90);
}

// Its worker goes on at its position, with other records: what it reads last is there.
TEST_CASE("a slice that was at work while the log was cut off proves nothing, it runs again (D1)",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.produce(0, 120);
  world.sampled(0, 120);
  REQUIRE(world.in_flight(0) == 2);
  world.sampled(0, 105);  // not below the frontier
  world.sampled(0, 130);
  world.complete(0);
  world.complete(0);
  CHECK(world.status(0).frontier == 120);
  REQUIRE(world.asks_for(0, 99));
  world.complete(0);
  CHECK(world.status(0).frontier == 100);
  CHECK(world.in_ring(0).start == 100);
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].start == 100);
  CHECK(world.stored.gaps[0].end == 120);
}

TEST_CASE("so does one that was settled before the host has seen the cut, since its last look",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.produce(0, 120);
  world.complete_all();
  const LeaderChange leader = LeaderChange::Seen;
  world.asked_ends.clear();
  world.advance(4'000);
  REQUIRE(world.asked_ends.size() == 1);
  world.sampled(0, 119, leader);
  world.sampled(0, 130);
  REQUIRE(world.asks_for(0, 99));
  world.complete(0);
  CHECK(world.in_ring(0).start == 100);
}

TEST_CASE("what was settled before a look that found the log whole is proof", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.produce(0, 120);
  world.complete_all();
  world.advance(4'000);
  world.sampled(0, 120);
  world.sampled(0, 119);
  world.sampled(0, 130);
  REQUIRE(world.asks_for(0, 119));
  world.complete(0);
  CHECK(world.in_ring(0).start == 120);
  CHECK(world.stored.gaps.empty());
}

TEST_CASE("a host that comes back knows which records prove nothing", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.produce(0, 120);
  world.sampled(0, 120);
  world.sampled(0, 105);
  world.sampled(0, 120);
  world.complete(0);
  CHECK(world.stored.partitions.at({"orders", 0}).frontier == 110);
  world.restart_host(130);
  world.ready(0);
  REQUIRE(world.asks_for(0, 99));
  world.complete(0);
  CHECK(world.in_ring(0).start == 100);
  CHECK(world.stored.partitions.at({"orders", 0}).frontier == 100);
  world.complete_all();
  CHECK(world.stored.partitions.at({"orders", 0}).fingerprints.starts_with("129:"));
}

TEST_CASE("cut off before anything was vouched for: all that was settled runs again", "[slicer]") {
  SlicerFixture world;
  world.content = 1;
  world.found(1, 100);
  world.ready(0);
  world.complete_all();
  host_finds_end(world, 85);
  CHECK_FALSE(world.noticed(Notice::Kind::Recreated));
  CHECK(world.status(0).frontier == 0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 0);
  CHECK(world.in_ring(0).end == 85);
}

TEST_CASE("settled rows of what was cut off are history, also where the stored frontier is lower",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.sampled(0, 120);
  world.persist_at_once = false;
  world.complete_all();  // 120, and nothing of it is stored
  host_finds_end(world, 115);
  REQUIRE(world.asks_for(0, 99));
  world.complete(0);
  world.persist();
  const auto& row = world.stored.partitions.at({"orders", 0});
  CHECK(row.frontier == 100);
  CHECK(row.reset);
  world.persist_at_once = true;
  world.complete_all();
  CHECK(row.frontier == 115);
  CHECK_FALSE(row.reset);
}

TEST_CASE("with assignment any, what was settled above the frontier is done again, too",
          "[slicer]") {
  SlicerOptions options;
  options.assignment = Assignment::Any;
  SlicerFixture world = read_to_100(options);
  world.sampled(0, 130);
  REQUIRE(world.in_flight(0) == 2);
  REQUIRE(world.in_ring(0, 1).start == 110);
  world.send(0, world.answer(0, 1, ipc::ReportKind::Done));
  REQUIRE(world.in_ring(0).start == 100);
  world.sampled(0, 125);
  world.return_all(0);
  REQUIRE(world.asks_for(0, 99));
  world.complete(0);
  const auto& row = world.stored.partitions.at({"orders", 0});
  CHECK(row.frontier == 100);
  CHECK(row.start_offset == 100);
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].start == 100);
  CHECK(world.stored.gaps[0].end == 120);
  world.complete_all();
  CHECK(row.frontier == 125);
}

TEST_CASE("ids of slices after a lowered frontier are above all that the store may know",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  const std::uint64_t bound = world.stored.next_slice_id;
  host_finds_end(world, 85);
  world.complete(0);
  world.produce(0, 95);
  CHECK(world.in_ring(0).slice_id >= bound);
}

TEST_CASE("... also where a start moves the job back, after ids were reserved", "[slicer]") {
  SlicerFixture world;
  world.step();  // reserves them
  const std::uint64_t bound = world.stored.next_slice_id;
  FoundPartition found;
  found.tp = {0, 0};
  found.end = 10;
  found.lowered_from = 50;
  world.found_one(found);
  world.slicer().discovery_done(world.now);
  world.ready(0);
  CHECK(world.in_ring(0).slice_id >= bound);
  CHECK(world.stored.partitions.at({"orders", 0}).lowered_from == 50);
}

TEST_CASE("a once execution goes on when its log has grown again before anybody believed it",
          "[slicer]") {
  SlicerOptions options;
  options.mode = Mode::Once;
  SlicerFixture world{options};
  world.content = 1;
  world.found(1, 100);
  world.ready(0);
  world.release(0, 50);
  world.advance(50);
  world.sampled(0, 100);
  world.release(0, 50);
  world.sampled(0, 90);
  world.produce(0, 110);
  world.asked_ends.clear();
  world.advance(2'000);
  REQUIRE(world.asked_ends.size() == 1);
  world.sampled(0, 110);
  world.complete_all();
  CHECK(world.outcomes == std::vector<Outcome>{Outcome::Completed});
}

TEST_CASE("a once execution whose log is cut off below its end ends there, with a gap",
          "[slicer]") {
  SlicerFixture world = once_read_to_80();
  world.release(0, 85);
  world.return_all(0);
  host_finds_end(world, 85);
  REQUIRE(world.asks_for(0, 79));
  world.complete_all();
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::CompletedWithGaps);
  CHECK(world.stored.gaps.back().start == 80);
  CHECK(world.stored.gaps.back().end == 100);
  CHECK(world.stored.partitions.at({"orders", 0}).once_end == 85);
}

TEST_CASE("a once execution does not end while its log is in doubt", "[slicer]") {
  SlicerFixture world = once_read_to_80();
  world.sampled(0, 85);
  while (world.in_flight(0) > 0 && !world.asks_for(0, 79)) world.complete(0);
  CHECK(world.status(0).frontier == 100);
  CHECK(world.outcomes.empty());
  const bool is_gone = GENERATE(false, true);
  if (is_gone) {
    world.slicer().topic_absent(0);  // nobody can tell any more
    world.step();
    REQUIRE(world.outcomes.size() == 1);
    CHECK(world.outcomes[0] == Outcome::Completed);
    return;
  }
  world.sampled(0, 100);
  REQUIRE(world.asks_for(0, 79));
  world.complete_all();
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::CompletedWithGaps);
  CHECK(world.stored.gaps.back().start == 80);
  CHECK(world.status(0).frontier == 100);
}

TEST_CASE("what was settled above the frontier is believed to have been there, after a start too",
          "[slicer]") {
  SlicerOptions options;
  options.assignment = Assignment::Any;
  SlicerFixture world = read_to_100(options);
  world.sampled(0, 120);
  REQUIRE(world.in_ring(0, 1).start == 110);
  world.send(0, world.answer(0, 1, ipc::ReportKind::Done));
  world.restart_host(105);
  world.ready(0);
  CHECK(world.status(0).wait == WaitReason::BeyondEnd);
  host_finds_end(world, 105);
  REQUIRE(world.asks_for(0, 99));
  world.complete_all();
  world.sampled(0, 130);
  world.complete_all();
  const auto& gaps = world.stored.gaps;
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].start == 100);
  CHECK(gaps[0].end == 120);
  std::int64_t reached = 100;
  for (const auto& row : world.rows_of(0)) {
    if (row.id < gaps[0].slice_id) continue;
    CHECK(row.start == reached);
    reached = row.end;
  }
  CHECK(reached == 130);
}

// What the worker had seen before is older than the host's look.
TEST_CASE("a worker's position is gone: the host's look counts, whatever was seen before",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.produce(0, 130);
  world.expire(0);
  world.return_all(0);
  host_finds_low(world, 0, 0, 95);
  CHECK(world.status(0).wait == WaitReason::BeyondEnd);
  CHECK(world.status(0).visible_end == 95);
}

TEST_CASE("a new leader that has less than a worker saw of the old one: the log was cut off",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.produce(0, 130);
  world.asked_ends.clear();
  world.advance(4'000);
  REQUIRE(world.asked_ends.size() == 1);
  world.sampled(0, 120, LeaderChange::Seen);
  CHECK(world.violations.empty());
  while (world.in_flight(0) > 0 && !world.asks_for(0, 99)) world.complete(0);
  REQUIRE(world.asks_for(0, 99));
  CHECK(world.status(0).frontier == 130);
  world.complete(0);
  CHECK(world.status(0).wait == WaitReason::None);
  CHECK(world.in_ring(0).start == 100);
}

TEST_CASE("that nobody knows the leader is no reason to doubt the log", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.sampled(0, 110, LeaderChange::Unknown);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 100);
}

}  // namespace sluice::slicer
