// When a slice is over (slicer.md C4), and what happens while it is not.
#include <catch2/catch.hpp>

#include "unit/worker/task_world.hpp"

namespace sluice::worker {

using fixture::kSecondUs;
using fixture::TaskWorld;
using fixture::Texts;
using ipc::ReportKind;

TEST_CASE("a slice is done when its last offset was handed out", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.then([&] { world.slice(1, 0, 0, 10); });
  CHECK(world.run() == kExitDone);
  CHECK(world.outcomes() == Texts{"DONE 1 @10"});
  const ipc::Report& report = world.report_of(1, ReportKind::Done).report;
  CHECK(report.records == 10);
  CHECK(report.out == 10);
  CHECK(report.bytes == 10);
  CHECK(report.fence == 1);
  CHECK(world.plugin.durable.size() == 10);
}

TEST_CASE("a record beyond the end closes the slice and waits for the next one without a seek",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(3);
  world.source.log(0).append_holes(4);
  world.source.log(0).append(3);
  world.source.log(0).tells_eof = false;
  world.source.log(0).tells_position = false;
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.then([&] { world.slice(2, 0, 5, 10); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @5", "DONE 2 @10"});
  CHECK(world.report_of(1, ReportKind::Done).report.records == 3);
  CHECK(world.plugin.durable == Texts{"0@0", "0@1", "0@2", "0@7", "0@8", "0@9"});
  CHECK(world.source.moves == Texts{"open 0@0"});
}

TEST_CASE("holes up to the log's end are closed by the end of partition alone", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(3);
  world.source.log(0).append_holes(4);
  world.source.log(0).tells_position = false;
  world.then([&] { world.slice(1, 0, 0, 7); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @7"});
}

TEST_CASE("holes up to the log's end are closed by the position alone", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(3);
  world.source.log(0).append_holes(4);
  world.source.log(0).tells_eof = false;
  world.then([&] { world.slice(1, 0, 0, 7); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @7"});
}

TEST_CASE("a slice of holes is done with no records and no call of the plugin", "[worker]") {
  TaskWorld world;
  world.source.log(0).append_holes(20);
  world.source.log(0).append(1);
  world.then([&] {
    world.slice(1, 0, 0, 10);
    world.slice(2, 0, 10, 20);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10", "DONE 2 @20"});
  CHECK(world.report_of(2, ReportKind::Done).report.records == 0);
  CHECK(world.plugin.times("put") == 0);
  CHECK(world.plugin.times("flush") == 0);
}

TEST_CASE("contiguous slices of any size never seek, whatever the blocks", "[worker]") {
  for (const std::size_t block : {1, 3, 7, 1000}) {
    TaskWorld world;
    world.source.log(0).append(50);
    world.source.log(0).block_records = block;
    world.then([&] {
      for (int i = 0; i < 10; ++i) world.slice(1 + i, 0, i * 5, i * 5 + 5);
    });
    world.run();
    CHECK(world.outcomes().size() == 10);
    CHECK(world.plugin.durable.size() == 50);
    CHECK(world.source.moves == Texts{"open 0@0"});
  }
}

TEST_CASE("a slice that does not begin where the last one ended is sought", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(100);
  world.source.log(0).block_records = 10;
  world.then([&] { world.slice(1, 0, 0, 10); });
  world.then([&] { world.slice(2, 0, 50, 60); });
  world.then([&] { world.slice(3, 0, 0, 5); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10", "DONE 2 @60", "DONE 3 @5"});
  CHECK(world.source.moves == Texts{"open 0@0", "seek 0@50", "seek 0@0"});
  CHECK(world.plugin.durable.size() == 25);
}

TEST_CASE("a gap within the block at hand is skipped without a seek", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(100);
  world.then([&] { world.slice(1, 0, 0, 10); });
  world.then([&] { world.slice(2, 0, 50, 60); });
  world.run();
  CHECK(world.source.moves == Texts{"open 0@0"});
  CHECK(world.plugin.durable.at(10) == "0@50");
}

TEST_CASE("time never ends a slice: it is fetched anew with back-off, and says that it waits",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.source.log(0).is_silent = true;
  world.source.log(0).error = "leader not available";
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.after_us(8 * kSecondUs, [&] { world.source.log(0).is_silent = false; });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @5"});
  // After 1, 3 and 7 s.
  CHECK(world.source.moves == Texts{"open 0@0", "refetch 0@0", "refetch 0@0", "refetch 0@0"});
  REQUIRE(world.all(ReportKind::Waiting).size() == 3);
  const auto& waiting = world.report_of(1, ReportKind::Waiting);
  CHECK_THAT(ipc::decode_failure_text(waiting.text).message,
             Catch::Contains("no record of orders-0 from offset 0 on: leader not available"));
  CHECK(world.report_of(1, ReportKind::Done).report.wait_us >= 8 * kSecondUs);
}

namespace {

void refuse(TaskWorld& world) {
  world.source.events.push_back({SourceEvent::Kind::TooLarge, "kafka: size 9 (0..5)", false});
}

}  // namespace

// The library tells it twice, and then nothing for 30 s; both may come before the plugin has put
// what was read before.
TEST_CASE("a record above the receive limit fails its slice by name, also when others wait (B11)",
          "[worker]") {
  const auto told_after_us = GENERATE(std::int64_t{0}, kSecondUs, 20 * kSecondUs);
  TaskWorld world;
  world.source.log(0).append(5);
  world.source.log(1).append(1);
  world.source.log(1).is_silent = true;
  if (told_after_us == 0) refuse(world);
  world.then([&] {
    world.slice(1, 0, 0, 9);
    world.slice(2, 1, 0, 1);
  });
  world.then([&] { world.source.log(0).is_silent = true; });
  world.after_us(told_after_us, [&] {
    if (told_after_us > 0) refuse(world);
  });
  world.after_us(std::max(9 * kSecondUs - told_after_us, kSecondUs));
  world.run();
  const auto& failed = world.report_of(1, ReportKind::Failed);
  CHECK(failed.report.failure == static_cast<std::uint16_t>(ipc::FailureClass::Configuration));
  CHECK(failed.report.next_offset == 5);
  CHECK(world.failure_of(1) ==
        "/fetch: orders-0 cannot be read at offset 5: the record there makes an answer above the "
        "client's limit (kafka: size 9 (0..5)); raise consumer.override.receive.message.max.bytes; "
        "orders-1 waits at offset 0 as well");
  CHECK(world.plugin.durable.size() == 5);
}

TEST_CASE("a refused answer of another time, or before a connection failed, blames nobody (B11)",
          "[worker]") {
  const bool is_disconnected = GENERATE(false, true);
  TaskWorld world;
  world.source.log(0).append(5);
  refuse(world);
  world.after_us(is_disconnected ? kSecondUs : 61 * kSecondUs, [&] {
    if (is_disconnected) {
      world.source.events.push_back({SourceEvent::Kind::Disconnected, "kafka: refused", true});
    }
    world.source.log(0).is_silent = true;
    world.slice(1, 0, 0, 5);
  });
  world.after_us(30 * kSecondUs, [&] { world.source.log(0).is_silent = false; });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @5"});
}

TEST_CASE("a partition without records does not hold up another one", "[worker]") {
  TaskWorld world;
  world.source.log(0).is_silent = true;
  world.source.log(1).append(30);
  world.then([&] {
    world.slice(1, 0, 0, 10);
    world.slice(2, 1, 0, 10);
    world.slice(3, 1, 10, 30);
  });
  world.then([&] {
    world.source.log(0).append(10);
    world.source.log(0).is_silent = false;
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 2 @10", "DONE 3 @30", "DONE 1 @10"});
}

TEST_CASE("a partition that is busy does not keep a starved one from being fetched anew",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).is_silent = true;
  world.source.log(1).append(40);
  world.plugin.on_call["put"] = [&](const sluice_host*) { world.advance(kSecondUs / 10); };
  world.then([&] {
    world.slice(1, 0, 0, 10);
    for (int i = 0; i < 40; ++i) world.slice(2 + i, 1, i, i + 1);
    world.source.events.push_back({SourceEvent::Kind::Told, "kafka: a broker is away"});
  });
  world.then([&] {
    CHECK(world.outcomes().size() == 40);
    CHECK(world.all(ReportKind::Waiting).size() == 2);  // after 1 s and 3 s of the 4
    CHECK_THAT(ipc::decode_failure_text(world.report_of(1, ReportKind::Waiting).text).message,
               Catch::Contains("a broker is away"));
  });
  world.run();
}

TEST_CASE("a log that ends inside a slice gives the rest back, once a new fetch has shown it",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(6);
  world.then([&] {
    world.slice(1, 0, 0, 10);
    world.slice(2, 0, 10, 20);
  });
  world.after_us(2 * kSecondUs);
  world.run();
  CHECK(world.outcomes() == Texts{"RELEASED 1 @6", "RELEASED 2 @10"});
  CHECK(world.plugin.durable.size() == 6);
  CHECK(world.source.moves == Texts{"open 0@0", "refetch 0@6"});
}

TEST_CASE("a stable slice is not cut short by the end of the log", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(6);
  world.then([&] { world.slice(1, 0, 0, 10, ipc::kStable); });
  world.after_us(5 * kSecondUs, [&] { world.source.log(0).append(4); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10"});
}

TEST_CASE("a start that is not in the log any more is EXPIRED and closes the lane", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(30);
  world.source.log(0).low = 20;
  world.then([&] {
    world.slice(1, 0, 3, 10);
    world.slice(2, 0, 10, 20);
  });
  world.then([&] { world.slice(3, 0, 20, 25); });  // still the old fence
  world.then([&] { world.slice(4, 0, 20, 30, 0, 2); });
  world.run();
  CHECK(world.outcomes() ==
        Texts{"EXPIRED 1 @3", "RELEASED 2 @10", "RELEASED 3 @20", "DONE 4 @30"});
  CHECK(world.plugin.durable.size() == 10);
}

TEST_CASE("a slice whose rest expires is released with what is done of it", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.then([&] { world.slice(1, 0, 0, 10); });
  world.then([&] {
    world.source.log(0).append(20);
    world.source.log(0).low = 12;
  });
  world.run();
  CHECK(world.outcomes() == Texts{"RELEASED 1 @5"});
}

TEST_CASE("a partition that cannot be opened waits, says why, and is opened later", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.source.log(0).open_error = "no such topic";
  world.then([&] { world.slice(1, 0, 0, 5); });
  world.after_us(2 * kSecondUs, [&] { world.source.log(0).open_error.reset(); });
  world.after_us(5 * kSecondUs);
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @5"});
  CHECK_THAT(ipc::decode_failure_text(world.report_of(1, ReportKind::Waiting).text).message,
             Catch::Contains("no such topic"));
}

TEST_CASE("an empty slice opens its partition and is done", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(5);
  world.then([&] { world.slice(1, 0, 2, 2); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @2"});
  CHECK(world.all(ReportKind::Opened) == Texts{"OPENED @2"});
}

}  // namespace sluice::worker
