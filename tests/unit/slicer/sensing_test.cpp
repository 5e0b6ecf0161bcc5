// Where logs end (slicer.md C2) and what is no longer in them (section 4, B01).
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

TEST_CASE("... but not when the leader changed in between", "[slicer]") {
  SlicerFixture world;
  world.found(1, 10);
  world.ready(0);
  world.produce(0, 50);
  REQUIRE(asked_for_end(world, 60));
  world.sampled(0, 20, LeaderChange::Seen);
  CHECK(world.violations.empty());
  CHECK(world.status(0).visible_end == 20);
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

TEST_CASE("a log that ends below the position is not cut, and is shown (F5)", "[slicer]") {
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
  CHECK(world.in_ring(0).start == 100);
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
  CHECK(world.halted[0].error.message.find("offset 0 ") != std::string::npos);
  CHECK(world.halted[0].error.message.find("22") != std::string::npos);
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
