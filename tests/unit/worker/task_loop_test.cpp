// Start, stop, revoke, and what the host is told meanwhile.
#include <algorithm>
#include <catch2/catch.hpp>

#include "unit/worker/task_world.hpp"

namespace sluice::worker {

using fixture::kSecondUs;
using fixture::Rollback;
using fixture::TaskWorld;
using fixture::Texts;
using ipc::FailureClass;
using ipc::Phase;
using ipc::ReportKind;

namespace {

FailureClass failure_class(const TaskWorld& world, std::uint64_t slice_id) {
  return static_cast<FailureClass>(world.report_of(slice_id, ReportKind::Failed).report.failure);
}

}  // namespace

// --- Start and stop ----------------------------------------------------------------------------

TEST_CASE("a plugin's life has the order of abi.h, and READY comes after start", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.plugin.on_call["start"] = [&](const sluice_host*) {
    CHECK(world.host().has_reports() == false);
    CHECK(world.host().pulse().phase == Phase::Start);
  };
  world.then([&] {
    CHECK(world.all(ReportKind::Ready) == Texts{"READY"});
    world.slice(1, 0, 0, 1);
  });
  CHECK(world.run() == kExitDone);
  CHECK(world.plugin.journal ==
        Texts{"create", "start", "open 0", "put", "flush", "close 0", "stop", "destroy"});
}

TEST_CASE("a configuration error at start is reported with its key and exits 78", "[worker]") {
  TaskWorld world;
  world.plugin.answers["start"] = {SLUICE_CONFIG};
  world.plugin.key = "file";
  world.plugin.says = "cannot be opened";
  CHECK(world.run() == kExitConfiguration);
  CHECK(world.failure_of(0) == "out/start: file: cannot be opened");
  CHECK(failure_class(world, 0) == FailureClass::Configuration);
  CHECK(world.all(ReportKind::Ready).empty());
  CHECK(world.plugin.journal == Texts{"create", "start", "destroy"});
}

TEST_CASE("a start that fails for another reason exits 75, to be tried in a new process",
          "[worker]") {
  TaskWorld world;
  world.plugin.answers["start"] = {SLUICE_FAIL};
  CHECK(world.run() == kExitTryAgain);
  CHECK(failure_class(world, 0) == FailureClass::PluginFail);
}

TEST_CASE("start is repeated with doubling delays while the outside is away", "[worker]") {
  TaskWorld world;
  world.plugin.answers["start"] = {SLUICE_RETRY, SLUICE_NOT_CONNECTED, SLUICE_RETRY};
  const std::int64_t begun_us = world.now_us();
  CHECK(world.run() == kExitDone);
  CHECK(world.plugin.times("create") == 1);
  CHECK(world.plugin.times("start") == 4);
  CHECK(world.all(ReportKind::Waiting).size() == 3);
  CHECK(world.now_us() - begun_us >= 525'000);  // 100 + 200 + 400 ms, less a quarter of jitter
  CHECK(world.now_us() - begun_us <= 875'000 + 10);
}

TEST_CASE("STOP ends a start that cannot succeed", "[worker]") {
  TaskWorld world;
  world.plugin.answers["start"] = std::deque<sluice_status>(1000, SLUICE_RETRY);
  world.between_attempts([] {});
  world.between_attempts([&] { world.stop(); });
  CHECK(world.run() == kExitDone);
  CHECK(world.plugin.journal.back() == "destroy");
  CHECK(world.plugin.times("stop") == 0);  // stop() belongs to an OK start
}

TEST_CASE("STOP in the middle of a slice flushes what is done and gives back the rest",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  world.plugin.on_call["put"] = [&](const sluice_host*) {
    if (world.plugin.times("put") == 1) world.stop();
  };
  world.then([&] {
    world.slice(1, 0, 0, 10);
    world.slice(2, 0, 10, 20);
  });
  CHECK(world.run() == kExitDone);
  CHECK(world.outcomes() == Texts{"RELEASED 1 @5", "RELEASED 2 @10"});
  CHECK(world.plugin.durable.size() == 5);
  CHECK(world.report_of(1, ReportKind::Released).report.records == 5);
}

TEST_CASE("a slice of which everything is durable when STOP comes is done, not released",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.plugin.on_call["put"] = [&](const sluice_host*) { world.stop(); };
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @5"});
}

TEST_CASE("a stable slice is given back at its start", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  world.plugin.on_call["put"] = [&](const sluice_host*) {
    if (world.plugin.times("put") == 1) world.stop();
  };
  world.then([&] { world.slice(1, 0, 0, 10, ipc::kStable); });
  world.run();
  CHECK(world.outcomes() == Texts{"RELEASED 1 @0"});
}

TEST_CASE("a flush that STOP cannot wait for is undone before anything is given back", "[worker]") {
  for (const Rollback rollback : {Rollback::Offered, Rollback::Missing}) {
    TaskWorld world;
    world.plugin.rollback = rollback;
    world.parameters.stop_timeout_ms = 10'000;
    world.source.log(0).append(5);
    world.plugin.answers["flush"] = std::deque<sluice_status>(1000, SLUICE_RETRY);
    const char* undone = rollback == Rollback::Offered ? "rollback" : "destroy";
    world.then([&] { world.slice(1, 0, 0, 5); });
    world.between_attempts([&] {
      CHECK(world.outcomes().empty());
      world.stop();
    });
    const std::int64_t begun_us = world.now_us();
    CHECK(world.run() == kExitDone);
    CHECK(world.outcomes() == Texts{"RELEASED 1 @0"});
    CHECK(world.plugin.durable.empty());
    CHECK(world.plugin.times(undone) >= 1);
    CHECK(world.now_us() - begun_us >= 5 * kSecondUs);  // half of the stop timeout
    CHECK(world.now_us() - begun_us < 7 * kSecondUs);
  }
}

TEST_CASE("a host that sends nonsense makes the worker leave with 70", "[worker]") {
  TaskWorld world;
  world.then([&] {
    ipc::Command command;
    command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Slice);
    command.slice_id = 1;
    command.topic = 7;  // never announced
    command.end = 5;
    world.publish(command);
  });
  CHECK(world.run() == kExitInternal);
  CHECK_THAT(world.logged(), Catch::Contains("a slice of topic number 7"));
}

TEST_CASE("a topic that is announced while the worker runs has its name", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  std::string name, job;
  world.plugin.on_call["put"] = [&](const sluice_host* host) {
    const sluice_slice* slice = host->slice(host, 1);
    REQUIRE(slice != nullptr);
    name.assign(static_cast<const char*>(slice->topic.data), slice->topic.size);
    job.assign(static_cast<const char*>(slice->job.data), slice->job.size);
    CHECK(slice->topic_incarnation == 9);
    CHECK(slice->end_offset == 1);
    CHECK(slice->attempt == 1);
    CHECK(host->slice(host, 2) == nullptr);
    CHECK(host->topic(host, 5).size == 3);
    CHECK(host->topic(host, 4).data == nullptr);
    CHECK(host->get_extension(host, "sluice.metrics/1") == nullptr);
  };
  world.then([&] {
    REQUIRE(world.host().publish_topic(5, "new", 9).has_value());
    ipc::Command command;
    command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Slice);
    command.slice_id = 1;
    command.topic = 5;
    command.end = 1;
    command.fence = 1;
    command.attempt = 1;
    world.publish(command);
  });
  world.run();
  CHECK(name == "new");
  CHECK(job == "job");
}

// --- Revoke ------------------------------------------------------------------------------------

TEST_CASE("of many partitions only so many stay open at the source, and a closed one goes on (P12)",
          "[worker]") {
  constexpr std::int32_t kPartitions = 300;
  constexpr std::ptrdiff_t kAwakeMax = 256;
  TaskWorld world;
  for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
    world.source.log(partition).append(2);
  }
  world.then([&] {
    for (std::int32_t i = 0; i < kPartitions; ++i) world.slice(1 + std::uint64_t(i), i, 0, 1);
  });
  world.after_us(kSecondUs, [&] {
    const auto closed =
        std::count_if(world.source.moves.begin(), world.source.moves.end(),
                      [](const std::string& move) { return move.rfind("close ", 0) == 0; });
    CHECK(closed == kPartitions - kAwakeMax);
    CHECK(std::count(world.source.moves.begin(), world.source.moves.end(), "close 0") == 1);
    world.slice(1'000, 0, 1, 2);
  });
  CHECK(world.run() == kExitDone);
  CHECK(world.outcomes().size() == kPartitions + 1);
  CHECK(world.outcomes().back() == "DONE 1000 @2");
  CHECK(std::count(world.source.moves.begin(), world.source.moves.end(), "open 0@1") == 1);
  // The plugins have kept it.
  CHECK(std::count(world.plugin.journal.begin(), world.plugin.journal.end(), "open 0") == 1);
}

TEST_CASE("REVOKE returns the partition's slices, closes it, and touches no other", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  world.source.log(1).append(10);
  world.plugin.on_call["put"] = [&](const sluice_host*) {
    if (world.plugin.times("put") == 1) world.revoke(0);
  };
  world.then([&] {
    world.slice(1, 0, 0, 10);
    world.slice(2, 0, 10, 20);
    world.slice(3, 1, 0, 10);
  });
  world.then([&] { world.slice(4, 0, 20, 30); });  // late, still the old fence
  world.run();
  CHECK(world.outcomes() ==
        Texts{"RELEASED 1 @5", "RELEASED 2 @10", "DONE 3 @10", "RELEASED 4 @20"});
  CHECK(world.plugin.times("close 0") == 1);
  CHECK(world.source.moves == Texts{"open 0@0", "close 0", "open 1@0"});
}

TEST_CASE("a partition that comes back with a higher fence starts where it is told", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(20);
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.then([&] {
    world.revoke(0);
    world.slice(2, 0, 15, 20, 0, 2);
  });
  world.then([&] { world.revoke(0, 2); });
  world.then([&] { world.slice(3, 0, 5, 10, 0, 3); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @5", "DONE 2 @20", "DONE 3 @10"});
  CHECK(world.plugin.times("open 0") == 2);
}

TEST_CASE("an idle partition that is revoked is closed without a report", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.then([&] { world.revoke(0); });
  world.then([&] { CHECK(world.source.moves.back() == "close 0"); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @5"});
}

// --- What the host can see ---------------------------------------------------------------------

TEST_CASE("new records of a partition without slices are told by their end", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.then([&] { world.source.log(0).append(3); });
  world.after_us(5'000, [&] { world.source.log(0).append_holes(4); });
  world.after_us(5'000, [&] { world.slice(2, 0, 5, 8); });
  world.after_us(5'000);
  world.run();
  CHECK(world.all(ReportKind::Opened) == Texts{"OPENED @0"});
  // The end 12 is seen only behind the block that is held.
  CHECK(world.all(ReportKind::Seen) == Texts{"SEEN @8", "SEEN @12"});
}

TEST_CASE("at most one block of an idle partition is held", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.source.log(0).block_records = 10;
  world.then([&] { world.slice(1, 0, 0, 1); });
  world.then([&] { world.source.log(0).append(1000); });
  world.after_us(kSecondUs, [&] { CHECK(world.source.live_blocks == 1); });
  world.run();
  CHECK(world.all(ReportKind::Seen) == Texts{"SEEN @11"});
}

TEST_CASE("the pulse names phase, slice and first offset of the batch in the plugin's hands",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  std::vector<ipc::Pulse> pulses;
  world.plugin.on_call["put"] = [&](const sluice_host* host) {
    pulses.push_back(world.host().pulse());
    *host->position = 4;
  };
  world.plugin.on_call["flush"] = [&](const sluice_host*) {
    pulses.push_back(world.host().pulse());
  };
  world.then([&] { world.slice(7, 0, 0, 10); });
  world.then([&] { pulses.push_back(world.host().pulse()); });
  world.run();
  REQUIRE(pulses.size() == 4);
  CHECK(pulses[0].phase == Phase::Put);
  CHECK(pulses[0].slice_id == 7);
  CHECK(pulses[0].offset == 0);
  CHECK(pulses[1].offset == 5);
  CHECK(pulses[1].position == 0);
  CHECK(pulses[2].phase == Phase::Flush);
  CHECK(pulses[2].slice_id == 7);
  CHECK(pulses[3].phase == Phase::Idle);
  CHECK(pulses[3].loops > pulses[0].loops);
}

TEST_CASE("the position in the batch reaches the pulse with one plain store", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.plugin.on_call["flush"] = [&](const sluice_host*) {
    CHECK(world.host().pulse().position == 4);
  };
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.run();
  CHECK(world.plugin.times("flush") == 1);
}

TEST_CASE("lines that the host does not read are counted and reported, never waited for",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.plugin.on_call["put"] = [](const sluice_host* host) {
    const std::string line(1000, 'x');
    for (int i = 0; i < 200; ++i) host->log(host, SLUICE_LOG_INFO, {line.data(), line.size()});
  };
  world.then([&] { world.slice(1, 0, 0, 1); });
  world.after_us(kSecondUs);
  world.run();
  REQUIRE(world.all(ReportKind::LogLost).size() == 1);
  CHECK_THAT(world.logged(), Catch::StartsWith("<6>out xxx"));
}

TEST_CASE("a source that is beyond repair ends the process with 75", "[worker]") {
  TaskWorld world;
  world.source.events.push_back({SourceEvent::Kind::Fatal, "kafka: fatal"});
  CHECK(world.run() == kExitTryAgain);
  CHECK(world.logged() == "<3>- kafka: fatal\n");
}

}  // namespace sluice::worker
