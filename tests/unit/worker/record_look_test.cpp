// The host asks which record stands at an offset (slicer.md F5, kCompare), and every slice says
// which was its last.
#include <catch2/catch.hpp>

#include "unit/worker/task_world.hpp"

namespace sluice::worker::fixture {
namespace {

const ipc::Report& done(TaskWorld& world, std::uint64_t slice_id) {
  return world.report_of(slice_id, ipc::ReportKind::Done).report;
}

}  // namespace

TEST_CASE("a slice says which record was its last", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5, "v");
  world.source.log(0).append_holes(2);
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.then([&] { world.slice(2, 0, 3, 7); });
  world.run();
  CHECK(done(world, 1).last_offset == 2);
  CHECK(done(world, 2).last_offset == 4);
  CHECK(done(world, 1).last_digest == done(world, 2).last_digest);
}

TEST_CASE("a slice without a record has no last one", "[worker]") {
  TaskWorld world;
  world.source.log(0).append_holes(4);
  world.source.log(0).append(1);
  world.then([&] { world.slice(1, 0, 0, 4); });
  world.run();
  CHECK(done(world, 1).last_offset == -1);
}

TEST_CASE("what is given back half-way says which record was the last that is durable",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(3);
  world.then([&] { world.slice(1, 0, 0, 10); });
  world.run();
  const auto& report = world.report_of(1, ipc::ReportKind::Released).report;
  CHECK(report.next_offset == 3);
  CHECK(report.last_offset == 2);
}

TEST_CASE("a question is answered with the record that is there, and no plugin is called",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(3, "old");
  world.source.log(0).append(1, "new");
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.then([&] { world.slice(2, 0, 2, 3, ipc::kCompare, 2); });
  world.then([&] { world.slice(3, 0, 3, 4, ipc::kCompare, 2); });
  world.run();
  CHECK(done(world, 2).last_offset == 2);
  CHECK(done(world, 2).last_digest == done(world, 1).last_digest);
  CHECK(done(world, 3).last_offset == 3);
  CHECK(done(world, 3).last_digest != done(world, 1).last_digest);
  CHECK(done(world, 2).records == 0);
  CHECK(world.plugin.durable == std::vector<std::string>{"0@0", "0@1", "0@2"});
}

TEST_CASE("a hole, and an offset below the log, are answered with no record", "[worker]") {
  TaskWorld world;
  world.source.log(0).append_holes(5);
  world.source.log(0).append(5);
  world.source.log(0).low = 3;
  world.then([&] { world.slice(1, 0, 1, 2, ipc::kCompare); });
  world.then([&] { world.slice(2, 0, 4, 5, ipc::kCompare); });
  world.then([&] { world.slice(3, 0, 5, 10); });
  world.run();
  CHECK(done(world, 1).last_offset == -1);
  CHECK(done(world, 2).last_offset == -1);
  CHECK(done(world, 3).records == 5);
}

TEST_CASE("the slice behind a question goes on in the same fetch, without a seek", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(8);
  world.then([&] { world.slice(1, 0, 4, 5, ipc::kCompare); });
  world.then([&] { world.slice(2, 0, 5, 8); });
  world.run();
  CHECK(done(world, 2).records == 3);
  CHECK(world.source.moves == std::vector<std::string>{"open 0@4"});
}

TEST_CASE("a question that is asked back is returned like a slice", "[worker]") {
  TaskWorld world;
  world.source.log(0).is_silent = true;
  world.source.log(0).append(3);
  world.then([&] { world.slice(1, 0, 1, 2, ipc::kCompare); });
  world.then([&] { world.revoke(0); });
  world.run();
  CHECK(world.report_of(1, ipc::ReportKind::Released).report.next_offset == 1);
}

TEST_CASE("a topic that was recreated while the worker runs has its new incarnation", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(1);
  world.then([&] {
    ipc::Command command;
    command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Topic);
    command.epoch = 7;
    world.publish(command);
  });
  std::uint32_t seen = 0;
  world.plugin.on_call["put"] = [&](const sluice_host* host) {
    seen = host->slice(host, 1)->topic_incarnation;
  };
  world.then([&] { world.slice(1, 0, 0, 1); });
  world.run();
  CHECK(seen == 7);
}

}  // namespace sluice::worker::fixture
