// Where logs end (slicer.md C2) and what is no longer in them (section 4, B01).
#include <algorithm>
#include <catch2/catch.hpp>

#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {
namespace {

bool asked_for_end(SlicerFixture& world, std::int64_t within_ms) {
  world.asked_ends.clear();
  for (std::int64_t ms = 0; ms < within_ms && world.asked_ends.empty(); ++ms) world.advance(1);
  return !world.asked_ends.empty();
}

}  // namespace

TEST_CASE("an idle partition nobody watches is sampled every 50 ms, then slower, up to 2 s",
          "[slicer]") {
  SlicerFixture world;
  world.found(1, 0);
  world.ready(0);
  REQUIRE(asked_for_end(world, 51));
  std::int64_t interval = 100;
  while (interval < 2'000) {
    world.sampled(0, 0);
    CHECK_FALSE(asked_for_end(world, interval - 1));
    CHECK(asked_for_end(world, 2));
    interval *= 2;
  }
  world.sampled(0, 0);
  CHECK_FALSE(asked_for_end(world, 1'999));
  CHECK(asked_for_end(world, 2));
}

TEST_CASE("many idle partitions are asked about together, however their news were spread (P12)",
          "[slicer]") {
  constexpr std::int32_t kPartitions = 2'000;
  SlicerFixture world;
  world.found(kPartitions, 0);
  world.ready(0);
  for (int round = 0; round < 8; ++round) {  // until all are at the slow pace
    world.advance(2'000);
    for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
      world.slicer().end_observed({0, partition}, 0, LeaderChange::None, world.now);
      if (partition % 5 == 0) ++world.now;
    }
  }
  std::size_t asked = 0;
  int questions = 0;
  for (int ms = 0; ms < 2'500; ++ms) {
    world.asked_ends.clear();
    world.advance(1);
    asked += world.asked_ends.size();
    questions += world.asked_ends.empty() ? 0 : 1;
  }
  CHECK(asked == kPartitions);
  CHECK(questions <= 10);
}

TEST_CASE("a sample that is under way is not asked for again", "[slicer]") {
  SlicerFixture world;
  world.found(1, 0);
  REQUIRE(asked_for_end(world, 60));
  CHECK_FALSE(asked_for_end(world, 10'000));
  world.slicer().sample_failed({0, 0}, world.now);
  CHECK(asked_for_end(world, 200));
}

TEST_CASE("a worker that watches a partition spares the host all but the slow sample", "[slicer]") {
  SlicerFixture world;
  world.found(1, 10);
  world.ready(0);
  world.complete_all();
  REQUIRE(asked_for_end(world, 60));
  world.sampled(0, 10);
  CHECK_FALSE(asked_for_end(world, 1'990));
  CHECK(asked_for_end(world, 20));
}

TEST_CASE("... but not one that has more partitions than it keeps open", "[slicer]") {
  SlicerFixture world;
  world.found(300, 10);
  world.ready(0);
  world.complete_all();
  for (int round = 0; round < 8; ++round) {  // until all are at the slow pace
    world.advance(2'000);
    for (std::int32_t partition = 0; partition < 300; ++partition) world.sampled(partition, 10);
  }
  world.sampled(7, 20);
  world.complete_all();
  REQUIRE(asked_for_end(world, 100));
  CHECK(world.asked_ends == std::vector<TopicPartition>{{0, 7}});
}

TEST_CASE("a partition whose watcher died is looked at within milliseconds, then ever slower (P7)",
          "[slicer]") {
  SlicerFixture world;
  world.found(1, 10);
  world.ready(0);
  world.complete_all();
  REQUIRE(asked_for_end(world, 60));
  world.sampled(0, 10);  // the slow sample: a worker watches
  Accusation killed;
  killed.cause = LossCause::Killed;
  world.asked_ends.clear();
  world.lose(0, killed);
  world.ready(0);
  world.step();
  REQUIRE(world.asked_ends.size() == 1);
  std::int64_t since = 0;
  for (const std::int64_t limit : {8, 20, 50, 100, 200}) {  // no record came since
    world.sampled(0, 10);
    const auto asked = world.now.count();
    REQUIRE(asked_for_end(world, 200));
    since += world.now.count() - asked;
    CHECK(since <= limit);
  }
  std::int64_t interval = 0;
  for (int look = 0; look < 6; ++look) {
    world.sampled(0, 10);
    const auto asked = world.now.count();
    REQUIRE(asked_for_end(world, 2'001));
    interval = world.now.count() - asked;
  }
  CHECK(interval == 2'000);
}

TEST_CASE("... and so is one that moved to a worker that has not opened it yet (A2)", "[slicer]") {
  SlicerOptions options;
  options.slots = 2;
  options.rebalance_delay = Milliseconds{500};
  SlicerFixture world{options};
  world.found(2, 10);
  world.all_ready();
  world.complete_all();
  Accusation killed;
  killed.cause = LossCause::Killed;
  world.lose(1, killed);
  REQUIRE(world.owner(1) == 0);
  world.produce(1, 20);
  world.complete_all();
  world.sampled(1, 20);  // the slow sample: slot 0 watches it
  world.ready(1);
  world.advance(600);
  REQUIRE(world.owner(1) == 1);
  world.sampled(1, 20);
  world.asked_ends.clear();
  for (int ms = 0; ms < 101; ++ms) world.advance(1);
  CHECK(std::count(world.asked_ends.begin(), world.asked_ends.end(), TopicPartition{0, 1}) == 1);
}

TEST_CASE("a hint above the host's next confirmed end is a violation (C2)", "[slicer]") {
  SlicerFixture world;
  world.found(1, 10);
  world.ready(0);
  world.produce(0, 50);
  REQUIRE(asked_for_end(world, 60));
  world.sampled(0, 20);
  REQUIRE(world.violations.size() == 1);
  CHECK(world.violations[0].rule == Rule::HintBeyondEnd);
  CHECK(world.status(0).visible_end == 20);
}

TEST_CASE("... of the worker whose hint it was, not of one that said less since", "[slicer]") {
  SlicerOptions options;
  options.slots = 2;
  options.assignment = Assignment::Any;
  options.stable_slices = true;
  SlicerFixture world{options};
  world.found(1, 10);
  world.ready(0);
  world.ready(1);
  world.asked_ends.clear();
  world.seen(0, 0, 50);
  REQUIRE(world.asked_ends.size() == 1);
  world.seen(1, 0, 20);
  world.sampled(0, 20);
  REQUIRE(world.violations.size() == 1);
  CHECK(world.violations[0].slot == 0);
}

TEST_CASE("... but not when the leader changed in between, or may have", "[slicer]") {
  SlicerFixture world;
  world.found(1, 10);
  world.ready(0);
  world.produce(0, 50);
  REQUIRE(asked_for_end(world, 60));
  world.sampled(0, 20, GENERATE(LeaderChange::Seen, LeaderChange::Unknown));
  CHECK(world.violations.empty());
  CHECK(world.status(0).visible_end == 20);
}

TEST_CASE("... or soon after the leader changed: it may still tell of the old one", "[slicer]") {
  SlicerFixture world;
  world.found(1, 10);
  world.ready(0);
  REQUIRE(asked_for_end(world, 60));
  world.produce(0, 50);
  world.sampled(0, 20, LeaderChange::Seen);
  REQUIRE(asked_for_end(world, 4'000));
  world.sampled(0, 20);
  CHECK(world.violations.empty());
  CHECK(world.status(0).visible_end == 20);
  world.advance(10'000);
  world.sampled(0, 20);
  world.produce(0, 50);
  REQUIRE(asked_for_end(world, 4'000));
  world.sampled(0, 20);
  CHECK(world.violations.size() == 1);
}

TEST_CASE("... and not when the hint came after the sample was asked for", "[slicer]") {
  SlicerFixture world;
  world.found(1, 10);
  world.ready(0);
  REQUIRE(asked_for_end(world, 60));
  world.produce(0, 50);
  world.sampled(0, 20);
  CHECK(world.violations.empty());
  CHECK(world.status(0).visible_end == 50);
}

TEST_CASE("slices cut from a wrong hint run only up to the confirmed end afterwards", "[slicer]") {
  SlicerFixture world;
  world.found(1, 0);
  world.ready(0);
  world.produce(0, 50);
  REQUIRE(asked_for_end(world, 60));
  world.sampled(0, 20);
  world.lose(0, {});
  world.ready(0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).end == 20);
}

TEST_CASE("a log that ends below the position is not cut, and is shown (F5, D1)", "[slicer]") {
  SlicerFixture world;
  FoundPartition found;
  found.tp = {0, 0};
  found.start_offset = 100;
  found.end = 40;
  world.found_one(found);
  world.slicer().discovery_done(world.now);
  world.ready(0);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).wait == WaitReason::BeyondEnd);
  CHECK(world.status(0).lag == 0);
  CHECK(world.noticed(Notice::Kind::BeyondEnd));
  world.sampled(0, 120);
  CHECK(world.in_ring(0).start == 40);  // what was written since may be below the position
}

TEST_CASE("expired under earliest: the lost range is one gap row, work goes on (B01, R4)",
          "[slicer]") {
  SlicerFixture world;
  world.found(1, 15);
  world.ready(0);
  world.complete_all();
  world.produce(0, 30);
  world.expire(0);
  CHECK(world.status(0).wait == WaitReason::Verifying);
  REQUIRE(world.asked_lows.size() == 1);
  CHECK(world.in_flight(0) == 0);
  world.slicer().low_observed({0, 0}, 22, 30, world.now);
  world.step();
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].start == 15);
  CHECK(world.stored.gaps[0].end == 22);
  CHECK(world.stored.gaps[0].records_max == 7);
  CHECK(world.stored.gaps[0].cause == state::Cause::Expired);
  CHECK(world.status(0).frontier == 22);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 22);
  CHECK(world.in_ring(0).end == 30);
}

TEST_CASE("what was settled out of turn before the host's start is not lost by expiry (R4)",
          "[slicer]") {
  SlicerFixture world;
  FoundPartition found;
  found.tp = {0, 0};
  found.row = state::PartitionRow{};
  found.row->topic = "orders";
  found.row->frontier = 50;
  const auto restore = [&](std::uint64_t id, std::int64_t start, std::int64_t end,
                           state::SliceState state) {
    state::SliceRow& row = found.slices.emplace_back();
    row.id = id;
    row.topic = "orders";
    row.start = start;
    row.end = end;
    row.state = state;
  };
  restore(40, 80, 100, state::SliceState::Completed);
  restore(41, 110, 120, state::SliceState::Retrying);
  restore(42, 130, 180, state::SliceState::Completed);
  found.end = 200;
  world.found_one(found);
  world.slicer().discovery_done(world.now);
  world.slicer().low_observed({0, 0}, 150, 200, world.now);
  world.step();
  REQUIRE(world.stored.gaps.size() == 2);
  CHECK(world.stored.gaps[0].start == 50);
  CHECK(world.stored.gaps[0].end == 80);
  CHECK(world.stored.gaps[1].start == 100);
  CHECK(world.stored.gaps[1].end == 130);
  CHECK(world.status(0).frontier == 180);
  world.ready(0);
  CHECK(world.in_ring(0).start == 180);
}

TEST_CASE("expired under latest jumps to the end, on record", "[slicer]") {
  SlicerOptions options;
  options.expired = ExpiredPolicy::Latest;
  SlicerFixture world{options};
  world.found(1, 30);
  world.ready(0);
  world.expire(0);
  world.slicer().low_observed({0, 0}, 22, 30, world.now);
  world.step();
  CHECK(world.status(0).frontier == 30);
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].end == 30);
  // What is told is what the log holds, not what was jumped over (B01).
  REQUIRE(world.noticed(Notice::Kind::Expired));
  CHECK(world.notices.back().text == "the log is 22..30, auto.offset.reset = latest");
}

TEST_CASE("expired under none halts with both offsets, position unchanged", "[slicer]") {
  SlicerOptions options;
  options.expired = ExpiredPolicy::None;
  SlicerFixture world{options};
  world.found(1, 30);
  world.ready(0);
  world.expire(0);
  world.slicer().low_observed({0, 0}, 22, 30, world.now);
  world.step();
  REQUIRE(world.halted.size() == 1);
  CHECK(world.halted[0].offset == 0);
  CHECK(world.halted[0].error.message ==
        "offset 0 has expired: the log is 22..30, 22 offsets are gone; auto.offset.reset = none");
  CHECK(world.status(0).frontier == 0);
  CHECK(world.stored.gaps.empty());
}

TEST_CASE("a worker's word alone skips nothing: the host must find the low watermark (C3)",
          "[slicer]") {
  SlicerFixture world;
  world.found(1, 30);
  world.ready(0);
  world.expire(0);
  world.slicer().low_observed({0, 0}, 0, 30, world.now);
  world.step();
  CHECK(world.stored.gaps.empty());
  CHECK(world.noticed(Notice::Kind::Unconfirmed));
  world.advance(1'000);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 0);
  CHECK(world.in_ring(0).attempt == 1);
}

TEST_CASE("a partition that halted while an expiry was being verified asks again when restarted",
          "[slicer]") {
  SlicerOptions options;
  options.slice_records_max = 10;
  options.attempts_max = 1;
  SlicerFixture world{options};
  world.found(1, 30);
  world.ready(0);
  world.send(0, world.answer(0, 1, ipc::ReportKind::Expired));
  Accusation accusation;
  accusation.cause = LossCause::Exit;
  accusation.slice_id = world.in_ring(0).slice_id;
  world.lose(0, accusation);
  REQUIRE(world.halted.size() == 1);
  REQUIRE(world.asked_lows.size() == 1);
  world.slicer().low_observed({0, 0}, 0, 30, world.now);
  world.ready(0);
  world.slicer().restart_halted(world.now);
  world.step();
  REQUIRE(world.asked_lows.size() == 2);
  world.slicer().low_observed({0, 0}, 0, 30, world.now);
  world.advance(1'000);
  CHECK(world.in_ring(0).start == 0);
}

TEST_CASE("a verdict that Kafka does not give is asked for again", "[slicer]") {
  SlicerFixture world;
  world.found(1, 30);
  world.ready(0);
  world.expire(0);
  REQUIRE(world.asked_lows.size() == 1);
  world.slicer().sample_failed({0, 0}, world.now);
  for (int i = 0; i < 50 && world.asked_lows.size() < 2; ++i) world.advance(50);
  CHECK(world.asked_lows.size() == 2);
}

TEST_CASE("expired at the start, before anything was cut, is found from the low watermark",
          "[slicer]") {
  SlicerFixture world;
  world.found(1, 30);
  world.slicer().low_observed({0, 0}, 10, 30, world.now);
  world.step();
  CHECK(world.status(0).frontier == 10);
  world.ready(0);
  CHECK(world.in_ring(0).start == 10);
}

}  // namespace sluice::slicer
