// Dead letters at the end of a flush group (slicer.md F6, delivery.md D2, D4; B12, B14).
#include <catch2/catch.hpp>

#include "unit/worker/task_world.hpp"

namespace sluice::worker {

using fixture::kSecondUs;
using fixture::TaskWorld;
using fixture::Texts;
using ipc::Counter;
using ipc::FailureClass;
using ipc::ReportKind;

namespace {

const Error kRefusal{ErrorCode::Kafka, "produce: dlq[0]: not today"};

void tolerate(TaskWorld& world) {
  world.parameters.tolerance = ErrorsTolerance::All;
  world.parameters.dead_letters = DeadLetterParameters{"dlq", ContextHeaders::On, std::nullopt, 0};
}

/// Three records, the middle one bad.
void fill(TaskWorld& world, std::int32_t partition = 0, const std::string& bad = "bad") {
  world.source.log(partition).append(3);
  world.source.log(partition).values[1] = bad;
}

void refuse_letters(TaskWorld& world, std::size_t times) {
  world.outlet.answers.assign(times, kRefusal);
}

FailureClass failure_class(const ipc::ReceivedReport& received) {
  return static_cast<FailureClass>(received.report.failure);
}

std::string message_of(const ipc::ReceivedReport& received) {
  return ipc::decode_failure_text(received.text).message;
}

}  // namespace

TEST_CASE("a dead letter is sent after flush and acknowledged before its slice is done",
          "[worker]") {
  TaskWorld world;
  tolerate(world);
  fill(world);
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.before_answer([&] {
    CHECK(world.plugin.durable == Texts{"0@0", "0@2"});
    CHECK(world.all(ReportKind::Done).empty());
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @3"});
  CHECK(world.report_of(1, ReportKind::Done).report.errant == 1);
  CHECK(world.outlet.acknowledged == Texts{"bad"});
  const auto& letter = world.outlet.sent.at(0);
  CHECK(letter.header("__connect.errors.topic") == "orders");
  CHECK(letter.header("__connect.errors.offset") == "1");
  CHECK(letter.header("__connect.errors.connector.name") == "job");
  CHECK(letter.header("__connect.errors.stage") == "TASK_PUT");
  CHECK(letter.header("__connect.errors.exception.message") == "not valid");
  CHECK(world.host().counters()[Counter::DeadLetters] == 1);
  CHECK(world.logged().find("record orders-0@1 failed in put and went to dlq: not valid") !=
        std::string::npos);
}

TEST_CASE("a record that a processor fails has the stage of a transformation", "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.has_processor = true;
  fill(world, 0, "odd");
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(world.outlet.sent.at(0).header("__connect.errors.stage") == "TRANSFORMATION");
}

TEST_CASE("a record that fails as late as in flush still has its bytes", "[worker]") {
  TaskWorld world;
  tolerate(world);
  fill(world, 0, "late");
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(world.outlet.acknowledged == Texts{"late"});
}

TEST_CASE("without an errant record no client for dead letters is made", "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.source.log(0).append(3);
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(world.outlet.opened == 0);
}

TEST_CASE("without tolerance a failed record is no dead letter", "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.parameters.tolerance = ErrorsTolerance::None;
  fill(world);
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(world.failure_of(1) == "out/put: record orders-0@1: not valid");
  CHECK(world.outlet.sent.empty());
}

TEST_CASE("a group that fails and runs again writes each letter once", "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.plugin.on_call["flush"] = [&](const sluice_host*) { world.advance(10'000); };
  world.source.log(2).append(1);
  fill(world, 0);
  fill(world, 1, "boom");
  world.then([&] { world.slice(9, 2, 0, 1); });  // teaches what a flush costs
  world.then([&] {
    world.slice(1, 0, 0, 3);
    world.slice(2, 1, 0, 3);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 9 @1", "DONE 1 @3", "FAILED 2 @0"});
  CHECK(world.outlet.acknowledged == Texts{"bad"});
}

// --- A letter that cannot be written -----------------------------------------------------------

TEST_CASE("a refused letter is tried again with back-off, and the host is told which and why",
          "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.parameters.dead_letters->patience_ms = 60'000;
  fill(world);
  refuse_letters(world, 2);
  world.then([&] { world.slice(1, 0, 0, 3); });
  const std::int64_t begun_us = world.now_us();
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @3"});
  CHECK(world.outlet.acknowledged == Texts{"bad"});
  CHECK(world.plugin.times("flush") == 1);
  CHECK(world.now_us() - begun_us >= 225'000);
  CHECK(world.all(ReportKind::Waiting).size() == 2);
  const auto& waiting = world.report_of(1, ReportKind::Waiting);
  CHECK(message_of(waiting) ==
        "record orders-0@1: its dead letter cannot be written: produce: dlq[0]: not today");
  CHECK(world.host().counters()[Counter::DeadLetterFailures] == 2);
}

TEST_CASE("B14 a letter that stays refused fails its slice, as the environment's fault",
          "[worker]") {
  TaskWorld world;
  tolerate(world);
  fill(world);
  refuse_letters(world, 1);
  world.then([&] {
    world.slice(1, 0, 0, 3);
    world.slice(2, 0, 3, 4);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"FAILED 1 @0", "RELEASED 2 @3"});
  CHECK(failure_class(world.report_of(1, ReportKind::Failed)) == FailureClass::RetryUsedUp);
  CHECK(world.failure_of(1) ==
        "/dead letter: record orders-0@1: its dead letter cannot be written: produce: dlq[0]: not "
        "today");
  CHECK(world.logged().find("refused dead letters: 1, attempt 1") != std::string::npos);
}

TEST_CASE("an unwritable letter holds back its lane alone, in the same flush", "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.plugin.on_call["flush"] = [&](const sluice_host*) { world.advance(10'000); };
  world.source.log(2).append(1);
  fill(world, 0);
  world.source.log(0).append(3);
  fill(world, 1);
  world.then([&] { world.slice(9, 2, 0, 1); });
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.slice(2, 0, 1, 2);
    world.slice(3, 0, 2, 3);
    world.slice(4, 1, 0, 3);
  });
  // Partitions take turns: the first letter is that of partition 1, and it is written.
  world.outlet.answers = {std::nullopt, kRefusal};
  world.run();
  CHECK(world.outcomes() ==
        Texts{"DONE 9 @1", "DONE 1 @1", "DONE 4 @3", "FAILED 2 @1", "RELEASED 3 @2"});
}

TEST_CASE("a slice whose second half has an unwritable letter is durable up to that half",
          "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.parameters.flush.records_max = 2;
  world.source.log(0).block_records = 2;
  world.source.log(0).append(4);
  world.source.log(0).values[2] = "bad";
  refuse_letters(world, 1);
  world.then([&] { world.slice(1, 0, 0, 6); });
  world.run();
  CHECK(world.outcomes() == Texts{"FAILED 1 @2"});
}

TEST_CASE("while no broker answers a letter waits longer than any patience, in phase WAIT",
          "[worker]") {
  TaskWorld world;
  tolerate(world);
  fill(world);
  world.outlet.is_silent = true;
  world.outlet.trouble = "all brokers are down";
  world.then([&] { world.slice(1, 0, 0, 3); });
  std::uint64_t loops = 0;
  world.before_answer([&] { loops = world.host().pulse().loops; });
  world.before_answer(
      [&] {
        CHECK(world.host().pulse().phase == ipc::Phase::Wait);
        CHECK(world.host().pulse().loops > loops);
        world.outlet.is_silent = false;
      },
      300 * kSecondUs);
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @3"});
  const auto& waiting = world.report_of(1, ReportKind::Waiting);
  CHECK(failure_class(waiting) == FailureClass::Kafka);
  CHECK(message_of(waiting) == "no answer to the dead letter of orders-0@1: all brokers are down");
  // After 1 s, then at doubling distances up to 30 s.
  CHECK(world.all(ReportKind::Waiting).size() < 20);
}

TEST_CASE("STOP gives a slice back whose letter finds no broker, undone in the sink", "[worker]") {
  TaskWorld world;
  tolerate(world);
  fill(world);
  world.outlet.is_silent = true;
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.before_answer([&] { world.stop(); });
  const std::int64_t begun_us = world.now_us();
  CHECK(world.run() == kExitDone);
  CHECK(world.outcomes() == Texts{"RELEASED 1 @0"});
  CHECK(world.now_us() - begun_us >= std::int64_t{world.parameters.stop_timeout_ms} * 1000 / 2);
  CHECK(world.outlet.acknowledged.empty());
}

TEST_CASE("a letter that is acknowledged while STOP waits lets its slice be done", "[worker]") {
  TaskWorld world;
  tolerate(world);
  fill(world);
  world.outlet.is_silent = true;
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.before_answer([&] { world.stop(); });
  world.before_answer([&] { world.outlet.is_silent = false; }, kSecondUs);
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @3"});
  CHECK(world.outlet.acknowledged == Texts{"bad"});
}

TEST_CASE("a partition that is revoked while another one's letter waits goes at once", "[worker]") {
  TaskWorld world;
  tolerate(world);
  fill(world);
  world.source.log(1).append(3);
  world.outlet.is_silent = true;
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.before_answer([&] {
    world.slice(2, 1, 0, 3);
    world.revoke(1);
  });
  world.before_answer(
      [&] {
        CHECK(world.all(ReportKind::Released) == Texts{"RELEASED 2 @0"});
        world.outlet.is_silent = false;
      },
      kSecondUs);
  world.run();
  CHECK(world.outcomes() == Texts{"RELEASED 2 @0", "DONE 1 @3"});
}

TEST_CASE("a flood of errant records fails the slice and writes nothing of it", "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.parameters.dead_letters->rate_max = 2;
  world.source.log(0).append(5, "bad");
  world.then([&] { world.slice(1, 0, 0, 2); });
  world.then([&] { world.slice(2, 0, 2, 5); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @2", "FAILED 2 @2"});
  CHECK(failure_class(world.report_of(2, ReportKind::Failed)) == FailureClass::RetryUsedUp);
  CHECK(world.failure_of(2) ==
        "/dead letter: record orders-0@2: more than errors.deadletterqueue.rate.max = 2 dead "
        "letters in a minute; the last reason: not valid");
  CHECK(world.outlet.acknowledged.size() == 2);
}

TEST_CASE("what was too large with its error text is told once it is written", "[worker]") {
  TaskWorld world;
  tolerate(world);
  fill(world);
  world.outlet.answers = {Error{ErrorCode::TooLarge, "produce: dlq[0]: too large"}};
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @3"});
  CHECK(world.logged().find("the dead letter of orders-0@1 was too large; written without its "
                            "error text") != std::string::npos);
}

// --- Records that are set aside (F3) -----------------------------------------------------------

TEST_CASE("a record that is set aside becomes a letter without any plugin seeing it", "[worker]") {
  TaskWorld world;
  tolerate(world);
  fill(world, 0, "boom");
  const std::string digest(64, 'a');
  world.then([&] {
    world.dead_letter(1, 0, 1, {{"out", "CRASH", "SIGSEGV in put"}, 1, 4711, 11, digest});
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @2"});
  const ipc::Report& done = world.report_of(1, ReportKind::Done).report;
  CHECK(done.records == 1);
  CHECK(done.errant == 1);
  CHECK(done.out == 0);
  CHECK(world.plugin.journal == Texts{"create", "start", "stop", "destroy"});
  REQUIRE(world.outlet.acknowledged == Texts{"boom"});
  const auto& letter = world.outlet.sent[0];
  CHECK(letter.header("__connect.errors.stage") == "CRASH");
  CHECK(letter.header("__connect.errors.exception.class.name") == "WorkerCrashed");
  CHECK(letter.header("__connect.errors.exception.message") == "SIGSEGV in put");
  CHECK(letter.header("__sluice.errors.worker") == "1 pid 4711");
  CHECK(letter.header("__sluice.errors.signal") == "11");
  CHECK(letter.header("__sluice.errors.plugin.sha256") == digest);
}

TEST_CASE("class.name is the plugin's name, or the alias where transform and sink share that",
          "[worker]") {
  const auto class_of_death_in = [](const std::vector<PluginInstance>& plugins) {
    TaskWorld world;
    tolerate(world);
    fill(world, 0, "boom");
    world.parameters.plugins = plugins;
    world.then([&] { world.dead_letter(1, 0, 1, {{"out", "CRASH", "SIGSEGV"}, 1, 0, 11, {}}); });
    world.run();
    return world.outlet.sent.at(0).header("__connect.errors.class.name");
  };
  const PluginInstance sink{PluginKind::Sink, "file", "out", {}, {}, {}};
  const PluginInstance other{PluginKind::Processor, "filter", "big", {}, {}, {}};
  const PluginInstance twin{PluginKind::Processor, "filter", "out", {}, {}, {}};
  CHECK(class_of_death_in({other, sink}) == "file");
  CHECK(class_of_death_in({twin, sink}) == "out");
}

TEST_CASE("a record that its plugin refused is set aside with the plugin's stage", "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.parameters.tolerance = ErrorsTolerance::None;
  fill(world, 0, "boom");
  world.then([&] { world.dead_letter(1, 0, 1, {{"out", "put", "boom at 1"}, 0, 0, 0, {}}); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @2"});
  const auto& letter = world.outlet.sent.at(0);
  CHECK(letter.header("__connect.errors.stage") == "TASK_PUT");
  CHECK(letter.header("__connect.errors.exception.class.name") == "RecordFailed");
  CHECK(letter.header("__sluice.errors.worker") == "(none)");
}

TEST_CASE("slices before and after a record that is set aside have groups of their own",
          "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.plugin.on_call["flush"] = [&](const sluice_host*) { world.advance(10'000); };
  fill(world, 0, "boom");
  world.source.log(1).append(1);
  world.then([&] { world.slice(9, 1, 0, 1); });
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.dead_letter(2, 0, 1, {{"out", "HANG", "no answer for 60 s"}, 1, 4711, 6, {}});
    world.slice(3, 0, 2, 3);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 9 @1", "DONE 1 @1", "DONE 2 @2", "DONE 3 @3"});
  CHECK(world.plugin.durable == Texts{"1@0", "0@0", "0@2"});
  CHECK(world.outlet.acknowledged == Texts{"boom"});
}

TEST_CASE("a record that the log does not have any more needs no letter", "[worker]") {
  TaskWorld world;
  tolerate(world);
  world.source.log(0).append_holes(3);
  world.then([&] { world.dead_letter(1, 0, 1, {{"out", "CRASH", ""}, 1, 4711, 11, {}}); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @2"});
  CHECK(world.report_of(1, ReportKind::Done).report.errant == 0);
  CHECK(world.outlet.opened == 0);
}

TEST_CASE("a dead letter for a job without a dead letter topic is nonsense", "[worker]") {
  TaskWorld world;
  fill(world);
  world.then([&] { world.dead_letter(1, 0, 1, {{"out", "CRASH", ""}, 1, 4711, 11, {}}); });
  CHECK(world.run() == kExitInternal);
}

}  // namespace sluice::worker
