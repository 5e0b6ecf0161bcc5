// RETRY and NOT_CONNECTED: what is called again, how long, and what ends the waiting.
#include <catch2/catch.hpp>
#include <limits>

#include "unit/worker/task_world.hpp"

namespace sluice::worker {

using fixture::kSecondUs;
using fixture::Rollback;
using fixture::TaskWorld;
using fixture::Texts;
using ipc::FailureClass;
using ipc::ReportKind;

namespace {

FailureClass failure_class(const TaskWorld& world, std::uint64_t slice_id) {
  return static_cast<FailureClass>(world.report_of(slice_id, ReportKind::Failed).report.failure);
}

}  // namespace

TEST_CASE("RETRY from put is the same batch again, and the host is told who waits and why",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(3);
  world.plugin.answers["put"] = {SLUICE_RETRY, SLUICE_RETRY};
  world.plugin.says = "the database is starting";
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @3"});
  CHECK(world.plugin.times("put") == 3);
  CHECK(world.plugin.durable.size() == 3);
  REQUIRE(world.all(ReportKind::Waiting).size() == 2);
  const auto& waiting = world.report_of(1, ReportKind::Waiting);
  const ipc::FailureText text = ipc::decode_failure_text(waiting.text);
  CHECK(text.plugin == "out");
  CHECK(text.stage == "put");
  CHECK(text.message == "the database is starting");
  CHECK(waiting.report.attempt == 1);
  const ipc::Report& done = world.report_of(1, ReportKind::Done).report;
  CHECK(done.wait_us >= 225'000);
  CHECK(done.put_us < 1'000);
}

TEST_CASE("RETRY from flush is the same flush again: nothing is put twice", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(3);
  world.plugin.answers["flush"] = {SLUICE_RETRY, SLUICE_RETRY};
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @3"});
  CHECK(world.plugin.times("put") == 1);
  CHECK(world.plugin.times("flush") == 3);
}

TEST_CASE("a plugin's retry_after is honoured over the host's own back-off", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.plugin.answers["put"] = {SLUICE_RETRY};
  world.plugin.retry_after_ms = 30'000;
  world.then([&] { world.slice(1, 0, 0, 1); });
  const std::int64_t begun_us = world.now_us();
  world.run();
  CHECK(world.now_us() - begun_us >= 30 * kSecondUs);
}

TEST_CASE("after a quarter of an hour a plugin is asked again, whatever retry_after it had named",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.plugin.answers["put"] = {SLUICE_RETRY};
  world.plugin.retry_after_ms =
      GENERATE(std::int64_t{9'000'000'000'000'000}, std::numeric_limits<std::int64_t>::max());
  CAPTURE(world.plugin.retry_after_ms);
  world.then([&] { world.slice(1, 0, 0, 1); });
  const std::int64_t begun_us = world.now_us();
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @1"});
  CHECK(world.now_us() - begun_us >= 900 * kSecondUs);
  CHECK(world.now_us() - begun_us <= 901 * kSecondUs);
}

TEST_CASE("the delay between attempts stops growing at errors.retry.delay.max.ms", "[worker]") {
  TaskWorld world;
  world.parameters.retry.delay_max_ms = 400;
  world.source.log(0).append(1);
  world.plugin.answers["put"] = std::deque<sluice_status>(22, SLUICE_RETRY);
  world.then([&] { world.slice(1, 0, 0, 1); });
  const std::int64_t begun_us = world.now_us();
  world.run();
  CHECK(world.now_us() - begun_us <= 22 * 400'000 + 10);
}

TEST_CASE("retries that are used up fail the slice as the environment's fault", "[worker]") {
  TaskWorld world;
  world.parameters.retry.task_retry_timeout_ms = 3'000;
  world.source.log(0).append(1);
  world.plugin.answers["put"] = std::deque<sluice_status>(1000, SLUICE_RETRY);
  world.then([&] { world.slice(1, 0, 0, 1); });
  const std::int64_t begun_us = world.now_us();
  world.run();
  CHECK(world.outcomes() == Texts{"FAILED 1 @0"});
  CHECK(failure_class(world, 1) == FailureClass::RetryUsedUp);
  CHECK(world.now_us() - begun_us >= 3 * kSecondUs);
  CHECK(world.now_us() - begun_us < 4 * kSecondUs);
}

TEST_CASE("a processor's retries end with errors.retry.timeout, the sink's do not", "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.parameters.retry.errors_retry_timeout_ms = 0;
  world.source.log(0).append(2);
  world.plugin.answers["put"] = {SLUICE_RETRY};
  world.plugin.answers["p:process"] = {SLUICE_OK, SLUICE_RETRY};
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.slice(2, 0, 1, 2);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @1", "FAILED 2 @1"});
  CHECK(failure_class(world, 2) == FailureClass::RetryUsedUp);
}

TEST_CASE("STOP between two attempts at put gives the slice back at what was flushed", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  world.plugin.answers["put"] = {SLUICE_OK, SLUICE_RETRY, SLUICE_RETRY, SLUICE_RETRY};
  world.then([&] { world.slice(1, 0, 0, 10); });
  world.between_attempts([&] { world.stop(); });
  CHECK(world.run() == kExitDone);
  CHECK(world.outcomes() == Texts{"RELEASED 1 @5"});
  CHECK(world.plugin.times("put") == 2);
}

TEST_CASE("a revoked partition leaves the call that waits at once when it has nothing in it",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.plugin.answers["put"] = std::deque<sluice_status>(3, SLUICE_RETRY);
  world.then([&] { world.slice(1, 0, 0, 1); });
  world.between_attempts([&] {
    world.slice(2, 1, 0, 10);
    world.revoke(1);
  });
  world.between_attempts([&] { CHECK(world.outcomes() == Texts{"RELEASED 2 @0"}); });
  world.run();
  CHECK(world.outcomes() == Texts{"RELEASED 2 @0", "DONE 1 @1"});
  CHECK(world.plugin.times("put") == 4);
}

TEST_CASE("a revoke of the partition whose call waits takes it back", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.source.log(1).append(1);
  world.plugin.answers["put"] = {SLUICE_RETRY};
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.slice(2, 1, 0, 1);
  });
  world.between_attempts([&] { world.revoke(0); });
  world.run();
  CHECK(world.outcomes() == Texts{"RELEASED 1 @0", "DONE 2 @1"});
  CHECK(world.plugin.durable == Texts{"1@0"});
}

TEST_CASE("a lost connection makes a new instance and is never a charged attempt", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(2);
  world.plugin.answers["put"] = {SLUICE_NOT_CONNECTED, SLUICE_NOT_CONNECTED};
  world.plugin.answers["start"] = {SLUICE_OK, SLUICE_NOT_CONNECTED};
  world.then([&] { world.slice(1, 0, 0, 2); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @2"});
  CHECK(world.plugin.times("rollback") == 0);
  CHECK(world.plugin.times("create") == 3);
  CHECK(world.plugin.durable.size() == 2);
}

TEST_CASE("only the plugin that lost its connection is made anew, the others roll back",
          "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.source.log(0).append(2);
  world.plugin.answers["put"] = {SLUICE_NOT_CONNECTED};
  world.then([&] { world.slice(1, 0, 0, 2); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @2"});
  CHECK(world.plugin.times("p:create") == 1);
  CHECK(world.plugin.times("p:rollback") == 1);
  CHECK(world.plugin.times("create") == 2);
}

TEST_CASE("a connection that does not come back in time fails what waits, and is tried again",
          "[worker]") {
  TaskWorld world;
  world.parameters.retry.task_retry_timeout_ms = 2'000;
  world.source.log(0).append(1);
  world.source.log(1).append(1);
  world.plugin.answers["put"] = {SLUICE_NOT_CONNECTED};
  world.plugin.answers["start"] = std::deque<sluice_status>(20, SLUICE_NOT_CONNECTED);
  world.plugin.answers["start"].front() = SLUICE_OK;
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.slice(2, 1, 0, 1);
  });
  world.then([&] {
    world.plugin.answers["start"].clear();
    world.slice(3, 0, 0, 1, 0, 2);
  });
  CHECK(world.run() == kExitDone);
  CHECK(world.outcomes() == Texts{"FAILED 1 @0", "FAILED 2 @0", "DONE 3 @1"});
  CHECK(failure_class(world, 1) == FailureClass::NotConnected);
  CHECK(failure_class(world, 2) == FailureClass::NotConnected);
}

TEST_CASE("put that loses its connection again and again is given up in time", "[worker]") {
  TaskWorld world;
  world.parameters.retry.task_retry_timeout_ms = 2'000;
  world.source.log(0).append(1);
  world.plugin.answers["put"] = std::deque<sluice_status>(1000, SLUICE_NOT_CONNECTED);
  world.then([&] { world.slice(1, 0, 0, 1); });
  world.run();
  CHECK(world.outcomes() == Texts{"FAILED 1 @0"});
  CHECK(failure_class(world, 1) == FailureClass::NotConnected);
}

TEST_CASE("a configuration error after a reset fails the job", "[worker]") {
  TaskWorld world;
  world.plugin.rollback = Rollback::Missing;
  world.source.log(0).append(1, "boom");
  world.plugin.answers["start"] = {SLUICE_OK, SLUICE_CONFIG};
  world.then([&] { world.slice(1, 0, 0, 1); });
  world.then([&] { world.slice(2, 0, 0, 1, 0, 2); });
  CHECK(world.run() == kExitConfiguration);
}

TEST_CASE("open that fails fails the slice that wanted the partition", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.source.log(1).append(1);
  world.plugin.answers["open 0"] = {SLUICE_FAIL};
  world.then([&] {
    world.slice(1, 0, 0, 1);
    world.slice(2, 1, 0, 1);
  });
  world.then([&] { world.slice(3, 0, 0, 1, 0, 2); });
  world.run();
  CHECK(world.outcomes() == Texts{"FAILED 1 @0", "DONE 2 @1", "DONE 3 @1"});
  CHECK(world.failure_of(1) == "out/open: because");
}

}  // namespace sluice::worker
