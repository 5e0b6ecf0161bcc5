// Flush groups (delivery.md D4) and what happens when one fails (D5).
#include <catch2/catch.hpp>

#include "unit/worker/task_world.hpp"

namespace sluice::worker {

using fixture::kSecondUs;
using fixture::Rollback;
using fixture::TaskWorld;
using fixture::Texts;
using ipc::FailureClass;
using ipc::ReportKind;

namespace {

constexpr std::int64_t kFlushUs = 10'000;

/// Ten one-record slices of partition 0, ids from 1.
void publish_ten(TaskWorld& world) {
  for (int i = 0; i < 10; ++i) world.slice(1 + i, 0, i, i + 1);
}

/// Makes every flush take 10 ms, so that flushing is not cheap.
void make_flush_slow(TaskWorld& world) {
  world.plugin.on_call["flush"] = [&world](const sluice_host*) { world.advance(kFlushUs); };
}

FailureClass failure_class(const TaskWorld& world, std::uint64_t slice_id) {
  return static_cast<FailureClass>(world.report_of(slice_id, ReportKind::Failed).report.failure);
}

}  // namespace

TEST_CASE("while flushing costs nothing every slice is flushed by itself", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.then([&] { publish_ten(world); });
  world.run();
  CHECK(world.plugin.times("flush") == 10);
  CHECK(world.report_of(5, ReportKind::Done).report.group_slices == 1);
}

TEST_CASE("slices that are ready while flushing is slow share one flush", "[worker]") {
  TaskWorld world;
  make_flush_slow(world);
  world.source.log(0).append(20);
  world.then([&] { publish_ten(world); });
  world.run();
  // The first one teaches what a flush costs.
  CHECK(world.plugin.times("flush") == 2);
  CHECK(world.report_of(5, ReportKind::Done).report.group_slices == 9);
  CHECK(world.report_of(5, ReportKind::Done).report.flush_us == kFlushUs / 9);
  CHECK(world.outcomes().size() == 10);
}

TEST_CASE("a group ends at the bounds of records, bytes and age", "[worker]") {
  for (const char* bound : {"records", "bytes", "age"}) {
    TaskWorld world;
    make_flush_slow(world);
    world.source.log(0).append(1);
    world.source.log(0).append(9, std::string(100, 'v'));
    if (bound == std::string{"records"}) world.parameters.flush.records_max = 3;
    if (bound == std::string{"bytes"}) world.parameters.flush.bytes_max = 300;
    if (bound == std::string{"age"}) {
      world.parameters.flush.interval_ms = 100;
      world.plugin.on_call["put"] = [&world](const sluice_host*) { world.advance(50'000); };
    }
    world.then([&] { publish_ten(world); });
    world.run();
    INFO(bound);
    CHECK(world.report_of(3, ReportKind::Done).report.group_slices ==
          (bound == std::string{"age"} ? 2 : 3));
  }
}

TEST_CASE("a group that is full inside a slice is flushed there, and the slice goes on",
          "[worker]") {
  TaskWorld world;
  world.parameters.flush.records_max = 4;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 2;
  world.then([&] { world.slice(1, 0, 0, 10); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10"});
  CHECK(world.plugin.times("flush") == 3);
  CHECK(world.report_of(1, ReportKind::Done).report.records == 10);
  CHECK(world.plugin.durable.size() == 10);
}

TEST_CASE("a plugin ends its group with request_flush", "[worker]") {
  TaskWorld world;
  make_flush_slow(world);
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  world.plugin.on_call["put"] = [](const sluice_host* host) { host->request_flush(host); };
  world.then([&] { world.slice(1, 0, 0, 10); });
  world.run();
  CHECK(world.plugin.times("flush") == 2);
}

TEST_CASE("a slice that waits for records is flushed as far as it is when the interval is over",
          "[worker]") {
  TaskWorld world;
  make_flush_slow(world);
  world.source.log(0).append(5);
  world.source.log(0).tells_eof = false;
  world.source.log(0).tells_position = false;
  world.then([&] { world.slice(1, 0, 0, 10); });
  world.after_us(2 * kSecondUs, [&] {
    CHECK(world.plugin.durable.size() == 5);
    world.source.log(0).append(5);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10"});
  CHECK(world.report_of(1, ReportKind::Done).report.records == 10);
}

TEST_CASE("a batch never crosses a slice and keeps both its bounds", "[worker]") {
  TaskWorld world;
  world.parameters.batch.records_max = 4;
  world.source.log(0).append(5);
  world.source.log(0).append(5, std::string(60, 'v'));
  world.parameters.batch.bytes_max = 130;
  world.then([&] {
    world.slice(1, 0, 0, 5);
    world.slice(2, 0, 5, 10);
  });
  world.run();
  // Blocks end at 3, 7 and 9.
  CHECK(world.plugin.batch_sizes == std::vector<std::size_t>{4, 1, 2, 1, 2});
}

TEST_CASE("a record above the batch's bytes is a batch of its own", "[worker]") {
  TaskWorld world;
  world.parameters.batch.bytes_max = 10;
  world.source.log(0).append(2, std::string(100, 'v'));
  world.then([&] { world.slice(1, 0, 0, 2); });
  world.run();
  CHECK(world.plugin.batch_sizes == std::vector<std::size_t>{1, 1});
}

TEST_CASE("a suspect runs in a group of its own: flushed before it and after it", "[worker]") {
  TaskWorld world;
  make_flush_slow(world);
  world.source.log(0).append(1);
  world.source.log(1).append(5);
  world.then([&] { world.slice(1, 0, 0, 1); });
  world.then([&] {
    world.slice(2, 1, 0, 1);
    world.slice(3, 1, 1, 2);
    world.slice(4, 1, 2, 3, ipc::kAlone);
    world.slice(5, 1, 3, 4);
    world.slice(6, 1, 4, 5);
  });
  world.run();
  CHECK(world.report_of(3, ReportKind::Done).report.group_slices == 2);
  CHECK(world.report_of(4, ReportKind::Done).report.group_slices == 1);
  CHECK(world.report_of(6, ReportKind::Done).report.group_slices == 2);
}

TEST_CASE("a suspect that waits for records lets other partitions run, in groups of their own",
          "[worker]") {
  TaskWorld world;
  make_flush_slow(world);
  world.source.log(0).append(2);
  world.source.log(0).tells_eof = false;
  world.source.log(0).tells_position = false;
  world.source.log(1).append(5);
  world.then([&] { world.slice(1, 0, 0, 4, ipc::kAlone); });
  world.then([&] { world.slice(2, 1, 0, 5); });
  world.then([&] { world.source.log(0).append(2); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 2 @5", "DONE 1 @4"});
  CHECK(world.report_of(2, ReportKind::Done).report.group_slices == 1);
}

// --- Failures ----------------------------------------------------------------------------------

TEST_CASE("one bad slice does not fail its neighbours: they run again alone and are done",
          "[worker]") {
  TaskWorld world;
  make_flush_slow(world);
  for (int partition = 0; partition < 3; ++partition) world.source.log(partition).append(1);
  world.source.log(1).values[0] = "boom";
  world.source.log(3).append(1);
  world.then([&] { world.slice(9, 3, 0, 1); });
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.slice(2, 1, 0, 1);
    world.slice(3, 2, 0, 1);
  });
  world.run();
  // Slice 3 had not been put when its neighbour failed.
  CHECK(world.outcomes() == Texts{"DONE 9 @1", "DONE 1 @1", "FAILED 2 @0", "DONE 3 @1"});
  CHECK(world.failure_of(2) == "out/put: boom at 0");
  CHECK(failure_class(world, 2) == FailureClass::PluginFail);
  CHECK(world.plugin.durable == Texts{"3@0", "0@0", "2@0"});
}

TEST_CASE("a failed lane is returned whole, also what still arrives, until a higher fence comes",
          "[worker]") {
  TaskWorld world;
  make_flush_slow(world);
  world.source.log(1).append(1);
  world.source.log(0).append(5);
  world.source.log(0).values[1] = "boom";
  world.then([&] { world.slice(9, 1, 0, 1); });
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.slice(2, 0, 1, 2);
    world.slice(3, 0, 2, 3);
    world.slice(4, 0, 3, 4);
  });
  world.then([&] { world.slice(5, 0, 4, 5); });
  world.then([&] {
    world.source.log(0).values[1] = "v";
    world.slice(6, 0, 1, 5, 0, 2);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 9 @1", "DONE 1 @1", "FAILED 2 @1", "RELEASED 3 @2",
                                  "RELEASED 4 @3", "RELEASED 5 @4", "DONE 6 @5"});
}

TEST_CASE("when flush fails, each slice of the group has its own flush, in order", "[worker]") {
  TaskWorld world;
  make_flush_slow(world);
  world.source.log(0).append(10);
  world.plugin.answers["flush"] = {SLUICE_OK, SLUICE_FAIL, SLUICE_OK, SLUICE_FAIL};
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.slice(2, 0, 1, 2);
    world.slice(3, 0, 2, 3);
    world.slice(4, 0, 3, 4);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @1", "DONE 2 @2", "FAILED 3 @2", "RELEASED 4 @3"});
  CHECK(world.failure_of(3) == "out/flush: because");
  CHECK(world.plugin.durable == Texts{"0@0", "0@1"});
}

TEST_CASE("a reset rolls back where that is offered, else makes a new instance and opens it",
          "[worker]") {
  for (const Rollback rollback : {Rollback::Offered, Rollback::Missing}) {
    TaskWorld world;
    world.plugin.rollback = rollback;
    world.source.log(0).append(1, "boom");
    world.then([&] { world.slice(1, 0, 0, 1); });
    world.then([&] {
      world.source.log(0).values[0] = "v";
      world.slice(2, 0, 0, 1, 0, 2);
    });
    world.run();
    CHECK(world.outcomes() == Texts{"FAILED 1 @0", "DONE 2 @1"});
    const Texts with_rollback{"create", "start", "open 0",  "put",  "rollback",
                              "put",    "flush", "close 0", "stop", "destroy"};
    const Texts without{"create", "start",   "open 0",  "put",   "close 0",
                        "stop",   "destroy", "create",  "start", "reopen 0",
                        "put",    "flush",   "close 0", "stop",  "destroy"};
    CHECK(world.plugin.journal == (rollback == Rollback::Offered ? with_rollback : without));
  }
}

TEST_CASE("a rollback that fails is followed by a new instance", "[worker]") {
  TaskWorld world;
  world.plugin.answers["rollback"] = {SLUICE_FAIL};
  world.source.log(0).append(1, "boom");
  world.then([&] { world.slice(1, 0, 0, 1); });
  world.then([&] { world.slice(2, 0, 0, 0, 0, 2); });
  world.run();
  CHECK(world.plugin.times("create") == 2);
}

TEST_CASE("a slice that failed in its second half names what is durable of it", "[worker]") {
  TaskWorld world;
  world.parameters.flush.records_max = 5;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  world.source.log(0).values[7] = "boom";
  world.then([&] { world.slice(1, 0, 0, 10); });
  world.run();
  CHECK(world.outcomes() == Texts{"FAILED 1 @5"});
  CHECK(world.report_of(1, ReportKind::Failed).report.records == 5);
}

TEST_CASE("CONFIG from put fails the slice and not the job", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.plugin.answers["put"] = {SLUICE_CONFIG};
  world.then([&] { world.slice(1, 0, 0, 1); });
  CHECK(world.run() == kExitDone);
  CHECK(failure_class(world, 1) == FailureClass::PluginFail);
}

TEST_CASE("a status that abi.h does not know is a failure of the slice", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.plugin.answers["put"] = {77};
  world.then([&] { world.slice(1, 0, 0, 1); });
  world.run();
  CHECK(failure_class(world, 1) == FailureClass::PluginFail);
}

// --- Records that a plugin fails ----------------------------------------------------------------

TEST_CASE("without tolerance a failed record fails its slice, which names the offset and why",
          "[worker]") {
  TaskWorld world;
  make_flush_slow(world);
  world.source.log(1).append(1);
  world.source.log(0).append(5);
  world.source.log(0).values[3] = "bad";
  world.then([&] { world.slice(9, 1, 0, 1); });
  world.then([&] {
    world.slice(1, 0, 0, 2);
    world.slice(2, 0, 2, 5);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 9 @1", "DONE 1 @2", "FAILED 2 @2"});
  CHECK(failure_class(world, 2) == FailureClass::Errant);
  CHECK(world.failure_of(2) == "out/put: record orders-0@3: not valid");
  CHECK(world.plugin.durable == Texts{"1@0", "0@0", "0@1"});
}

TEST_CASE("with tolerance failed records are counted and logged, and the slice is done",
          "[worker]") {
  TaskWorld world;
  world.parameters.tolerance = ErrorsTolerance::All;
  world.source.log(0).append(5);
  world.source.log(0).values[1] = "bad";
  world.source.log(0).values[3] = "late";
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @5"});
  const ipc::Report& report = world.report_of(1, ReportKind::Done).report;
  CHECK(report.errant == 2);
  CHECK(report.records == 5);
  CHECK(world.logged() ==
        "<4>out record orders-0@1 failed in put and is skipped: not valid\n"
        "<4>out record orders-0@3 failed in flush and is skipped: too late\n");
}

TEST_CASE("a record failed as late as in flush still fails its slice", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.source.log(0).values[3] = "late";
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.run();
  CHECK(world.outcomes() == Texts{"FAILED 1 @0"});
  CHECK(world.failure_of(1) == "out/flush: record orders-0@3: too late");
}

TEST_CASE("a record failed twice counts once, one that is not of the group is refused",
          "[worker]") {
  TaskWorld world;
  world.parameters.tolerance = ErrorsTolerance::All;
  world.source.log(0).append(3);
  world.source.log(0).append_holes(1);
  world.source.log(0).append(1);
  world.plugin.on_call["flush"] = [](const sluice_host* host) {
    const sluice_error why{sizeof(sluice_error), 0, {nullptr, 0}, {nullptr, 0}, -1};
    CHECK(host->fail_record(host, 1, 2, &why) == SLUICE_OK);
    CHECK(host->fail_record(host, 1, 2, nullptr) == SLUICE_OK);
    CHECK(host->fail_record(host, 1, 0, &why) == SLUICE_OK);
    CHECK(host->fail_record(host, 1, 3, &why) == SLUICE_FAIL);
    CHECK(host->fail_record(host, 1, 5, &why) == SLUICE_FAIL);
    CHECK(host->fail_record(host, 2, 2, &why) == SLUICE_FAIL);
  };
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.run();
  CHECK(world.report_of(1, ReportKind::Done).report.errant == 2);
  CHECK_THAT(world.logged(), Catch::Contains("orders-0@0 failed in flush and is skipped: the "
                                             "plugin gave no reason"));
}

TEST_CASE("a group that runs again counts its records once", "[worker]") {
  TaskWorld world;
  world.parameters.tolerance = ErrorsTolerance::All;
  make_flush_slow(world);
  world.source.log(0).append(10);
  world.source.log(0).values[2] = "bad";
  world.plugin.answers["flush"] = {SLUICE_OK, SLUICE_FAIL};
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.slice(2, 0, 1, 5);
    world.slice(3, 0, 5, 10);
  });
  world.run();
  const ipc::Report& report = world.report_of(2, ReportKind::Done).report;
  CHECK(report.records == 4);
  CHECK(report.out == 4);
  CHECK(report.errant == 1);
}

}  // namespace sluice::worker
