// The ctest fixture `kafka`: one real broker for all tests that want one.
//
//   kafka_fixture start FILE    starts it in the background and returns when it answers; FILE tells
//   where kafka_fixture stop FILE     ends it and waits for that kafka_fixture serve FILE PID (what
//   start runs) holds the broker until SIGTERM or the death of PID
//
// PID is whoever called start (ctest, or a shell), so an interrupted run leaves no broker behind.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "broker/broker_file.hpp"
#include "broker/kafka_broker.hpp"

namespace sluice::tests {

namespace {

constexpr std::chrono::milliseconds kLookAgain{50};
constexpr int kStopWaitMs = 30'000;

int pidfd_of(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

int fail(const std::string& why) {
  std::cerr << "kafka_fixture: " << why << '\n';
  return EXIT_FAILURE;
}

int serve(const std::filesystem::path& file, pid_t owner) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const int signals = ::signalfd(-1, &ends, SFD_CLOEXEC);
  const int owner_fd = pidfd_of(owner);
  if (owner_fd < 0) return fail("the caller is gone");
  auto broker = KafkaBroker::start(SLUICE_KAFKA_LIBS);
  if (!broker) return fail(broker.error().message());
  write_broker_file(file, {broker->bootstrap_servers(), broker->folder(), ::getpid()});
  pollfd waits[] = {{signals, POLLIN, 0}, {owner_fd, POLLIN, 0}};
  ::poll(waits, 2, -1);
  std::filesystem::remove(file);
  return EXIT_SUCCESS;
}

int stop(const std::filesystem::path& file) {
  const auto running = read_broker_file(file);
  if (!running) return EXIT_SUCCESS;
  const int server = pidfd_of(running->server);
  if (server < 0) return EXIT_SUCCESS;
  ::kill(running->server, SIGTERM);
  pollfd gone{server, POLLIN, 0};
  return ::poll(&gone, 1, kStopWaitMs) == 1 ? EXIT_SUCCESS : fail("the broker does not end");
}

int start(const std::filesystem::path& file, const char* self) {
  stop(file);
  std::filesystem::remove(file);
  const auto log = std::filesystem::path{file}.concat(".log");
  std::filesystem::remove(log);
  const auto server = spawn_logged({self, "serve", file.string(), std::to_string(::getppid())}, log,
                                   Session::Detached);
  if (!server) return fail(server.error().message());
  const int server_fd = pidfd_of(*server);
  while (!std::filesystem::exists(file)) {
    pollfd gone{server_fd, POLLIN, 0};
    if (::poll(&gone, 1, static_cast<int>(kLookAgain.count())) == 1) {
      std::ifstream reason{log};
      return fail(std::string{std::istreambuf_iterator<char>{reason}, {}});
    }
  }
  std::cout << read_broker_file(file)->bootstrap_servers << '\n';
  return EXIT_SUCCESS;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  const bool named = arguments.size() >= 3;
  if (named && arguments[1] == "start") return start(arguments[2], "/proc/self/exe");
  if (named && arguments[1] == "stop") return stop(arguments[2]);
  if (arguments.size() == 4 && arguments[1] == "serve") {
    return serve(arguments[2], std::stoi(arguments[3]));
  }
  return fail("usage: kafka_fixture start|stop FILE");
}

}  // namespace sluice::tests

int main(int argc, char** argv) {
  return sluice::tests::run({argv, argv + argc});
}
