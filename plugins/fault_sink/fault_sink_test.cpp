#include <sys/time.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>

#include "fault_sink/fault_action.hpp"
#include "unit/plugins/other_process.hpp"
#include "unit/plugins/read_back.hpp"
#include "unit/sdk/plugin_harness.hpp"
#include "unit/temporary_folder.hpp"

using namespace sluice::test;
using sluice::TemporaryFolder;
using sluice::fault::Act;
using sluice::fault::parse_action;

namespace {

struct Fault {
  explicit Fault(const PluginHarness::Config& config = {}) : config_{config} {
    config_["file"] = path;
  }

  PluginHarness make() const {  // a prvalue: a harness does not move
    return PluginHarness{PluginHarness::load("fault_sink.so"), config_};
  }

  TemporaryFolder folder;
  std::string path = folder.path() / "ledger";

 private:
  PluginHarness::Config config_;
};

std::vector<std::int64_t> offsets_in(const std::string& path) {
  std::vector<std::int64_t> offsets;
  for (const std::string& line : lines_of(read_file(path))) {
    offsets.push_back(boost::json::parse(line).at("offset").as_int64());
  }
  return offsets;
}

using Offsets = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a value that is no word is a value", "[plugins]") {
  REQUIRE(parse_action("")->act == Act::Nothing);
  REQUIRE(parse_action("hello")->act == Act::Nothing);
  REQUIRE(parse_action("badly")->act == Act::Nothing);
  REQUIRE(parse_action("again:3")->number == 3);
  REQUIRE(parse_action("bad")->text == "bad record");
  REQUIRE(parse_action("bad:")->text.empty());
  REQUIRE(parse_action("bad:too old")->text == "too old");
  for (const char* wrong : {"again", "again:", "again:x", "again:-1", "slow:1s", "crash:1"}) {
    CAPTURE(wrong);
    REQUIRE_FALSE(parse_action(wrong).has_value());
  }
}

TEST_CASE("a bad record is failed with its reason and is not in the ledger", "[plugins]") {
  Fault fault;
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "a"}, {"k", "bad"}, {"k", "bad:"}, {"k", "b"}}) == SLUICE_OK);
  REQUIRE(sink.host.failed.at({1, 1}) == "bad record");
  REQUIRE(sink.host.failed.at({1, 2}).empty());
  REQUIRE(offsets_in(fault.path) == Offsets{0, 3});
}

// Case B12.
TEST_CASE("a batch that is put again after RETRY is written once, buffered or not", "[plugins]") {
  for (const char* buffer : {"false", "true"}) {
    Fault fault{{{"buffer", buffer}}};
    PluginHarness sink = fault.make();
    REQUIRE(sink.start() == SLUICE_OK);
    REQUIRE(sink.put({{"k", "before"}}) == SLUICE_OK);
    REQUIRE(sink.put({{"k", "a"}, {"k", "again:2"}, {"k", "c"}}) == SLUICE_RETRY);
    REQUIRE(sink.host.position == 1);
    REQUIRE(sink.put_again() == SLUICE_RETRY);
    REQUIRE(sink.put_again() == SLUICE_OK);
    REQUIRE(sink.flush() == SLUICE_OK);
    REQUIRE(offsets_in(fault.path) == Offsets{0, 1, 2, 3});
  }
}

TEST_CASE("a buffered line is in the file after flush and gone with the sink before", "[plugins]") {
  Fault fault{{{"buffer", "true"}}};
  {
    PluginHarness sink = fault.make();
    REQUIRE(sink.start() == SLUICE_OK);
    REQUIRE(sink.put({{"k", "lost with the sink"}}) == SLUICE_OK);
  }
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  sink.set_next_offset(5);
  REQUIRE(sink.put({{"k", "kept"}}) == SLUICE_OK);
  REQUIRE(read_file(fault.path).empty());
  REQUIRE(sink.flush() == SLUICE_OK);
  REQUIRE(offsets_in(fault.path) == Offsets{5});
}

TEST_CASE("a lost connection is counted over the sinks that are made anew", "[plugins]") {
  Fault fault;
  for (const sluice_status expected : {SLUICE_NOT_CONNECTED, SLUICE_NOT_CONNECTED, SLUICE_OK}) {
    PluginHarness sink = fault.make();
    REQUIRE(sink.start() == SLUICE_OK);
    REQUIRE(sink.put({{"k", "lost:2"}}) == expected);
  }
}

TEST_CASE("what throws keeps nothing of the batch", "[plugins]") {
  Fault fault;
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "a"}, {"k", "throw"}}) == SLUICE_FAIL);
  REQUIRE(sink.host.error.message == "told to throw: orders-0-1");
  REQUIRE(sink.put({{"k", "a"}, {"k", "config"}}) == SLUICE_FAIL);
  REQUIRE(read_file(fault.path).empty());
}

TEST_CASE("words that end the process end it as they say", "[plugins]") {
  Fault fault;
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  const auto put = [&](const char* word) {
    return run_in_other_process([&] { sink.put({{"k", word}}); });
  };
  REQUIRE(put("fine") == 0);
  REQUIRE(ended_by(put("crash"), SIGSEGV));
  REQUIRE(ended_by(put("abort"), SIGABRT));
  REQUIRE(ended_by(put("overflow"), SIGSEGV));
  const int status = put("exit:7");
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 7));
}

TEST_CASE("words that kill the process in its flush do so before or after the lines are written",
          "[plugins]") {
  for (const bool flushed : {false, true}) {
    Fault fault{{{"buffer", "true"}}};
    PluginHarness sink = fault.make();
    REQUIRE(sink.start() == SLUICE_OK);
    const auto dies = [&](const char* word) {
      return run_in_other_process([&] {
        sink.put({{"k", "a"}, {"k", word}});
        sink.flush();
      });
    };
    REQUIRE(ended_by(dies(flushed ? "kill_flushed" : "kill_flush"), SIGKILL));
    REQUIRE(offsets_in(fault.path) == (flushed ? Offsets{0, 1} : Offsets{}));
    REQUIRE(ended_by(run_in_other_process([&] { sink.put({{"k", "kill"}}); }), SIGKILL));
  }
}

TEST_CASE("a record can crash the process in its flush, before anything is written", "[plugins]") {
  Fault fault{{{"buffer", "true"}}};
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  const auto ended = run_in_other_process([&] {
    sink.put({{"k", "a"}, {"k", "crash_flush"}});
    sink.flush();
  });
  REQUIRE(ended_by(ended, SIGSEGV));
  REQUIRE(offsets_in(fault.path).empty());
}

TEST_CASE("a thread of the sink acts when nothing has come for a while after a flush",
          "[plugins]") {
  Fault fault{{{"idle.action", "abort"}}};
  const auto ended = run_in_other_process([&] {
    PluginHarness sink = fault.make();
    sink.start();
    sink.put({{"k", "a"}});
    sink.flush();
    for (;;) {
      ::pause();
    }
  });
  REQUIRE(ended_by(ended, SIGABRT));
  REQUIRE(offsets_in(fault.path) == Offsets{0});
}

TEST_CASE("while the outage file exists, every put does what it says", "[plugins]") {
  const TemporaryFolder outside;
  const auto down = outside.path() / "down";
  Fault fault{{{"outage.file", down}}};
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "a"}}) == SLUICE_OK);
  outside.write("down", "throw");
  REQUIRE(sink.put({{"k", "b"}}) == SLUICE_FAIL);
  REQUIRE(sink.put_again() == SLUICE_FAIL);
  std::filesystem::remove(down);
  REQUIRE(sink.put_again() == SLUICE_OK);
  REQUIRE(offsets_in(fault.path) == Offsets{0, 1});
}

TEST_CASE("words that hang do not return", "[plugins]") {
  Fault fault;
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  for (const char* word : {"hang", "spin", "block", "deadlock", "stuck"}) {
    // The alarm is what ends it; a put that returned would exit with 0 at once.
    REQUIRE(ended_by(run_in_other_process([&] {
                       const itimerval soon{{0, 0}, {0, 100'000}};
                       ::setitimer(ITIMER_REAL, &soon, nullptr);
                       sink.put({{"k", word}});
                     }),
                     SIGALRM));
  }
}

TEST_CASE("half leaves half a line, which the next append cuts off", "[plugins]") {
  Fault fault;
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(ended_by(run_in_other_process([&] { sink.put({{"k", "a"}, {"k", "half"}}); }), SIGKILL));
  const std::string text = read_file(fault.path);
  REQUIRE(lines_of(text).size() == 2);
  REQUIRE(text.back() != '\n');
  sink.set_next_offset(9);
  REQUIRE(sink.put({{"k", "next"}}) == SLUICE_OK);
  REQUIRE(offsets_in(fault.path) == Offsets{0, 9});
}

TEST_CASE("with once.folder a record ends one worker only", "[plugins]") {
  const TemporaryFolder once;
  Fault fault{{{"once.folder", once.path()}}};
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  const auto put = [&] { return run_in_other_process([&] { sink.put({{"k", "crash"}}); }); };
  REQUIRE(ended_by(put(), SIGSEGV));
  REQUIRE(put() == 0);
  REQUIRE(offsets_in(fault.path) == Offsets{0});
}

TEST_CASE("slow takes at least its time and writes the record", "[plugins]") {
  Fault fault;
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  const auto before = std::chrono::steady_clock::now();
  REQUIRE(sink.put({{"k", "slow:20"}, {"k", "slow:20"}}) == SLUICE_OK);
  REQUIRE(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds{40});
  REQUIRE(offsets_in(fault.path) == Offsets{0, 1});
}

TEST_CASE("alloc gives up at its bound", "[plugins]") {
  Fault fault{{{"alloc.max", "20MiB"}}};
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "alloc"}}) == SLUICE_FAIL);
}

TEST_CASE("keys let the sink act when it starts and flushes", "[plugins]") {
  Fault starts{{{"start.action", "again:1"}}};
  PluginHarness first = starts.make();
  REQUIRE(first.start() == SLUICE_RETRY);
  REQUIRE(first.start() == SLUICE_OK);

  Fault refuses{{{"start.action", "config"}}};
  PluginHarness second = refuses.make();
  REQUIRE(second.start() == SLUICE_CONFIG);
  REQUIRE(second.host.error.key == "start.action");

  Fault flushes{{{"flush.action", "throw"}}};
  PluginHarness third = flushes.make();
  REQUIRE(third.start() == SLUICE_OK);
  REQUIRE(third.put({{"k", "v"}}) == SLUICE_OK);
  REQUIRE(third.flush() == SLUICE_FAIL);
}

TEST_CASE("a record may be failed as late as in flush", "[plugins]") {
  Fault fault{{{"flush.action", "bad:late"}}};
  PluginHarness sink = fault.make();
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "a"}, {"k", "b"}}) == SLUICE_OK);
  REQUIRE(sink.flush() == SLUICE_OK);
  REQUIRE(sink.host.failed.at({1, 1}) == "late");
  sink.host.failed.clear();
  REQUIRE(sink.flush() == SLUICE_OK);  // nothing was put
  REQUIRE(sink.host.failed.empty());
}

TEST_CASE("an action that is no word is refused by validate", "[plugins]") {
  const auto choice = PluginHarness::load("fault_sink.so");
  REQUIRE(PluginHarness::problems(choice, {{"file", "/x"}, {"stop.action", "hang"}}).empty());
  REQUIRE(PluginHarness::problems(choice, {{"file", "/x"}, {"stop.action", "hangs"}}) ==
          "stop.action: is not a word to act on here");
  REQUIRE(PluginHarness::problems(choice, {{"file", "/x"}, {"flush.action", "half"}}) ==
          "flush.action: is not a word to act on here");
}
