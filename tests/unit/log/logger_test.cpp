#include "host/log/logger.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

namespace sluice::log {
namespace {

/// A logger whose lines can be read, under a clock that stands still unless it is advanced.
struct Fixture {
  explicit Fixture(LogOptions options = {})
      : logger{clock, options, [this](std::string_view line) {
                 lines.emplace_back(line);
                 return true;
               }} {}

  ManualClock clock;
  std::vector<std::string> lines;
  Logger logger;
};

// ManualClock starts at 1,700,000,000,000 ms: 2023-11-14 22:13:20 UTC.
const std::string kTime = "2023-11-14T22:13:20.000Z ";

}  // namespace

TEST_CASE("a text line has time, level, text and the fields in one order", "[log]") {
  Fixture test;
  const Logger narrow =
      test.logger.with_plugin("file").with_slice(17).with_worker(2).with_job("orders");
  narrow.warning("sink is slow");
  REQUIRE(test.lines.size() == 1);
  CHECK(test.lines[0] == kTime + "warning sink is slow job=orders worker=2 slice=17 plugin=file\n");
}

TEST_CASE("a narrower logger does not change the one it came from", "[log]") {
  Fixture test;
  const Logger narrow = test.logger.with_job("orders");
  test.logger.info("plain");
  CHECK(test.lines.at(0) == kTime + "info plain\n");
}

TEST_CASE("under journald a line begins with its priority and has no time", "[log]") {
  Fixture test{{.least = Level::Debug, .format = Format::Journald}};
  test.logger.debug("d");
  test.logger.info("i");
  test.logger.warning("w");
  test.logger.error("e");
  CHECK(test.lines == std::vector<std::string>{"<7>d\n", "<6>i\n", "<4>w\n", "<3>e\n"});
}

TEST_CASE("levels below the least are neither printed nor counted", "[log]") {
  Fixture test{{.least = Level::Warning}};
  test.logger.info("quiet");
  test.logger.limited(Level::Info, "cause", "quiet");
  test.logger.limited(Level::Info, "cause", "quiet");
  CHECK(test.lines.empty());
  CHECK(test.logger.counters().swallowed == 0);
  CHECK_FALSE(test.logger.enabled(Level::Info));
  CHECK(test.logger.enabled(Level::Warning));
}

TEST_CASE("a text of others stays one line and cannot forge a field", "[log]") {
  Fixture test;
  test.logger.with_plugin("evil\" job=other\n").info("a\nb\x1b[2J");
  CHECK(test.lines.at(0) == kTime + "info a\\nb\\x1b[2J plugin=\"evil' job=other\\n\"\n");
}

TEST_CASE("a text without format marks is printed as it is", "[log]") {
  Fixture test;
  test.logger.info("{} %v {0:x} %%");
  CHECK(test.lines.at(0) == kTime + "info {} %v {0:x} %%\n");
}

TEST_CASE("a line keeps below the limit and keeps its fields, whatever it is given", "[log]") {
  Fixture test;
  const std::string name(5000, 'n');
  const Logger narrow = test.logger.with_job(name).with_plugin(name);
  narrow.limited(Level::Warning, "c", std::string(10'000, '\x1b'));
  narrow.limited(Level::Warning, "c", std::string(10'000, '\x1b'));
  test.clock.advance(Milliseconds{60'000});
  narrow.tick();
  REQUIRE(test.lines.size() == 2);
  for (const auto& line : test.lines) {
    CHECK(line.size() <= kLineBytesMax);
    CHECK(line.find("... job=nnn") != std::string::npos);
    CHECK(line.find("plugin=nnn") != std::string::npos);
  }
}

TEST_CASE("a repeated cause is one line a minute, whose successor tells the count", "[log]") {
  Fixture test;
  for (int i = 0; i < 5; ++i) test.logger.limited(Level::Error, "kafka.down", "broker away");
  test.clock.advance(Milliseconds{60'000});
  test.logger.limited(Level::Error, "kafka.down", "broker still away");
  REQUIRE(test.lines.size() == 2);
  CHECK(test.lines[0] == kTime + "error broker away\n");
  CHECK(test.lines[1] == "2023-11-14T22:14:20.000Z error broker still away swallowed=4\n");
  CHECK(test.logger.counters().swallowed == 4);
}

TEST_CASE("tick brings out the count of a cause that has become quiet", "[log]") {
  Fixture test;
  const Logger job = test.logger.with_job("orders");
  for (int i = 0; i < 3; ++i) job.limited(Level::Warning, "kafka.down", "broker away");
  test.clock.advance(Milliseconds{59'999});
  test.logger.tick();
  CHECK(test.lines.size() == 1);
  test.clock.advance(Milliseconds{1});
  test.logger.tick();
  REQUIRE(test.lines.size() == 2);
  CHECK(test.lines[1] == "2023-11-14T22:14:20.000Z warning broker away job=orders swallowed=2\n");
}

TEST_CASE("one job's dead broker does not silence another job's", "[log]") {
  Fixture test;
  test.logger.with_job("a").limited(Level::Warning, "kafka.down", "away");
  test.logger.with_job("b").limited(Level::Warning, "kafka.down", "away");
  CHECK(test.lines.size() == 2);
}

TEST_CASE("a line that cannot be written is counted as lost", "[log]") {
  const ManualClock clock;
  const Logger refused{clock, {}, [](std::string_view) { return false; }};
  refused.info("x");
  CHECK(refused.counters().lost == 1);
  const Logger throwing{clock, {}, [](std::string_view) -> bool { throw std::runtime_error{"x"}; }};
  throwing.info("x");
  CHECK(throwing.counters().lost == 1);
}

TEST_CASE("lines of many threads stay whole and none is lost", "[log]") {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  Fixture test;
  std::vector<std::thread> threads;
  for (std::uint32_t slot = 0; slot < kThreads; ++slot) {
    threads.emplace_back([&test, slot] {
      const Logger logger = test.logger.with_worker(slot);
      for (int i = 0; i < kLines; ++i) {
        logger.info("line");
        logger.limited(Level::Warning, "shared", "swallowed but one");
        logger.tick();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(test.lines.size() == kThreads * kLines + 1);
  for (int slot = 0; slot < kThreads; ++slot) {
    const auto expected = kTime + "info line worker=" + std::to_string(slot) + "\n";
    CHECK(std::count(test.lines.begin(), test.lines.end(), expected) == kLines);
  }
  CHECK(test.logger.counters().swallowed == kThreads * kLines - 1);
}

TEST_CASE("journald is recognised by device and inode, not by the variable alone", "[log]") {
  CHECK(is_journal_stream("8:1234", 8, 1234));
  CHECK_FALSE(is_journal_stream("8:1234", 8, 1235));
  CHECK_FALSE(is_journal_stream("9:1234", 8, 1234));
  for (const char* value : {"", ":", "8", "8:", ":1234", "8:1234x", "x8:1234", "8 :1234", "-8:1"}) {
    CAPTURE(value);
    CHECK_FALSE(is_journal_stream(value, 8, 1234));
  }
  CHECK_FALSE(is_journal_stream(nullptr, 0, 0));
}

}  // namespace sluice::log
