#include "integration/host/program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace sluice::test {
namespace {

constexpr std::chrono::milliseconds kLook{5};

struct Stat {
  char state = '?';
  pid_t parent = 0;
};

std::optional<Stat> stat_of(const std::string& pid) {
  const auto text = read_file("/proc/" + pid + "/stat");
  const auto after_name = text.rfind(')');
  if (after_name == std::string::npos) return std::nullopt;
  std::istringstream rest{text.substr(after_name + 1)};
  Stat stat;
  rest >> stat.state >> stat.parent;
  return stat;
}

}  // namespace

Program::Program(const std::vector<std::string>& command, std::filesystem::path output)
    : output_{std::move(output)} {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (output_.string() + ".out").c_str(),
                                     kFlags, 0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (output_.string() + ".err").c_str(),
                                     kFlags, 0600);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int failed =
      ::posix_spawn(&pid_, arguments.front(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error{"spawn " + command.front()};
}

Program::~Program() {
  kill();
}

std::optional<int> Program::try_wait() {
  if (ended_) return ended_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return ended_;
}

bool Program::running() {
  return !try_wait();
}

void Program::signal(int number) const {
  ::kill(pid_, number);
}

int Program::wait(std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!try_wait()) {
    if (std::chrono::steady_clock::now() > end) {
      FAIL("not over after " << limit.count() << " s; it printed:\n" << out() << err());
    }
    std::this_thread::sleep_for(kLook);
  }
  return *ended_;
}

int Program::stop(std::chrono::seconds limit) {
  signal(SIGTERM);
  return wait(limit);
}

void Program::kill() {
  if (ended_) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = 1000 + SIGKILL;
}

std::string Program::out() const {
  return read_file(output_.string() + ".out");
}
std::string Program::err() const {
  return read_file(output_.string() + ".err");
}

bool has_ended(pid_t pid) {
  const auto stat = stat_of(std::to_string(pid));
  return !stat || stat->state == 'Z';
}

std::vector<pid_t> processes_below(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto stat = stat_of(name);
    if (stat && stat->parent == parent && stat->state != 'Z') found.push_back(std::stoi(name));
  }
  return found;
}

std::vector<pid_t> workers_below(pid_t host) {
  auto workers = processes_below(host);
  std::erase_if(workers, [](pid_t pid) {
    const auto title = read_file("/proc/" + std::to_string(pid) + "/cmdline");
    return title.rfind("sluice-worker: ", 0) != 0;
  });
  return workers;
}

std::string read_file(const std::filesystem::path& file) {
  // By an operator of a stream, which keeps what the buffer throws: a process may end between the
  // opening of its file in /proc and the reading.
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

bool eventually(const std::function<bool()>& holds, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

}  // namespace sluice::test
