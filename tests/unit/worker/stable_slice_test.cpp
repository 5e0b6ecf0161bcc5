// Slices that must run as they are (slicer.md C3, C5): whatever happens in the middle of one, the
// sink is never asked to make half of it durable.
#include <catch2/catch.hpp>

#include <algorithm>

#include "unit/worker/task_world.hpp"

namespace sluice::worker {

using fixture::kSecondUs;
using fixture::TaskWorld;
using fixture::Texts;
namespace {

Texts offsets(std::int32_t partition, int count) {
  Texts all;
  for (int i = 0; i < count; ++i)
    all.push_back(std::to_string(partition) + "@" + std::to_string(i));
  return all;
}

}  // namespace

TEST_CASE("STOP and REVOKE in the middle of a stable slice leave nothing of it", "[worker]") {
  for (const bool is_stop : {true, false}) {
    TaskWorld world;
    world.interrupt_first_put(is_stop);
    world.then([&] { world.slice(1, 0, 0, 10, ipc::kStable); });
    world.run();
    CHECK(world.outcomes() == Texts{"RELEASED 1 @0"});
    CHECK(world.plugin.durable.empty());
    CHECK(world.plugin.times("flush") == 0);
  }
}

TEST_CASE("a stable slice is flushed once, whole, whatever it weighs", "[worker]") {
  TaskWorld world;
  world.parameters.flush.bytes_max = 50;
  world.parameters.flush.records_max = 2;
  world.parameters.flush.interval_ms = 1;
  world.source.log(0).append(10, std::string(100, 'v'));
  world.source.log(0).block_records = 2;
  world.then([&] { world.slice(1, 0, 0, 10, ipc::kStable); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10"});
  CHECK(world.plugin.times("flush") == 1);
  CHECK(world.plugin.durable == offsets(0, 10));
}

TEST_CASE("a stable slice that waits for its records holds up no other, and begins anew",
          "[worker]") {
  TaskWorld world;
  world.parameters.flush.interval_ms = 100;
  world.source.log(1).append(3);
  world.source.log(0).append(4);
  world.then([&] {
    world.slice(2, 1, 0, 6, ipc::kStable);
    world.slice(1, 0, 0, 4, ipc::kStable);
  });
  world.after_us(5 * kSecondUs, [&] {
    CHECK(world.outcomes() == Texts{"DONE 1 @4"});
    CHECK(world.plugin.durable == offsets(0, 4));
    world.source.log(1).append(3);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @4", "DONE 2 @6"});
  Texts all = offsets(0, 4);
  for (const auto& text : offsets(1, 6)) all.push_back(text);
  CHECK(world.plugin.durable == all);
}

TEST_CASE("a suspect that is stable and waits for its records goes on where it was", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.then([&] { world.slice(1, 0, 0, 10, ipc::kStable | ipc::kAlone); });
  world.after_us(2 * kSecondUs, [&] { world.source.log(0).append(5); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10"});
  CHECK(world.plugin.times("put") == 2);
  CHECK(world.plugin.durable == offsets(0, 10));
}

TEST_CASE(
    "a connection that is lost in the middle of a stable slice: it begins anew, with patience",
    "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  world.plugin.answers["put"] = {SLUICE_OK, SLUICE_NOT_CONNECTED, SLUICE_OK, SLUICE_NOT_CONNECTED};
  const std::int64_t begun_us = world.now_us();
  world.then([&] { world.slice(1, 0, 0, 10, ipc::kStable); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10"});
  CHECK(world.plugin.durable == offsets(0, 10));
  CHECK(world.now_us() - begun_us >= 2 * 75'000);
}

TEST_CASE("a connection that stays lost in the middle of a stable slice fails it in the end",
          "[worker]") {
  TaskWorld world;
  world.parameters.retry.task_retry_timeout_ms = 1'000;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  for (int i = 0; i < 1'000; ++i) {
    world.plugin.answers["put"].push_back(i % 2 == 0 ? SLUICE_OK : SLUICE_NOT_CONNECTED);
  }
  world.then([&] { world.slice(1, 0, 0, 10, ipc::kStable); });
  world.run();
  REQUIRE(world.outcomes().size() == 1);
  CHECK(world.outcomes()[0].starts_with("FAILED 1"));
  CHECK(world.plugin.durable.empty());
}

TEST_CASE("a stable slice that another one makes run again is not flushed by halves", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(4);
  world.source.log(1).append(10);
  world.source.log(1).block_records = 5;
  // The second put is the first half of slice 2, the third its second half.
  world.plugin.answers["put"] = {SLUICE_OK, SLUICE_OK, SLUICE_FAIL};
  world.plugin.on_call["flush"] = [&](const sluice_host*) { world.advance(kSecondUs); };
  world.then([&] {
    world.slice(1, 0, 0, 4, ipc::kStable);
    world.slice(2, 1, 0, 10, ipc::kStable);
  });
  world.run();
  CAPTURE(world.outcomes());
  CHECK(world.plugin.durable.size() % 2 == 0);
  const auto count = std::count_if(world.plugin.durable.begin(), world.plugin.durable.end(),
                                   [](const auto& text) { return text.starts_with("1@"); });
  CHECK((count == 0 || count == 10));
}

}  // namespace sluice::worker
