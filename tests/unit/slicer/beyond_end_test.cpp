// Is it still the same log? (slicer.md F5): comparisons and recreation. Logs that were cut off are
// truncated_log_test.cpp's.
#include <catch2/catch.hpp>

#include "unit/slicer/known_log.hpp"

namespace sluice::slicer {

TEST_CASE("a first start compares nothing (F5)", "[slicer]") {
  SlicerFixture world;
  world.content = 1;
  world.found(1, 100);
  world.ready(0);
  CHECK_FALSE(world.asks_for(0, 0));
  CHECK(world.in_ring(0).flags == 0);
}

TEST_CASE("the newest fingerprint is stored with the frontier", "[slicer]") {
  SlicerFixture world = read_to_100();
  const auto& row = world.stored.partitions.at({"orders", 0});
  CHECK(row.frontier == 100);
  CHECK(row.fingerprints.starts_with("99:1099:1 "));
}

TEST_CASE("a start looks at the last record before anything is published, and goes on",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(120);
  world.ready(0);
  REQUIRE(world.asks_for(0, 99));
  CHECK(world.in_flight(0) == 1);
  CHECK(world.status(0).wait == WaitReason::Comparing);
  world.complete(0);
  CHECK(world.in_ring(0).start == 100);
  CHECK(world.in_ring(0).flags == 0);
  world.complete_all();
  CHECK(world.status(0).frontier == 120);
  CHECK(world.notices.empty());
}

TEST_CASE("a start without anything to read asks nothing", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(100);
  world.ready(0);
  CHECK(world.in_flight(0) == 0);
  world.sampled(0, 101);
  CHECK(world.asks_for(0, 99));
}

TEST_CASE("other records at all known offsets: recreated, all partitions begin anew", "[slicer]") {
  SlicerFixture world = read_to_100({}, 2);
  world.restart_host(120);
  world.content = 2;
  world.ready(0);
  REQUIRE(world.asks_for(0, 99));
  answer_all_questions(world, 0);
  world.return_all(0);
  CHECK(world.status(0).wait == WaitReason::Recreated);
  REQUIRE(world.asked_lows.size() == 2);
  host_finds_low(world, 0, 5, 120);
  host_finds_low(world, 1, 0, 120);
  CHECK(world.noticed(Notice::Kind::Recreated));
  REQUIRE(world.told_topics.size() == 1);
  CHECK(world.told_topics[0].epoch == 2);
  CHECK(world.in_ring(0).start == 5);
  world.complete_all();
  for (const std::int32_t partition : {0, 1}) {
    const auto& row = world.stored.partitions.at({"orders", partition});
    CHECK(row.topic_incarnation == 2);
    CHECK(row.start_offset == (partition == 0 ? 5 : 0));
    CHECK(row.frontier == 120);
  }
  CHECK(world.commits.back().offset == 120);
}

TEST_CASE("what was settled of the old topic stays under its incarnation", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(30);
  world.content = 2;
  world.ready(0);
  host_finds_end(world, 30);
  world.complete(0);
  host_finds_low(world, 0, 0, 30);
  world.complete_all();
  std::map<std::uint32_t, std::int64_t> reached;
  for (const auto& row : world.rows_of(0)) reached[row.topic_incarnation] = row.end;
  CHECK(reached == std::map<std::uint32_t, std::int64_t>{{1, 100}, {2, 30}});
  REQUIRE(world.stored.gaps.size() == 1);
  CHECK(world.stored.gaps[0].cause == state::Cause::Recreated);
  CHECK(world.stored.gaps[0].topic_incarnation == 1);
  CHECK(world.stored.gaps[0].records_max == 0);
}

TEST_CASE("the group is told of a frontier that was lowered, once it is durable", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(120);
  world.content = 2;
  world.ready(0);
  world.persist_at_once = false;
  answer_all_questions(world, 0);
  world.commits.clear();
  host_finds_low(world, 0, 0, 120);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).wait == WaitReason::NotDurable);
  world.persist();
  REQUIRE(world.commits.size() == 1);
  CHECK(world.commits[0].offset == 0);
  CHECK(world.stored.partitions.at({"orders", 0}).lowered_from == 100);
  CHECK(world.in_ring(0).start == 0);
  world.persist_at_once = true;
  world.complete_all();
  CHECK(world.stored.partitions.at({"orders", 0}).lowered_from == 0);
}

TEST_CASE(
    "a set that was under way when the topic was recreated proves nothing about the new start",
    "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(120);
  world.ready(0);
  world.complete(0);
  world.persist_at_once = false;
  world.complete(0);
  const state::ChangeSet old_set = world.slicer().take_changes(world.now);
  world.slicer().topic_absent(0);
  world.slicer().topic_present(0, 1, world.now);
  world.step();
  world.content = 2;
  world.send(0, world.answer(0, 0, ipc::ReportKind::Released));
  REQUIRE(world.asks_for(0, 109));
  answer_all_questions(world, 0);
  host_finds_low(world, 0, 0, 50);
  world.commits.clear();
  for (const auto& commit : world.slicer().persisted(old_set.token, world.now)) {
    world.commits.push_back(commit);
  }
  world.step();
  CHECK(world.commits.empty());
  CHECK(world.status(0).wait == WaitReason::NotDurable);
}

TEST_CASE("holes are passed over: an older record is asked for", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(120);
  world.holes = {99, 89};
  world.ready(0);
  world.complete(0);
  REQUIRE(world.asks_for(0, 89));
  world.complete(0);
  CHECK(world.in_flight(0) == 1);
  CHECK((world.in_ring(0).flags & ipc::kCompare) != 0);
  world.complete(0);
  CHECK(world.in_ring(0).start == 100);
  CHECK_FALSE(world.noticed(Notice::Kind::Unproved));
}

TEST_CASE("nothing left to compare: work goes on, status says what cannot be excluded",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(120);
  world.low = 100;
  world.ready(0);
  while (world.in_ring(0).start < 100) world.complete(0);
  CHECK(world.noticed(Notice::Kind::Unproved));
  CHECK(world.status(0).text.find("cannot be excluded") != std::string::npos);
  world.complete_all();
  CHECK(world.status(0).text.empty());
}

TEST_CASE("records that the host itself knows to be gone are not asked for", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(130);
  host_finds_low(world, 0, 110, 130);
  world.ready(0);
  CHECK(world.in_ring(0).start == 110);
  CHECK((world.in_ring(0).flags & ipc::kCompare) == 0);
  CHECK(world.stored.gaps[0].cause == state::Cause::Expired);
  CHECK(world.noticed(Notice::Kind::Unproved));
}

TEST_CASE("beyond the end and every known record gone: recreated, also under latest", "[slicer]") {
  SlicerOptions options;
  options.expired = ExpiredPolicy::Latest;
  SlicerFixture world = read_to_100(options);
  host_finds_end(world, 5);
  CHECK(world.in_flight(0) == 0);
  CHECK(world.status(0).wait == WaitReason::Recreated);
  host_finds_low(world, 0, 0, 5);
  CHECK(world.in_ring(0).start == 0);
  CHECK(world.in_ring(0).end == 5);
}

TEST_CASE("beyond the end and only holes to compare: auto.offset.reset decides, as for a consumer",
          "[slicer]") {
  SlicerOptions options;
  options.expired = GENERATE(ExpiredPolicy::Earliest, ExpiredPolicy::Latest);
  SlicerFixture world = read_to_100(options);
  for (std::int64_t offset = 0; offset < 90; ++offset) world.holes.insert(offset);
  host_finds_end(world, 90);
  while (world.in_flight(0) > 0) world.complete(0);
  if (options.expired == ExpiredPolicy::Latest) {
    CHECK(world.status(0).frontier == 90);
    CHECK(world.noticed(Notice::Kind::Truncated));
  } else {
    CHECK(world.status(0).wait == WaitReason::Recreated);
  }
}

TEST_CASE("recreated under none: all partitions halt, nothing moves, a restart asks again",
          "[slicer]") {
  SlicerOptions options;
  options.expired = ExpiredPolicy::None;
  SlicerFixture world = read_to_100(options, 2);
  world.restart_host(120);
  world.content = 2;
  world.ready(0);
  answer_all_questions(world, 0);
  world.return_all(0);
  REQUIRE(world.halted.size() == 2);
  CHECK(world.halted[0].error.message.find("sluice job offsets") != std::string::npos);
  CHECK(world.stored.partitions.at({"orders", 0}).frontier == 100);
  CHECK(world.stored.partitions.at({"orders", 0}).topic_incarnation == 1);
  world.slicer().restart_halted(world.now);
  world.step();
  CHECK(world.asks_for(0, 99));
  answer_all_questions(world, 0);
  CHECK(world.halted.size() >= 3);
}

TEST_CASE("open slices of the old topic are gone with it, rows and all", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.produce(0, 130);
  world.fail(0);
  world.return_all(0);
  REQUIRE(world.rows_of(0).back().state == state::SliceState::Retrying);
  world.slicer().topic_absent(0);
  world.slicer().topic_present(0, 1, world.now);
  world.content = 2;
  world.step();
  world.sampled(0, 130);
  world.advance(5'000);
  REQUIRE(world.asks_for(0, 99));
  answer_all_questions(world, 0);
  host_finds_low(world, 0, 0, 130);
  for (const auto& row : world.rows_of(0)) CHECK(state::is_settled(row.state));
  CHECK(world.stored.gaps.back().cause == state::Cause::Recreated);
  CHECK(world.stored.gaps.back().start == 100);
  CHECK(world.stored.gaps.back().end == 130);
  world.complete_all();
  CHECK(world.status(0).frontier == 130);
}

TEST_CASE("a partition that halted in the old topic works in the new one", "[slicer]") {
  SlicerOptions options;
  options.attempts_max = 1;
  SlicerFixture world = read_to_100(options, 2);
  world.produce(0, 110);
  world.fail(0);
  REQUIRE(world.halted.size() == 1);
  world.slicer().topic_present(0, 1, world.now);
  world.step();
  host_finds_low(world, 0, 0, 10);
  world.complete_all();
  CHECK(world.status(0).frontier == 10);
  CHECK(world.status(0).state == PartitionState::Idle);
}

TEST_CASE("a worker that dies with a question has it asked again, and nobody is charged",
          "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(120);
  world.ready(0);
  REQUIRE(world.asks_for(0, 99));
  world.crash(0, world.in_ring(0).slice_id);
  world.ready(0);
  REQUIRE(world.asks_for(0, 99));
  CHECK(world.in_ring(0).fence > 1);
  CHECK(world.slicer().counts().charged == 0);
  CHECK_FALSE(world.noticed(Notice::Kind::Suspected));
  world.complete(0);
  CHECK(world.in_ring(0).start == 100);
}

TEST_CASE("a question that is given back is asked again under a higher fence", "[slicer]") {
  SlicerFixture world = read_to_100();
  world.restart_host(120);
  world.ready(0);
  const auto fence = world.in_ring(0).fence;
  world.release(0, 99);
  REQUIRE(world.asks_for(0, 99));
  CHECK(world.in_ring(0).fence > fence);
}

TEST_CASE("a last record outside of what was read is a violation", "[slicer]") {
  SlicerFixture world;
  world.content = 1;
  world.found(1, 10);
  world.ready(0);
  ipc::Report report = world.answer(0, 0, ipc::ReportKind::Done);
  report.last_offset = GENERATE(10, -2);
  world.send(0, report);
  REQUIRE(world.violations.size() == 1);
  CHECK(world.violations[0].rule == Rule::LastOutside);
}

TEST_CASE("with assignment any, too, a start looks first", "[slicer]") {
  SlicerOptions options;
  options.assignment = Assignment::Any;
  options.slots = 2;
  SlicerFixture world = read_to_100(options);
  world.restart_host(140);
  world.all_ready();
  REQUIRE(world.in_flight(0) + world.in_flight(1) == 1);
  const Slot slot = world.in_flight(0) == 1 ? 0 : 1;
  REQUIRE(world.asks_for(slot, 99));
  world.content = 2;
  while (world.in_flight(0) + world.in_flight(1) > 0) {
    for (const Slot asked : {Slot{0}, Slot{1}}) answer_all_questions(world, asked);
  }
  host_finds_low(world, 0, 0, 140);
  world.complete_all();
  CHECK(world.status(0).frontier == 140);
  CHECK(world.stored.partitions.at({"orders", 0}).topic_incarnation == 2);
}

}  // namespace sluice::slicer
