#include "host/cli/mock_broker_process.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "host/base/pipe.hpp"

namespace sluice::cli {
namespace {

constexpr char kSelf[] = "/proc/self/exe";

}  // namespace

Result<MockBrokerProcess> MockBrokerProcess::start() {
  auto commands = create_pipe("mock broker");
  if (!commands) return commands.error();
  auto answers = create_pipe("mock broker");
  if (!answers) return answers.error();

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, commands->read_end.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, answers->write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  // A group of its own: Ctrl-C on the terminal drains the job, which still needs its broker.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const std::string name = "sluice";
  const std::string command = "mock-broker";
  const std::array<char*, 3> arguments{const_cast<char*>(name.c_str()),
                                       const_cast<char*>(command.c_str()), nullptr};
  MockBrokerProcess broker;
  const int failed =
      ::posix_spawn(&broker.pid_, kSelf, &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return io_error("spawn", "mock broker", failed);

  broker.commands_ = std::move(commands->write_end);
  broker.answers_ = std::move(answers->read_end);
  answers->write_end.reset();  // or its death would never be read as an end
  auto address = broker.read_line();
  if (!address) return address.error();
  broker.bootstrap_servers_ = *std::move(address);
  return broker;
}

MockBrokerProcess::MockBrokerProcess(MockBrokerProcess&& other) noexcept
    : pid_{std::exchange(other.pid_, 0)},
      commands_{std::move(other.commands_)},
      answers_{std::move(other.answers_)},
      bootstrap_servers_{std::move(other.bootstrap_servers_)} {}

MockBrokerProcess::~MockBrokerProcess() {
  commands_.reset();
  while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<> MockBrokerProcess::command(std::string_view line) {
  const auto text = std::string{line} + "\n";
  if (::write(commands_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return io_error("write", "mock broker", errno);
  }
  const auto answer = read_line();
  if (!answer) return answer.error();
  if (*answer != "ok") return Error{ErrorCode::Kafka, "mock broker: " + text + ": " + *answer};
  return {};
}

Result<std::string> MockBrokerProcess::read_line() {
  std::string line;
  char character = 0;
  while (true) {
    const auto size = ::read(answers_.get(), &character, 1);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error("read", "mock broker", errno);
    if (size == 0) return Error{ErrorCode::Kafka, "mock broker: it has ended; its output is above"};
    if (character == '\n') return line;
    line += character;
  }
}

}  // namespace sluice::cli
