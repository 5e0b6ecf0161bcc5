// What a failure costs whom (slicer.md section 4, F2).
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

/// Fails the oldest slice of slot 0 and waits until it is back.
void fail_and_wait(SlicerFixture& world, ipc::FailureClass failure) {
  world.fail(0, failure);
  world.return_all(0);
  world.advance(60'000);
}

}  // namespace

TEST_CASE("a plugin's FAIL is retried under the slicer with a new attempt and a back-off",
          "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 100);
  world.ready(0);
  const auto id = world.in_ring(0).slice_id;
  world.fail(0);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).wait == WaitReason::Retrying);
  world.advance(40);
  CHECK(world.in_flight(0) == 0);
  world.advance(60);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).slice_id == id);
  CHECK(world.in_ring(0).attempt == 2);
}

TEST_CASE("later slices of the lane wait for a failed one", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 400);
  world.ready(0);
  world.fail(0);
  world.return_all(0);
  CHECK(world.in_flight(0) == 0);
  world.advance(1'000);
  REQUIRE(world.in_flight(0) == 4);
  CHECK(world.in_ring(0).start == 0);
  CHECK(world.in_ring(0, 1).attempt == 1);
}

TEST_CASE("other partitions of the worker go on while one retries", "[slicer]") {
  SlicerFixture world{small()};
  world.found(2, 100);
  world.ready(0);
  world.fail(0);
  REQUIRE(world.in_flight(0) == 1);
  world.complete(0);
  CHECK(world.status(0).frontier + world.status(1).frontier == 100);
}

TEST_CASE("slice.attempts.max used up halts the partition: nothing is lost, order is kept",
          "[slicer]") {
  SlicerFixture world{small()};
  world.found(2, 100);
  world.ready(0);
  const std::int32_t bad = world.in_ring(0).partition;
  world.fail(0);
  world.complete(0);  // the other partition
  for (int i = 0; i < 3; ++i) {
    world.advance(60'000);
    REQUIRE(world.in_flight(0) == 1);
    world.fail(0);
  }
  REQUIRE(world.halted.size() == 1);
  CHECK(world.halted[0].tp.partition == bad);
  CHECK(world.halted[0].attempts == 4);
  CHECK(world.halted[0].offset == 0);
  CHECK(world.halted[0].error.plugin == "file");
  CHECK(world.halted[0].error.message == "disk full");
  CHECK(world.status(bad).state == PartitionState::Halted);
  world.advance(600'000);
  CHECK(world.in_flight(0) == 0);
  world.produce(1 - bad, 150);
  CHECK(world.in_flight(0) == 1);
  REQUIRE(world.rows_of(bad).size() == 1);
  CHECK(world.rows_of(bad)[0].halted);
  CHECK(world.rows_of(bad)[0].state == state::SliceState::Retrying);
}

TEST_CASE("a halt names the offset that failed, the frontier stays before its slice (B12)",
          "[slicer]") {
  SlicerOptions options = small();
  options.attempts_max = 1;
  SlicerFixture world{options};
  world.found(1, 100);
  world.ready(0);
  ipc::Report report = world.answer(0, 0, ipc::ReportKind::Failed);
  report.failure = static_cast<std::uint16_t>(ipc::FailureClass::Errant);
  report.next_offset = 50;
  world.send(0, report);
  REQUIRE(world.halted.size() == 1);
  CHECK(world.halted[0].offset == 50);
  CHECK(world.status(0).halted_at == 50);
  CHECK(world.status(0).frontier == 0);
}

TEST_CASE("halt_all asks back what workers hold and publishes nothing more (S3)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(2, 1'000);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 4);
  world.slicer().halt_all({.stage = {}, .plugin = {}, .code = 0, .message = "the group is taken"},
                          world.now);
  world.step();
  REQUIRE(world.halted.size() == 2);
  CHECK(world.halted[0].error.message == "the group is taken");
  CHECK(world.revokes.size() == 2);
  // What was done before the worker saw the revoke counts; the rest comes back and stays.
  world.complete(0);
  world.return_all(0);
  world.produce(0, 2'000);
  world.produce(1, 2'000);
  world.advance(600'000);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).frontier + world.status(1).frontier == 100);
  for (const std::int32_t partition : {0, 1}) {
    CHECK(world.status(partition).state == PartitionState::Halted);
    CHECK(world.status(partition).text == "the group is taken");
  }
  CHECK(world.violations.empty());
  CHECK(world.halted.size() == 2);
}

TEST_CASE("restart.policy starts nothing again that halted before halt_all (S3, F4)", "[slicer]") {
  SlicerOptions options = small();
  options.attempts_max = 1;
  options.restarts_max = -1;
  SlicerFixture world{options};
  world.found(1, 100);
  world.ready(0);
  world.fail(0);
  REQUIRE(world.status(0).state == PartitionState::Halted);
  world.slicer().halt_all({.stage = {}, .plugin = {}, .code = 0, .message = "the group is taken"},
                          world.now);
  world.step();
  world.advance(3'600'000);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).state == PartitionState::Halted);
}

TEST_CASE("what halt_all halted goes on after a restart, under fences that no revoke has",
          "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 300);
  world.ready(0);
  world.slicer().halt_all({.stage = {}, .plugin = {}, .code = 0, .message = "the group is taken"},
                          world.now);
  world.step();
  world.return_all(0);
  world.slicer().restart_halted(world.now);
  world.step();
  world.slicer().low_observed({0, 0}, 0, 300, world.now);
  world.advance(60'000);
  REQUIRE(world.in_flight(0) == 3);
  REQUIRE(world.revokes.size() == 1);
  CHECK(world.in_ring(0).fence > world.revokes[0].fence);
  world.complete_all();
  CHECK(world.status(0).frontier == 300);
}

TEST_CASE("a once execution that halt_all stopped ends FAILED when the workers have answered",
          "[slicer]") {
  SlicerOptions options = small();
  options.mode = Mode::Once;
  SlicerFixture world{options};
  world.found(1, 1'000);
  world.ready(0);
  REQUIRE(world.in_flight(0) > 0);
  world.slicer().halt_all({.stage = {}, .plugin = {}, .code = 0, .message = "the group is taken"},
                          world.now);
  world.step();
  CHECK(world.outcomes.empty());
  world.return_all(0);
  CHECK(world.outcomes == std::vector{Outcome::Failed});
}

TEST_CASE("a restart of what was halted gives it all its attempts again (F4)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 100);
  world.ready(0);
  for (int i = 0; i < 4; ++i) fail_and_wait(world, ipc::FailureClass::PluginFail);
  REQUIRE(world.halted.size() == 1);
  world.slicer().restart_halted(world.now);
  world.step();
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).attempt == 1);
  world.complete(0);
  CHECK(world.status(0).frontier == 100);
}

TEST_CASE("park sets the slice aside, on record, and goes on behind it", "[slicer]") {
  SlicerFixture world{small(OnFailure::Park)};
  world.found(1, 300);
  world.ready(0);
  for (int i = 0; i < 3; ++i) fail_and_wait(world, ipc::FailureClass::PluginFail);
  world.produce(0, 300);
  world.fail(0);
  CHECK(world.halted.empty());
  CHECK(world.status(0).frontier == 100);
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].cause == state::Cause::Parked);
  CHECK(world.stored.gaps[0].detail == "disk full");
  const auto parked = world.rows_of(0);
  REQUIRE_FALSE(parked.empty());
  CHECK(parked[0].state == state::SliceState::Parked);
  CHECK(parked[0].attempt == 4);
  world.complete_all();
  CHECK(world.status(0).frontier == 300);
}

TEST_CASE("what the environment did is never charged and never parked, but halts in the end (F2)",
          "[slicer]") {
  const auto failure = GENERATE(ipc::FailureClass::RetryUsedUp, ipc::FailureClass::NotConnected);
  SlicerFixture world{small(OnFailure::Park)};
  world.found(1, 100);
  world.ready(0);
  for (int i = 0; i < 3; ++i) {
    fail_and_wait(world, failure);
    REQUIRE(world.in_flight(0) == 1);
    CHECK(world.in_ring(0).attempt == 1);
  }
  world.fail(0, failure);
  CHECK(world.halted.size() == 1);
  CHECK(world.stored.gaps.empty());
  CHECK(world.slicer().counts().charged == 0);
}

TEST_CASE("Kafka's troubles are waited out, however long", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 100);
  world.ready(0);
  for (int i = 0; i < 20; ++i) fail_and_wait(world, ipc::FailureClass::Kafka);
  CHECK(world.halted.empty());
  CHECK(world.in_ring(0).attempt == 1);
}

TEST_CASE("environment failures count only in a row", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 1'000);
  world.ready(0);
  for (int i = 0; i < 9; ++i) {
    for (int k = 0; k < 3; ++k) fail_and_wait(world, ipc::FailureClass::RetryUsedUp);
    world.complete(0);
  }
  CHECK(world.halted.empty());
  CHECK(world.status(0).frontier == 900);
}

TEST_CASE("a configuration error fails the job at once", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 100);
  world.ready(0);
  world.fail(0, ipc::FailureClass::Configuration);
  REQUIRE(world.job_failures.size() == 1);
  CHECK(world.job_failures[0].error.message == "disk full");
}

TEST_CASE("a completion after a failed attempt keeps a row of its own (R3)", "[slicer]") {
  SlicerFixture world{small()};
  world.found(1, 300);
  world.ready(0);
  world.complete(0);
  fail_and_wait(world, ipc::FailureClass::PluginFail);
  world.complete_all();
  const auto rows = world.rows_of(0);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].end == 100);
  CHECK(rows[1].attempt == 2);
  CHECK(rows[1].state == state::SliceState::Completed);
  CHECK(rows[1].error->message == "disk full");
  CHECK(rows[2].start == 200);
}

TEST_CASE("a halted partition starts again by itself, later each time, as often as it may (F4)",
          "[slicer]") {
  SlicerOptions options = small();
  options.attempts_max = 1;
  options.restarts_max = 2;
  options.restart_backoff = Milliseconds{10'000};
  SlicerFixture world{options};
  world.found(1, 100);
  world.ready(0);
  world.fail(0);
  REQUIRE(world.status(0).state == PartitionState::Halted);
  world.advance(4'999);  // half of the delay is chance
  CHECK(world.in_flight(0) == 0);
  world.advance(5'001);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).attempt == 1);
  CHECK(world.noticed(Notice::Kind::Restarted));
  world.fail(0);
  world.advance(9'999);
  CHECK(world.in_flight(0) == 0);
  world.advance(10'001);
  REQUIRE(world.in_flight(0) == 1);
  world.fail(0);
  world.advance(86'400'000);
  CHECK(world.status(0).state == PartitionState::Halted);
}

TEST_CASE("a partition that was healthy for restart.reset.ms has all its restarts again (F4)",
          "[slicer]") {
  SlicerOptions options = small();
  options.attempts_max = 1;
  options.restarts_max = 1;
  SlicerFixture world{options};
  world.found(1, 100);
  world.ready(0);
  world.fail(0);
  world.advance(10'000);
  world.complete(0);
  world.advance(600'000);
  world.sampled(0, 200);
  world.fail(0);
  CHECK(world.status(0).state == PartitionState::Halted);
  world.advance(10'000);
  CHECK(world.in_flight(0) == 1);
}

TEST_CASE("a once execution does not restart what halted: it ends FAILED (S1)", "[slicer]") {
  SlicerOptions options = small();
  options.mode = Mode::Once;
  options.attempts_max = 1;
  options.restarts_max = -1;
  SlicerFixture world{options};
  FoundPartition found;
  found.tp = {0, 0};
  found.end = found.once_end = 10;
  world.found_one(found);
  world.slicer().discovery_done(world.now);
  world.all_ready();
  world.fail(0);
  world.advance(3'600'000);
  CHECK(world.in_flight(0) == 0);
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::Failed);
}

TEST_CASE("what comes back before a record that is suspected runs before it (C3, F3.2)",
          "[slicer]") {
  SlicerOptions options = small(OnFailure::Isolate);
  options.slice_records_max = 1;
  SlicerFixture world{options};
  world.found(1, 5);
  world.ready(0);
  REQUIRE(world.in_ring(0, 3).start == 3);
  world.crash(0, world.in_ring(0, 3).slice_id);
  REQUIRE(world.noticed(Notice::Kind::Isolating));
  world.ready(0);
  world.advance(60'000);
  world.complete(0);
  world.complete(0);
  REQUIRE(world.in_ring(0).start == 2);
  world.expire(0);
  world.slicer().low_observed({0, 0}, 0, 5, world.now);
  world.advance(60'000);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 2);
}

}  // namespace sluice::slicer
