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
  CHECK(world.status(0).frontier == 0);
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

}  // namespace sluice::slicer
