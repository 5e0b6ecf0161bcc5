#include "host/kafka/mock_broker.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "unit/kafka/mock_kafka.hpp"

extern char** environ;

namespace sluice::kafka {

namespace {

/// The mock broker as a process: its standard input and output are pipes of this test.
class BrokerProcess {
 public:
  BrokerProcess() {
    int to[2], from[2];
    REQUIRE(::pipe2(to, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(from, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    std::string program = SLUICE_BIN_DIR "/mock_broker_process";
    std::string brokers = "--brokers", two = "2";
    char* argv[] = {program.data(), brokers.data(), two.data(), nullptr};
    REQUIRE(::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    in_ = to[1];
    out_ = ::fdopen(from[0], "r");
  }
  ~BrokerProcess() {
    if (in_ >= 0) exit_code();
    std::fclose(out_);
  }

  std::string line() {
    char buffer[512] = {};
    if (std::fgets(buffer, sizeof buffer, out_) == nullptr) return {};
    std::string text{buffer};
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  std::string ask(const std::string& command) {
    const auto with_newline = command + "\n";
    REQUIRE(::write(in_, with_newline.data(), with_newline.size()) ==
            static_cast<ssize_t>(with_newline.size()));
    return line();
  }
  /// Ends its input, waits for it.
  int exit_code() {
    ::close(in_);
    in_ = -1;
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  std::FILE* out_ = nullptr;
};

}  // namespace

TEST_CASE("the mock broker process tells where it listens, obeys and ends with its input",
          "[kafka]") {
  BrokerProcess broker;
  const auto servers = broker.line();
  REQUIRE(servers.find("127.0.0.1:") != std::string::npos);
  CHECK(broker.ask("create t 2") == "ok");
  CHECK(broker.ask("leader t 1 2") == "ok");

  const auto producer = value_of(Producer::create({{"bootstrap.servers", servers}}));
  OutRecord record;
  record.value = bytes_of("hello");
  record.partition = 1;
  ok(producer->produce("t", record));
  ok(producer->flush(kTimeoutMs));
  const auto reader = value_of(Reader::create({{"bootstrap.servers", servers}}, {}));
  auto& partition = *value_of(reader->open("t", 0, 1, 0));
  CHECK(read_until(*reader, partition, records(1)).values == std::vector<std::string>{"hello"});
  CHECK(broker.exit_code() == 0);
}

TEST_CASE("every command of the mock broker is answered by ok or by a reason", "[kafka]") {
  auto cluster = value_of(MockCluster::create(2));
  CHECK(obey(cluster, "create t 3") == "ok");
  CHECK(obey(cluster, "create t 3").rfind("error ", 0) == 0);
  CHECK(obey(cluster, "leader t 0 2") == "ok");
  CHECK(obey(cluster, "leader t 0 9").rfind("error ", 0) == 0);
  CHECK(obey(cluster, "down 1") == "ok");
  CHECK(obey(cluster, "up 1") == "ok");
  CHECK(obey(cluster, "rtt 1 5") == "ok");
  CHECK(obey(cluster, "errors 1 3 2") == "ok");
  CHECK(obey(cluster, "topic-error t 3") == "ok");
  CHECK(obey(cluster, "errors 1 3 -2").rfind("error ", 0) == 0);
  CHECK(obey(cluster, "down 1 2").rfind("error down: takes 1", 0) == 0);
  CHECK(obey(cluster, "down one").rfind("error down: one is not a number", 0) == 0);
  CHECK(obey(cluster, "fly").rfind("error fly", 0) == 0);
  CHECK(obey(cluster, "").rfind("error ", 0) == 0);
}

}  // namespace sluice::kafka
