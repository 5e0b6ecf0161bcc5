// How executions end: once jobs, stops (slicer.md S1, B04, B18), and options that are refused.
#include <catch2/catch.hpp>

#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions once(OnFailure on_failure = OnFailure::Halt) {
  SlicerOptions options;
  options.mode = Mode::Once;
  options.slice_records_max = 100;
  options.credit_records = 400;
  options.attempts_max = 1;
  options.on_failure = on_failure;
  return options;
}

}  // namespace

TEST_CASE("a once execution completes when everything up to its ends is settled and durable",
          "[slicer]") {
  SlicerFixture world{once()};
  world.found(3, 250);
  world.ready(0);
  world.persist_at_once = false;
  world.complete_all();
  world.advance(10);
  CHECK(world.outcomes.empty());
  world.persist();
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::Completed);
}

TEST_CASE("records that come after the end was taken are not read (A5)", "[slicer]") {
  SlicerFixture world{once()};
  world.found(1, 50);
  world.ready(0);
  world.produce(0, 500);
  world.sampled(0, 500);
  world.complete_all();
  CHECK(world.status(0).frontier == 50);
  CHECK(world.slicer().counts().published == 1);
  CHECK(world.outcomes.at(0) == Outcome::Completed);
}

TEST_CASE("a once execution over empty partitions completes without a worker (A5)", "[slicer]") {
  SlicerFixture world{once()};
  world.found(3, 0);
  world.advance(1);
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::Completed);
}

TEST_CASE("an execution does not end before its partitions are known", "[slicer]") {
  SlicerFixture world{once()};
  world.advance(1'000);
  CHECK(world.outcomes.empty());
}

TEST_CASE("something parked: COMPLETED_WITH_GAPS (S1)", "[slicer]") {
  SlicerFixture world{once(OnFailure::Park)};
  world.found(1, 250);
  world.ready(0);
  world.fail(0);
  world.return_all(0);
  world.sampled(0, 250);
  world.complete_all();
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::CompletedWithGaps);
}

TEST_CASE("something halted: FAILED, but only when all others have finished", "[slicer]") {
  SlicerFixture world{once()};
  world.found(2, 150);
  world.ready(0);
  world.fail(0);
  CHECK(world.outcomes.empty());
  world.complete_all();
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::Failed);
  world.slicer().restart_halted(world.now);
  world.step();
  world.sampled(0, 150);
  world.sampled(1, 150);
  world.complete_all();
  REQUIRE(world.outcomes.size() == 2);
  CHECK(world.outcomes[1] == Outcome::Completed);
}

TEST_CASE("gaps of an earlier life of the execution count", "[slicer]") {
  SlicerOptions options = once();
  options.gaps_before = 1;
  SlicerFixture world{options};
  world.found(1, 0);
  world.advance(1);
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::CompletedWithGaps);
}

TEST_CASE("everything expired before a once end: the execution still ends", "[slicer]") {
  SlicerFixture world{once()};
  world.found(1, 100);
  world.slicer().low_observed({0, 0}, 400, 500, world.now);
  world.step();
  CHECK(world.status(0).frontier == 100);
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::CompletedWithGaps);
}

TEST_CASE("a stop publishes nothing more and ends when nothing is in flight", "[slicer]") {
  SlicerOptions options = once();
  options.mode = Mode::Persistent;
  SlicerFixture world{options};
  world.found(1, 10'000);
  world.ready(0);
  world.slicer().stop(world.now);
  world.step();
  REQUIRE(world.in_flight(0) == 4);
  world.complete(0);
  world.release(0, 130);
  CHECK(world.outcomes.empty());
  world.return_all(0);
  CHECK(world.in_flight(0) == 0);
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::Stopped);
  CHECK(world.status(0).durable_frontier == 130);
}

TEST_CASE("a stop ends also when the worker dies instead of answering", "[slicer]") {
  SlicerOptions options = once();
  options.mode = Mode::Persistent;
  SlicerFixture world{options};
  world.found(1, 10'000);
  world.ready(0);
  world.slicer().stop(world.now);
  world.lose(0, {});
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] == Outcome::Stopped);
}

TEST_CASE("workers that leave because of a stop give nothing to each other (A1)", "[slicer]") {
  SlicerOptions options = once();
  options.mode = Mode::Persistent;
  options.slots = 3;
  SlicerFixture world{options};
  world.found(6, 0);
  world.all_ready();
  std::vector<Slot> before;
  for (std::int32_t partition = 0; partition < 6; ++partition) {
    before.push_back(world.owner(partition));
  }
  world.slicer().stop(world.now);
  Accusation stopped;
  stopped.cause = LossCause::Stopped;
  for (Slot slot = 0; slot < 3; ++slot) world.lose(slot, stopped);
  world.advance(10'000);
  for (std::int32_t partition = 0; partition < 6; ++partition) {
    CHECK(world.owner(partition) == before[static_cast<std::size_t>(partition)]);
  }
}

TEST_CASE("what no slicer can work with is refused by a sentence that names the key", "[slicer]") {
  SlicerOptions options;
  CHECK(validate(options).has_value());
  options.credit_records = 5;
  CHECK(validate(options).error().message().find("worker.credit.records") != std::string::npos);
}

TEST_CASE("what was skipped before a restart of the host still counts at the end (S1)",
          "[slicer]") {
  SlicerOptions options;
  options.mode = Mode::Once;
  options.gaps_before = GENERATE(0, 1);
  SlicerFixture world{options};
  FoundPartition found;
  found.tp = {0, 0};
  found.end = found.once_end = 10;
  world.found_one(found);
  world.slicer().discovery_done(world.now);
  world.all_ready();
  world.complete_all();
  REQUIRE(world.outcomes.size() == 1);
  CHECK(world.outcomes[0] ==
        (options.gaps_before == 0 ? Outcome::Completed : Outcome::CompletedWithGaps));
}

}  // namespace sluice::slicer
