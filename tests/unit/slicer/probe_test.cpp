// Isolate for sinks that name their output after the slice (slicer.md F3.4): the culprit is found
// by probes, and the slice itself runs once more without it, under its own name.
#include <catch2/catch.hpp>
#include <cmath>

#include "unit/slicer/known_log.hpp"
#include "unit/slicer/poison_world.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions searching(std::uint32_t slots = 1, std::int64_t slice_records = 100) {
  SlicerOptions options = isolating(slots, slice_records);
  options.stable_slices = true;
  return options;
}

/// What the sink holds: whole slices, side by side, all of [0, end) but what they leave out.
void check_outputs(const PoisonWorld& test, std::int32_t partition, std::int64_t end,
                   const std::set<std::int64_t>& left_out) {
  std::int64_t reached = 0;
  std::set<std::int64_t> excluded;
  for (const auto& [name, without] : test.named_outputs) {
    if (name.first != partition) continue;
    CHECK(name.second.first == reached);
    reached = name.second.second;
    excluded.insert(without.begin(), without.end());
  }
  CHECK(reached == end);
  CHECK(excluded == left_out);
}

const state::SliceRow& row_at(const SlicerFixture& world, std::int64_t start, std::int64_t end) {
  for (const auto& [id, row] : world.stored.slices) {
    if (row.start == start && row.end == end) return row;
  }
  FAIL("no row of [" << start << ", " << end << ")");
  throw;
}

Accusation stopped() {
  Accusation accusation;
  accusation.cause = LossCause::Stopped;
  return accusation;
}

Accusation died_in_put(const ipc::Command& slice, std::uint32_t position) {
  Accusation accusation;
  accusation.cause = LossCause::Crash;
  accusation.blame = Blame::Record;
  accusation.slice_id = slice.slice_id;
  accusation.phase = ipc::Phase::Put;
  accusation.offset = slice.start;
  accusation.position = position;
  return accusation;
}

}  // namespace

TEST_CASE("a poison record costs two deaths and itself, and its slice keeps its name (F3.4)",
          "[slicer]") {
  auto options = searching(2);
  options.dead_letters = DeadLetters::Topic;
  PoisonWorld test{options};
  test.poison = {{0, 142}};
  test.world.found(2, 400);
  test.run();
  CHECK(test.deaths == 2);
  CHECK(test.world.halted.empty());
  CHECK(test.world.violations.empty());
  CHECK(test.dead_lettered == std::vector<std::int64_t>{142});
  REQUIRE(test.world.dead_letters.size() == 1);
  CHECK(test.world.dead_letters[0].error.stage == "CRASH");
  check_outputs(test, 0, 400, {142});
  check_outputs(test, 1, 400, {});
  for (const auto& [where, times] : test.delivered) CHECK(times == 1);
  REQUIRE(test.world.stored.gaps.size() == 1);
  CHECK(test.world.stored.gaps[0].cause == state::Cause::DeadLettered);
  CHECK(test.world.stored.gaps[0].start == 142);
  CHECK(test.world.stored.gaps[0].detail == "SIGSEGV in put");
  const auto& whole = row_at(test.world, 100, 200);
  CHECK(whole.state == state::SliceState::Completed);
  CHECK(whole.stable);
  CHECK(whole.excluded == "142");
  CHECK(whole.counts.in == 99);
  const auto& culprit = row_at(test.world, 142, 143);
  CHECK(culprit.state == state::SliceState::DeadLettered);
  CHECK(culprit.id > whole.id);              // the newest record of that offset (R5)
  CHECK(test.world.rows_of(0).size() == 5);  // the probes have none
}

TEST_CASE("without a dead letter topic the culprit is skipped, on record (F3.3)", "[slicer]") {
  PoisonWorld test{searching()};
  test.poison = {{0, 101}, {0, 199}};
  test.world.found(1, 300);
  test.run();
  check_outputs(test, 0, 300, {101, 199});
  CHECK(row_at(test.world, 101, 102).cause == state::Cause::Poison);
  CHECK(test.world.slicer().counts().isolated == 2);
}

TEST_CASE("a stable slice is searched by halves where nobody knows the place (F3.1)", "[slicer]") {
  const auto offset = GENERATE(0, 1, 499, 500, 777, 998, 999);
  PoisonWorld test{searching(1, 1'000)};
  test.death = GENERATE(Death::InPut, Death::WrongPlace, Death::Fails);
  test.poison = {{0, 1'000 + offset}};
  test.world.found(1, 3'000);
  test.run();
  INFO("record " << offset << ", deaths " << test.deaths);
  CHECK(test.deaths <= std::ceil(std::log2(1'000)) + 2 + test.world.options.attempts_max);
  CHECK(test.world.status(0).frontier == 3'000);
  check_outputs(test, 0, 3'000, {1'000 + offset});
}

TEST_CASE("plugins see a part as the slice that it is of, whose name is durable (F3.4, C5)",
          "[slicer]") {
  SlicerFixture world{searching()};
  world.found(1, 100);
  world.ready(0);
  const auto whole = world.in_ring(0);
  REQUIRE(whole.end == 100);
  world.crash(0, whole.slice_id);  // nobody knows where
  for (const std::int64_t start : {0, 50}) {
    world.ready(0);
    for (int i = 0; i < 10 && world.in_flight(0) == 0; ++i) world.advance(1'000);
    REQUIRE(world.in_flight(0) == 1);
    const auto part = world.in_ring(0);
    CHECK(part.start == start);
    CHECK(part.end == start + 50);
    CHECK((part.flags & (ipc::kProbe | ipc::kAlone | ipc::kStable)) ==
          (ipc::kProbe | ipc::kAlone | ipc::kStable));
    CHECK(world.terms.at(part.slice_id) == ipc::SliceTerms{0, 100, {}});
    CHECK(world.stored.slices.at(whole.slice_id).state == state::SliceState::Isolating);
    CHECK(world.rows_of(0).size() == 1);
    world.complete(0);
    CHECK(world.status(0).frontier == 0);
    if (start == 50) break;
    REQUIRE(world.fresh_workers.size() == 1);  // F3.1
    world.lose(0, stopped());
  }
  // All of it has survived: it runs again as it is.
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).slice_id == whole.slice_id);
  CHECK((world.in_ring(0).flags & (ipc::kProbe | ipc::kExclude)) == 0);
  world.complete(0);
  CHECK(world.status(0).frontier == 100);
}

TEST_CASE("what is left out of a slice is durable before it runs (F3.4, C5)", "[slicer]") {
  SlicerFixture world{searching()};
  world.found(1, 3);
  world.ready(0);
  const auto whole = world.in_ring(0);
  const auto dies_at = [&](std::uint32_t position) {
    world.lose(0, died_in_put(world.in_ring(0), position));
    world.ready(0);
  };
  const auto runs_next = [&] {
    for (int i = 0; i < 100 && world.in_flight(0) == 0; ++i) {
      if (!world.fresh_workers.empty()) {
        world.fresh_workers.clear();
        world.lose(0, stopped());
        world.ready(0);
      }
      world.advance(1'000);
    }
    REQUIRE(world.in_flight(0) == 1);
  };
  dies_at(1);
  runs_next();
  world.complete(0);  // [0, 1)
  runs_next();
  dies_at(0);  // [1, 2): convicted
  runs_next();
  REQUIRE(world.in_ring(0).start == 2);
  CHECK(world.stored.slices.at(whole.slice_id).excluded == "1");
  world.persist_at_once = false;
  world.complete(0);  // [2, 3): the search is over
  CHECK(world.in_flight(0) == 0);
  world.persist();
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).slice_id == whole.slice_id);
  CHECK((world.in_ring(0).flags & ipc::kExclude) != 0);
  CHECK(world.terms.at(whole.slice_id) == ipc::SliceTerms{0, 3, {1}});
  // A redelivery, by this host or the next, leaves out the same.
  world.persist_at_once = true;
  world.restart_host(3);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).slice_id == whole.slice_id);
  CHECK(world.terms.at(whole.slice_id) == ipc::SliceTerms{0, 3, {1}});
  world.complete(0);
  CHECK(world.status(0).frontier == 3);
}

TEST_CASE("a plugin that dies only in flush is not found by probes: halted, and it says why",
          "[slicer]") {
  PoisonWorld test{searching()};
  test.death = Death::InFlush;
  test.poison = {{0, 142}};
  test.world.found(1, 300);
  test.run();
  REQUIRE(test.world.halted.size() == 1);
  CAPTURE(test.world.halted[0].error.message);
  CHECK(test.world.halted[0].error.message.find("SIGSEGV in put") == 0);
  CHECK(test.world.halted[0].error.message.find(
            "(slice.on.failure = isolate: the sink names its output after the slice, and each of "
            "its records survives a probe run, which is never flushed)") != std::string::npos);
  CHECK(test.world.status(0).frontier == 100);
  CHECK(test.deaths == static_cast<int>(test.world.options.attempts_max) + 1);
  CHECK(test.world.stored.gaps.empty());
  const auto& whole = row_at(test.world, 100, 200);
  CHECK(whole.halted);
  CHECK(whole.stable);
  // A plugin that was mended takes it under the same name.
  test.poison.clear();
  test.world.slicer().restart_halted(test.world.now);
  test.world.step();
  test.run();
  check_outputs(test, 0, 300, {});
}

TEST_CASE("a plugin that fails slices in flush halts as well, after its attempts", "[slicer]") {
  SlicerOptions options = searching();
  options.attempts_max = 2;
  SlicerFixture world{options};
  world.found(1, 100);
  world.ready(0);
  for (int i = 0; i < 100 && world.halted.empty(); ++i) {
    world.advance(60'000);
    if (world.in_flight(0) == 0) {
      if (world.fresh_workers.empty()) continue;
      world.fresh_workers.clear();
      world.lose(0, stopped());
      world.ready(0);
      continue;
    }
    (world.in_ring(0).flags & ipc::kProbe) != 0 ? world.complete(0) : world.fail(0);
  }
  REQUIRE(world.halted.size() == 1);
  CAPTURE(world.halted[0].error.message);
  CHECK(world.halted[0].error.message.find("never flushed") != std::string::npos);
  CHECK(world.slicer().counts().failed == 3);
}

TEST_CASE("a host that dies in the middle of a search loses and doubles nothing (F3.4, S5)",
          "[slicer]") {
  const auto turns = GENERATE(range(3, 30));
  auto options = searching();
  options.dead_letters = DeadLetters::Topic;
  PoisonWorld test{options};
  test.death = GENERATE(Death::InPut, Death::WrongPlace);
  const auto poison = GENERATE(std::set<std::int64_t>{100}, std::set<std::int64_t>{101, 142});
  for (const std::int64_t offset : poison) test.poison.insert({0, offset});
  test.world.found(1, 300);
  test.run(turns);
  PoisonWorld again{options};
  again.death = test.death;
  again.poison = test.poison;
  again.world.stored = test.world.stored;
  again.world.restart_host(300);
  again.run();
  CHECK(again.world.status(0).frontier == 300);
  CHECK(again.world.violations.empty());
  for (const auto& [name, without] : test.named_outputs) again.named_outputs[name] = without;
  check_outputs(again, 0, 300, poison);
  // What was set aside before is not set aside again.
  CHECK(again.world.stored.gaps.size() == poison.size());
  for (const auto& row : again.world.stored.slices) CHECK(state::is_settled(row.second.state));
}

// Its row and that of its culprit have the same range: a store may give either one first.
TEST_CASE("a host that dies when the one record of a slice was set aside forgets neither (F3.4)",
          "[slicer]") {
  PoisonWorld test{searching(1, 1)};
  test.poison = {{0, 0}};
  test.world.found(1, 3);
  while (test.world.stored.gaps.empty()) test.run(1);
  PoisonWorld again{searching(1, 1)};
  again.poison = test.poison;
  again.world.stored = test.world.stored;
  auto whole = row_at(again.world, 0, 1);
  REQUIRE(whole.stable);
  again.world.stored.slices.erase(whole.id);
  whole.id = 1'000;
  again.world.stored.slices.emplace(whole.id, whole);
  again.world.restart_host(3);
  again.run();
  CHECK(again.world.status(0).frontier == 3);
  check_outputs(again, 0, 3, {0});
  CHECK(again.world.stored.gaps.size() == 1);
  for (const auto& row : again.world.stored.slices) CHECK(state::is_settled(row.second.state));
}

TEST_CASE("while a slice is searched nothing behind it is output (A1)", "[slicer]") {
  PoisonWorld test{searching(1, 1)};
  test.world.found(1, 3);
  test.poison = {{0, 0}};
  test.run();
  // The first record was told by a probe of what is behind it.
  CHECK(test.probes >= 3);
  check_outputs(test, 0, 3, {0});
  CHECK(test.world.slicer().counts().isolated == 1);
}

TEST_CASE("a lone poison record at the tail waits for another one, which waits for it",
          "[slicer]") {
  PoisonWorld test{searching()};
  test.poison = {{0, 0}};
  test.world.found(1, 1);
  test.run(6);
  CHECK(test.world.slicer().counts().isolated == 0);
  test.world.sampled(0, 5);
  test.run();
  CHECK(test.world.status(0).frontier == 5);
  check_outputs(test, 0, 5, {0});
}

TEST_CASE("what is in front of a searched slice is output before the search goes on", "[slicer]") {
  SlicerFixture world{searching()};
  world.found(1, 300);
  world.ready(0);
  REQUIRE(world.in_flight(0) == 3);
  // The first one is put and not flushed when the plugin dies of a record of the second.
  world.lose(0, died_in_put(world.in_ring(0, 1), 42));
  world.ready(0);
  REQUIRE(world.in_flight(0) == 1);
  CHECK(world.in_ring(0).start == 0);
  CHECK(world.in_ring(0).end == 100);
  CHECK((world.in_ring(0).flags & ipc::kProbe) == 0);
  // It dies as well: it is searched first, and the other one again in its turn.
  world.lose(0, died_in_put(world.in_ring(0), 7));
  world.ready(0);
  world.advance(1'000);
  REQUIRE(world.in_flight(0) == 1);
  CHECK((world.in_ring(0).flags & ipc::kProbe) != 0);
  CHECK(world.in_ring(0).end == 50);
  CHECK(world.terms.at(world.in_ring(0).slice_id).end == 100);
  for (const auto& row : world.rows_of(0)) {
    CHECK((row.state == state::SliceState::Isolating) == (row.start == 0));
  }
}

TEST_CASE("an outage that looks like crashes convicts no record of a stable slice (F3.2)",
          "[slicer]") {
  PoisonWorld test{searching(2)};
  test.death = GENERATE(Death::InPut, Death::Fails);
  test.world.found(4, 500);
  test.outage = true;
  test.run();
  CHECK(test.world.slicer().counts().isolated == 0);
  CHECK(test.world.stored.gaps.empty());
  test.end_outage();
  for (std::int32_t partition = 0; partition < 4; ++partition) {
    check_outputs(test, partition, 500, {});
  }
}

TEST_CASE("more verdicts in an hour than slice.isolate.max halt a stable slice (F3.2)",
          "[slicer]") {
  PoisonWorld test{searching()};
  for (std::int64_t offset = 10; offset < 100; offset += 20) test.poison.insert({0, offset});
  test.world.found(1, 100);
  test.run();
  CHECK(test.world.slicer().counts().isolated == 3);
  REQUIRE(test.world.halted.size() == 1);
  CHECK(test.world.halted[0].offset == 70);
  CHECK(test.world.status(0).frontier == 0);
  CHECK(row_at(test.world, 0, 100).excluded == "10,30,50");
  test.world.advance(3'600'000);
  test.world.slicer().restart_halted(test.world.now);
  test.world.step();
  test.run();
  check_outputs(test, 0, 100, {10, 30, 50, 70, 90});
}

TEST_CASE("more than 16 culprits in one slice halt it (F3.4)", "[slicer]") {
  auto options = searching();
  options.isolate_max = 1'000;
  PoisonWorld test{options};
  for (std::int64_t offset = 0; offset < 17; ++offset) test.poison.insert({0, 2 * offset + 1});
  test.world.found(1, 100);
  test.run(20'000);
  CHECK(test.world.slicer().counts().isolated == 16);
  REQUIRE(test.world.halted.size() == 1);
  CHECK(test.world.halted[0].error.message.find("more than 16 records of one slice") !=
        std::string::npos);
  CHECK(test.world.status(0).frontier == 0);
}

TEST_CASE("with any, a searched slice keeps its name as well (A4, F3.4)", "[slicer]") {
  auto options = searching(3);
  options.assignment = Assignment::Any;
  options.dead_letters = DeadLetters::Topic;
  PoisonWorld test{options};
  test.poison = {{0, 142}, {1, 250}};
  test.world.found(2, 300);
  test.run();
  check_outputs(test, 0, 300, {142});
  check_outputs(test, 1, 300, {250});
}

TEST_CASE("expiry inside a searched slice ends its name, not what is known of its records",
          "[slicer]") {
  PoisonWorld test{searching()};
  test.poison = {{0, 60}};
  test.world.found(1, 100);
  while (test.world.stored.gaps.empty()) test.run(1);
  if (test.world.in_flight(0) > 0) test.world.return_all(0);
  test.world.slicer().low_observed({0, 0}, 50, 100, test.world.now);
  test.world.step();
  test.run();
  CHECK(test.world.status(0).frontier == 100);
  CHECK(test.world.slicer().counts().isolated == 1);
  REQUIRE(test.named_outputs.size() == 1);
  CHECK(test.named_outputs.begin()->first.second == std::pair<std::int64_t, std::int64_t>{50, 100});
  CHECK(test.named_outputs.begin()->second == std::vector<std::int64_t>{60});
}

TEST_CASE("a topic that vanishes during a search: the slice is whole again, and searched again",
          "[slicer]") {
  PoisonWorld test{searching()};
  test.world.content = 1;
  test.poison = {{0, 142}};
  test.world.found(1, 300);
  while (test.probes == 0) test.run(1);
  test.world.slicer().topic_absent(0);
  test.world.step();
  if (test.world.in_flight(0) > 0) test.world.return_all(0);
  test.world.slicer().topic_present(0, 1, test.world.now);
  test.world.sampled(0, 300);
  test.run();
  CHECK(test.world.status(0).frontier == 300);
  check_outputs(test, 0, 300, {142});
}

TEST_CASE("a worker that calls a probe done, or a slice a survivor, breaks a rule", "[slicer]") {
  SlicerFixture world{searching()};
  world.found(1, 100);
  world.ready(0);
  SECTION("a slice that is no probe") {
    world.send(0, world.answer(0, 0, ipc::ReportKind::Survived));
  }
  SECTION("a probe") {
    world.crash(0, world.in_ring(0).slice_id);
    world.ready(0);
    world.advance(1'000);
    REQUIRE((world.in_ring(0).flags & ipc::kProbe) != 0);
    world.send(0, world.answer(0, 0, ipc::ReportKind::Done));
  }
  REQUIRE(world.violations.size() == 1);
  CHECK(world.violations[0].rule == Rule::ProbeConfused);
  CHECK(world.status(0).frontier == 0);
}

TEST_CASE("what was left out of a parked slice is left out when it is recovered (S6, F3.4)",
          "[slicer]") {
  SlicerFixture world{searching()};
  world.found(1, 100);
  world.ready(0);
  world.complete(0);
  state::SliceRow parked = world.rows_of(0).front();
  parked.state = state::SliceState::Parked;
  parked.excluded = "7,9";
  world.slicer().recover({0, 0}, {parked}, world.now);
  world.step();
  REQUIRE(world.in_flight(0) == 1);
  CHECK((world.in_ring(0).flags & ipc::kExclude) != 0);
  CHECK(world.terms.at(parked.id) == ipc::SliceTerms{0, 100, {7, 9}});
  world.complete(0);
  CHECK(world.stored.slices.at(parked.id).excluded == "7,9");
}

}  // namespace sluice::slicer
