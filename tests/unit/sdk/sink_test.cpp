#include <sluice/sink.hpp>

#include <catch2/catch.hpp>

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "unit/sdk/plugin_harness.hpp"

using sluice::test::PluginHarness;
using sluice::test::TestBatch;
using sluice::test::TestRecord;

namespace {

/// Does what the value of a record says.
class Scripted final : public sluice::Sink {
 public:
  explicit Scripted(const sluice::Start& start) : Sink{start} {
    log().info("slot " + std::to_string(start.worker_slot) + " of " + std::string{start.job});
  }

  void put(const sluice::Batch& batch) override {
    for (const auto& record : batch) {
      act(batch, record);
    }
  }
  void flush() override { request_flush(); }

 private:
  void act(const sluice::Batch& batch, const sluice::Record& record) {
    const auto word = record.value();
    if (word == "bad") {
      batch.fail(record, "cannot be parsed", 22);
    } else if (word == "bad elsewhere") {
      fail_record(batch.slice_id(), 12345, "of another slice");
    } else if (word == "retry") {
      throw sluice::RetriableError{"busy"};
    } else if (word == "retry later") {
      throw sluice::RetriableError{"busy", std::chrono::seconds{2}};
    } else if (word == "lost") {
      throw sluice::NotConnected{"connection reset"};
    } else if (word == "config") {
      throw sluice::ConfigError{"url", "is gone"};
    } else if (word == "errno") {
      throw std::system_error{ENOSPC, std::generic_category(), "write"};
    } else if (word == "int") {
      throw 42;
    } else if (word == "alive") {
      std::thread{[this] { keep_alive(); }}.join();
    }
  }
};

struct Bare final : sluice::Sink {
  void put(const sluice::Batch& batch) override { log().warning(std::string{batch.topic()}); }
};

class Hooks : public sluice::Sink {
 public:
  void put(const sluice::Batch&) override {}

 private:  // private overrides are the author's good right
  void rollback() override { calls_ += "rollback "; }
  void open(std::span<const sluice::Partition> partitions, sluice::Reason why) override {
    for (const auto& partition : partitions) {
      log().info(std::string{partition.topic} + "/" + std::to_string(partition.number) + "#" +
                 std::to_string(partition.topic_incarnation) + " " +
                 std::to_string(static_cast<int>(why)));
    }
  }

 protected:
  std::string calls_;
};

/// Inherits its hooks from a class between.
struct HooksOfABase final : Hooks {};

struct UrlSettings {
  std::string url;
};
struct FailsToStart final : sluice::Sink {
  static auto schema() {
    return sluice::Schema<UrlSettings>{}.field("url", &UrlSettings::url).required().doc("Where.");
  }
  explicit FailsToStart(const UrlSettings& settings) {
    if (settings.url == "config") throw sluice::ConfigError{"url", "is no URL"};
    if (settings.url == "retry") throw sluice::RetriableError{"not yet"};
    if (settings.url == "throw") throw std::runtime_error{"no"};
  }
  void put(const sluice::Batch&) override {}
};

template <typename T>
sluice::worker::PluginChoice choice() {
  return PluginHarness::of_class(sluice::sink<T>("test", "1.0.0"));
}

sluice_status put_word(PluginHarness& sink, const char* word) {
  return sink.put({{"k", "fine"}, {"k", word}});
}

}  // namespace

TEST_CASE("the guide's example appends values as lines", "[sdk]") {
  const std::string path = "lines_example_" + std::to_string(::getpid()) + ".txt";
  PluginHarness sink{PluginHarness::load("../sdk_fixtures/lines_example.so"), {{"file", path}}};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "one"}, {"k", "two"}}) == SLUICE_OK);
  REQUIRE(sink.flush() == SLUICE_OK);
  std::stringstream text;
  text << std::ifstream{path}.rdbuf();
  std::remove(path.c_str());
  REQUIRE(text.str() == "one\ntwo\n");
}

TEST_CASE("the guide's example names the key of a file that cannot be opened", "[sdk]") {
  PluginHarness sink{PluginHarness::load("../sdk_fixtures/lines_example.so"),
                     {{"file", "/nowhere/at all"}}};
  REQUIRE(sink.start() == SLUICE_CONFIG);
  REQUIRE(sink.host.error.key == "file");
  REQUIRE(sink.host.error.message == "cannot be opened");
}

// sdk.md 5.6: one table.
TEST_CASE("each exception of put is the status that the error table says", "[sdk]") {
  PluginHarness sink{choice<Scripted>()};
  REQUIRE(sink.start() == SLUICE_OK);

  REQUIRE(put_word(sink, "retry") == SLUICE_RETRY);
  REQUIRE(sink.host.error.message == "busy");
  REQUIRE(sink.host.error.retry_after_ms == -1);

  REQUIRE(put_word(sink, "retry later") == SLUICE_RETRY);
  REQUIRE(sink.host.error.retry_after_ms == 2000);

  REQUIRE(put_word(sink, "lost") == SLUICE_NOT_CONNECTED);
  REQUIRE(sink.host.error.message == "connection reset");

  REQUIRE(put_word(sink, "errno") == SLUICE_FAIL);
  REQUIRE(sink.host.error.code == ENOSPC);

  REQUIRE(put_word(sink, "int") == SLUICE_FAIL);
  REQUIRE_FALSE(sink.host.error.message.empty());
}

TEST_CASE("a configuration error after the start fails the slice, not the job", "[sdk]") {
  PluginHarness sink{choice<Scripted>()};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(put_word(sink, "config") == SLUICE_FAIL);
  REQUIRE(sink.host.error.key == "url");
}

TEST_CASE("each exception of the constructor is a status of start", "[sdk]") {
  const auto status = [](const char* url) {
    PluginHarness sink{choice<FailsToStart>(), {{"url", url}}};
    return sink.start();
  };
  REQUIRE(status("config") == SLUICE_CONFIG);
  REQUIRE(status("retry") == SLUICE_RETRY);
  REQUIRE(status("throw") == SLUICE_FAIL);
  REQUIRE(status("fine") == SLUICE_OK);
}

TEST_CASE("a plugin that failed to start can start again, or be destroyed", "[sdk]") {
  PluginHarness sink{choice<FailsToStart>(), {{"url", "retry"}}};
  REQUIRE(sink.start() == SLUICE_RETRY);
  REQUIRE(sink.start() == SLUICE_RETRY);
  sink.stop();
  REQUIRE(sink.plugin == nullptr);
}

TEST_CASE("a failed record is told with its slice and offset, the others go on", "[sdk]") {
  PluginHarness sink{choice<Scripted>()};
  sink.set_next_offset(700);
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "fine"}, {"k", "bad"}, {"k", "fine"}}) == SLUICE_OK);
  REQUIRE(sink.host.failed.size() == 1);
  REQUIRE(sink.host.failed.at({1, 701}) == "cannot be parsed");
}

TEST_CASE("a failed record of another slice is the author's error, not a silent loss", "[sdk]") {
  PluginHarness sink{choice<Scripted>()};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(put_word(sink, "bad elsewhere") == SLUICE_FAIL);
  REQUIRE(sink.host.error.message == "record 12345 of slice 1 is not of this flush group");
}

// slicer.md F3: where isolating a crash starts from.
TEST_CASE("the position is the record that the plugin looked at last", "[sdk]") {
  PluginHarness sink{choice<Scripted>()};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "a"}, {"k", "b"}, {"k", "retry"}, {"k", "d"}}) == SLUICE_RETRY);
  REQUIRE(sink.host.position == 2);
  REQUIRE(sink.put({{"k", "a"}, {"k", "b"}}) == SLUICE_OK);
  REQUIRE(sink.host.position == 1);
}

TEST_CASE("an empty batch reaches put and is no error", "[sdk]") {
  PluginHarness sink{choice<Scripted>()};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put(std::vector<TestRecord>{}) == SLUICE_OK);
  REQUIRE(sink.host.position == 0);
}

// sdk-facts 3.8: growth by stride.
TEST_CASE("a plugin of today reads the records of a host whose record has grown", "[sdk]") {
  PluginHarness sink{choice<Scripted>()};
  REQUIRE(sink.start() == SLUICE_OK);
  sink.host.add_slice(9, 0, 50, 60);
  const TestBatch batch{9, 0, 50, {{"k", "fine"}, {"k", "bad"}, {"k", "bad"}}, 88};
  REQUIRE(sink.put(batch) == SLUICE_OK);
  REQUIRE(sink.host.failed.size() == 2);
  REQUIRE(sink.host.failed.count({9, 52}) == 1);
}

TEST_CASE("the constructor that takes a Start has the host and its place in the job", "[sdk]") {
  PluginHarness sink{choice<Scripted>()};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.host.lines.size() == 1);
  REQUIRE(sink.host.lines[0].first == SLUICE_LOG_INFO);
  REQUIRE(sink.host.lines[0].second == "slot 0 of job");
}

TEST_CASE("request_flush and keep_alive reach the host, also from another thread", "[sdk]") {
  PluginHarness sink{choice<Scripted>()};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(put_word(sink, "alive") == SLUICE_OK);
  REQUIRE(sink.flush() == SLUICE_OK);
  REQUIRE(sink.host.keep_alives == 1);
  REQUIRE(sink.host.flush_requests == 1);
}

TEST_CASE("a sink that overrides put only has no other hook in its table", "[sdk]") {
  PluginHarness sink{choice<Bare>()};
  REQUIRE(sink.plugin->put != nullptr);
  REQUIRE(sink.plugin->process == nullptr);
  REQUIRE(sink.plugin->flush == nullptr);
  REQUIRE(sink.plugin->rollback == nullptr);
  REQUIRE(sink.plugin->open == nullptr);
  REQUIRE(sink.plugin->close == nullptr);
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "v"}}) == SLUICE_OK);
  REQUIRE(sink.host.lines.at(0).second == "orders");
}

TEST_CASE("hooks are found in a base class and when they are private", "[sdk]") {
  PluginHarness direct{choice<Hooks>()};
  PluginHarness inherited{choice<HooksOfABase>()};
  for (const PluginHarness* sink : {&direct, &inherited}) {
    REQUIRE(sink->plugin->rollback != nullptr);
    REQUIRE(sink->plugin->open != nullptr);
    REQUIRE(sink->plugin->flush == nullptr);
    REQUIRE(sink->plugin->close == nullptr);
  }
  REQUIRE(inherited.start() == SLUICE_OK);
  REQUIRE(inherited.plugin->rollback(inherited.plugin) == SLUICE_OK);
}

TEST_CASE("open names its partitions and why, at the host's stride", "[sdk]") {
  struct Grown {
    sluice_partition known;
    std::uint64_t added;
  };
  PluginHarness sink{choice<Hooks>()};
  REQUIRE(sink.start() == SLUICE_OK);
  const Grown partitions[] = {{{sizeof(Grown), 0, 1, 3}, ~0ULL}, {{sizeof(Grown), 0, 1, 7}, ~0ULL}};
  REQUIRE(sink.plugin->open(sink.plugin, &partitions[0].known, 2, SLUICE_REASON_MOVED) ==
          SLUICE_OK);
  REQUIRE(sink.host.lines.size() == 2);
  REQUIRE(sink.host.lines[0].second == "orders/3#1 1");
  REQUIRE(sink.host.lines[1].second == "orders/7#1 1");
}

TEST_CASE("a batch knows its slice", "[sdk]") {
  struct Asks final : sluice::Sink {
    void put(const sluice::Batch& batch) override {
      const auto slice = batch.slice();
      log().info(std::string{slice.job()} + " " + std::string{slice.topic()} + " " +
                 std::to_string(slice.partition()) + " " + std::to_string(slice.start_offset()) +
                 " " + std::to_string(slice.end_offset()) + " " + std::to_string(slice.attempt()));
    }
  };
  PluginHarness sink{choice<Asks>()};
  sink.host.attempt = 3;
  sink.set_next_offset(10, 5);
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "v"}, {"k", "v"}}, 5) == SLUICE_OK);
  REQUIRE(sink.host.lines.at(0).second == "job orders 5 10 12 3");
}
