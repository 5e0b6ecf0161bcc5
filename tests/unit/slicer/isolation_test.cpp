// Isolate (slicer.md F3): the one record that a plugin cannot survive is found and set aside, and
// nothing else is.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "unit/slicer/poison_world.hpp"

namespace sluice::slicer {

TEST_CASE("one poison record in 10,000 costs two deaths and itself (F3)", "[slicer]") {
  PoisonWorld test{isolating(2, 10'000)};
  test.poison = {{0, 5'678}};
  test.world.found(4, 20'000);
  test.run();
  CHECK(test.deaths == 2);
  CHECK(test.world.halted.empty());
  for (std::int32_t partition = 0; partition < 4; ++partition) {
    CHECK(test.world.status(partition).frontier == 20'000);
    CHECK(test.records(partition) == (partition == 0 ? 19'999 : 20'000));
  }
  CHECK_FALSE(test.delivered.contains({0, 5'678}));
  REQUIRE(test.world.stored.gaps.size() == 1);
  CHECK(test.world.stored.gaps[0].cause == state::Cause::Poison);
  CHECK(test.world.stored.gaps[0].start == 5'678);
  CHECK(test.world.stored.gaps[0].end == 5'679);
  CHECK(test.world.stored.gaps[0].detail == "SIGSEGV in put");
  CHECK(test.world.slicer().counts().isolated == 1);
}

TEST_CASE("a plugin that dies in flush is found by halves, in at most log2(n) + 1 deaths (F3)",
          "[slicer]") {
  const auto offset = GENERATE(0, 1, 499, 500, 777, 998, 999);
  PoisonWorld test{isolating(1, 1'000)};
  // A plugin that buffers dies long after the record was put: the guess is wrong, once.
  test.death = GENERATE(Death::InFlush, Death::WrongPlace);
  test.poison = {{0, 1'000 + offset}};
  test.world.found(1, 3'000);
  test.run();
  INFO("record " << offset << ", deaths " << test.deaths);
  // One more than in the slice alone: the first flush may hold other slices too.
  CHECK(test.deaths <= std::ceil(std::log2(1'000)) + 2);
  CHECK(test.world.status(0).frontier == 3'000);
  CHECK(test.records(0) == 2'999);
  CHECK(test.world.stored.gaps.size() == 1);
}

TEST_CASE("a sink that can only fail a batch is narrowed down to its record (B12)", "[slicer]") {
  PoisonWorld test{isolating(2)};
  test.death = Death::Fails;
  test.poison = {{0, 150}};
  test.world.found(2, 300);
  test.run();
  CHECK(test.world.status(0).frontier == 300);
  CHECK(test.records(0) == 299);
  CHECK(test.records(1) == 300);
  CHECK(test.world.halted.empty());
  CHECK(test.world.stored.gaps.size() == 1);
}

TEST_CASE("a convicted record goes to the dead letter topic, through no plugin (F3.3)",
          "[slicer]") {
  auto options = isolating(2);
  options.dead_letters = DeadLetters::Topic;
  options.mode = Mode::Once;
  PoisonWorld test{options};
  test.poison = {{0, 42}, {1, 250}};
  for (std::int32_t partition = 0; partition < 2; ++partition) {
    FoundPartition found;
    found.tp = {0, partition};
    found.end = found.once_end = 300;
    test.world.found_one(found);
  }
  test.world.slicer().discovery_done(test.world.now);
  test.run();
  CHECK(test.dead_lettered == std::vector<std::int64_t>{42, 250});
  REQUIRE(test.world.dead_letters.size() == 2);
  CHECK(test.world.dead_letters[0].error.stage == "CRASH");
  CHECK(test.world.slicer().counts().dead_lettered == 2);
  CHECK(test.world.status(0).frontier == 300);
  REQUIRE(test.world.outcomes.size() == 1);
  // Dead letters alone are a clean end (S1).
  CHECK(test.world.outcomes[0] == Outcome::Completed);
}

TEST_CASE("a dead letter that cannot be written holds its partition, never the record's place",
          "[slicer]") {
  auto options = isolating(1);
  options.dead_letters = DeadLetters::Topic;
  PoisonWorld test{options};
  test.poison = {{0, 42}};
  test.world.found(1, 100);
  while (test.world.dead_letters.empty()) test.run(1);
  for (int attempt = 0; attempt < 3; ++attempt) {
    test.world.fail(0, ipc::FailureClass::Kafka);
    CHECK(test.world.status(0).frontier == 42);
    test.world.advance(60'000);
    REQUIRE(test.world.in_flight(0) == 1);
    CHECK((test.world.in_ring(0).flags & ipc::kDeadLetterOnly) != 0);
  }
  test.run();
  CHECK(test.world.status(0).frontier == 100);
}

TEST_CASE("an outage that looks like crashes convicts nobody, and work goes on after it (F3.2)",
          "[slicer]") {
  const auto death = GENERATE(Death::InPut, Death::InFlush, Death::Fails);
  PoisonWorld test{isolating(2)};
  test.death = death;
  test.world.found(4, 500);
  test.outage = true;
  test.run();
  CHECK(test.world.slicer().counts().isolated == 0);
  CHECK(test.world.stored.gaps.empty());
  test.end_outage();
  for (std::int32_t partition = 0; partition < 4; ++partition) {
    CHECK(test.world.status(partition).frontier == 500);
    CHECK(test.records(partition) == 500);
  }
  CHECK(test.world.stored.gaps.empty());
}

// A call that hangs for a minute is judged long after the database came back for others.
TEST_CASE("what was completed while a record ran proves nothing about that run (F3.2)",
          "[slicer]") {
  SlicerFixture world{isolating(2)};
  const auto runs_again = [&] {
    world.ready(0);
    for (int i = 0; i < 100 && world.in_flight(0) == 0; ++i) world.advance(1'000);
    REQUIRE(world.in_flight(0) == 1);
  };
  world.found(2, 1);
  world.all_ready();
  world.crash(0, world.in_ring(0).slice_id);  // the outage begins
  runs_again();
  world.complete(1);  // it is over, but not for the call that hangs since before
  world.crash(0, world.in_ring(0).slice_id);
  REQUIRE(world.slicer().counts().isolated == 0);
  runs_again();
  world.crash(0, world.in_ring(0).slice_id);  // this run began when all was well
  CHECK(world.slicer().counts().isolated == 1);
}

TEST_CASE(
    "a record that failed once, with others in hand, is tried before what is behind it (F3.2)",
    "[slicer]") {
  SlicerFixture world{isolating(1, 1)};
  world.found(1, 3);
  world.all_ready();
  world.crash(0, world.in_ring(0).slice_id);
  world.ready(0);
  for (std::int64_t offset = 0; offset < 3; ++offset) {
    for (int i = 0; i < 100 && world.in_flight(0) == 0; ++i) world.advance(1'000);
    REQUIRE(world.in_flight(0) > 0);
    CHECK(world.in_ring(0).start == offset);
    CHECK(((world.in_ring(0).flags & ipc::kAlone) != 0) == (offset == 0));
    world.complete(0);
  }
  CHECK(world.status(0).frontier == 3);
}

TEST_CASE("poison at the very beginning of the only partition is told by what comes behind it",
          "[slicer]") {
  PoisonWorld test{isolating(1)};
  test.poison = {{0, 0}};
  test.world.found(1, 300);
  test.run();
  CHECK(test.world.status(0).frontier == 300);
  CHECK(test.records(0) == 299);
  CHECK(test.deaths == 3);
  CHECK(test.world.halted.empty());
  REQUIRE(test.world.stored.gaps.size() == 1);
  CHECK(test.world.stored.gaps[0].end == 1);
}

TEST_CASE("what was tried behind a record that was put off is not lost again when it expires",
          "[slicer]") {
  PoisonWorld test{isolating(1)};
  test.death = Death::Fails;
  test.poison = {{0, 0}};
  test.world.found(1, 300);
  while (test.records(0) == 0) test.run(1);  // something behind it is done
  while (test.world.in_flight(0) > 0) test.world.return_all(0);
  REQUIRE(test.world.status(0).frontier == 0);
  test.world.slicer().low_observed({0, 0}, 250, 300, test.world.now);
  test.world.step();
  std::int64_t lost = 0;
  for (const auto& gap : test.world.stored.gaps) lost += gap.end - gap.start;
  CHECK(lost == 250 - test.records(0));
  test.run();
  CHECK(test.world.status(0).frontier == 300);
}

TEST_CASE("a lone poison record with nothing else to try halts, and is convicted when there is",
          "[slicer]") {
  const auto options = isolating(1);
  PoisonWorld test{options};
  test.poison = {{0, 0}};
  test.world.found(1, 1);
  test.run();
  CHECK(test.world.halted.size() == 1);
  CHECK(test.world.slicer().counts().isolated == 0);
  // Of the last attempt nobody says that there is another one.
  const auto& notices = test.world.notices;
  CHECK(std::count_if(notices.begin(), notices.end(), [](const Notice& notice) {
          return notice.kind == Notice::Kind::Undecided;
        }) == options.attempts_max - 1);
  test.world.sampled(0, 50);
  test.world.slicer().restart_halted(test.world.now);
  test.world.step();
  test.run();
  CHECK(test.world.status(0).frontier == 50);
  CHECK(test.records(0) == 49);
}

TEST_CASE("more verdicts in an hour than slice.isolate.max halt the partition (F3.2)", "[slicer]") {
  PoisonWorld test{isolating(1)};
  for (std::int64_t offset = 10; offset < 100; offset += 20) test.poison.insert({0, offset});
  test.world.found(1, 100);
  test.run();
  CHECK(test.world.slicer().counts().isolated == 3);
  REQUIRE(test.world.halted.size() == 1);
  CHECK(test.world.status(0).frontier == 70);
  // An hour later the next three may go.
  test.world.advance(3'600'000);
  test.world.slicer().restart_halted(test.world.now);
  test.world.step();
  test.run();
  CHECK(test.world.status(0).frontier == 100);
  CHECK(test.records(0) == 95);
}

TEST_CASE("no other partition sees a worker die of the poison but by the first death (F1)",
          "[slicer]") {
  PoisonWorld test{isolating(4)};
  test.death = Death::InFlush;
  test.poison = {{5, 33}};
  test.world.found(16, 200);
  test.run();
  for (std::int32_t partition = 0; partition < 16; ++partition) {
    CHECK(test.world.status(partition).frontier == 200);
    if (partition != 5) CHECK(test.deaths_by_partition[partition] <= 1);
  }
  for (const auto& row : test.world.stored.slices) CHECK(row.second.attempt == 1);
}

TEST_CASE("a host that dies in the middle of an isolation goes on with the parts (F3, S5)",
          "[slicer]") {
  const auto turns = GENERATE(range(3, 40));
  PoisonWorld test{isolating(1)};
  test.death = Death::InFlush;
  test.poison = {{0, 142}};
  test.world.found(1, 300);
  test.run(turns);
  PoisonWorld again{isolating(1)};
  again.death = Death::InFlush;
  again.poison = test.poison;
  again.world.stored = test.world.stored;
  again.world.restart_host(300);
  again.run();
  CHECK(again.world.status(0).frontier == 300);
  std::set<std::int64_t> all;
  for (const auto* side : {&test, &again}) {
    for (const auto& [where, times] : side->delivered) all.insert(where.second);
  }
  CHECK(all.size() == 299);
  CHECK_FALSE(all.contains(142));
  for (const auto& row : again.world.stored.slices) {
    CHECK(row.second.state != state::SliceState::Isolating);
    CHECK(state::is_settled(row.second.state));
  }
}

TEST_CASE("a record that was to be a dead letter is none where the next start has no topic (F3)",
          "[slicer]") {
  SlicerOptions options = isolating(1);
  options.dead_letters = DeadLetters::Topic;
  PoisonWorld test{options};
  test.world.found(1, 200);
  test.poison = {{0, 42}};
  while (test.world.dead_letters.empty()) test.run(1);
  // Its letter was never answered; the user takes the topic out of the configuration.
  test.world.options.dead_letters = DeadLetters::None;
  test.world.restart_host(200);
  test.world.all_ready();
  const auto& ring = test.world.ring[0];
  CHECK(std::none_of(ring.begin(), ring.end(), [](const ipc::Command& command) {
    return (command.flags & ipc::kDeadLetterOnly) != 0;
  }));
  test.run();
  CHECK(test.world.status(0).frontier == 200);
  CHECK(test.delivered.size() == 199);
}

}  // namespace sluice::slicer
