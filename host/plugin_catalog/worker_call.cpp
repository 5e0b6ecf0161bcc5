#include "host/plugin_catalog/worker_call.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "host/base/pipe.hpp"
#include "ipc/owned_fd.hpp"

namespace sluice::catalog {
namespace {

using ipc::OwnedFd;
using SteadyTime = std::chrono::steady_clock::time_point;

// The process and our ends of its pipes. Killed, if it still lives, and reaped by the destructor.
struct Call {
  pid_t pid = 0;
  OwnedFd in;
  OwnedFd out;
  OwnedFd err;
  std::string answer;
  std::string complaint;

  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (pid > 0) end(SIGKILL);
  }

  int end(int signal) {
    if (signal != 0) ::kill(pid, signal);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    pid = 0;
    return status;
  }
};

Result<> start(Call& call, const std::filesystem::path& worker,
               const std::vector<std::string>& arguments) {
  auto in = create_pipe("sluice-worker");
  if (!in) return in.error();
  auto out = create_pipe("sluice-worker");
  if (!out) return out.error();
  auto err = create_pipe("sluice-worker");
  if (!err) return err.error();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in->read_end.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out->write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err->write_end.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  auto words = arguments;
  words.insert(words.begin(), worker.string());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int failed =
      ::posix_spawn(&call.pid, worker.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    call.pid = 0;
    return io_error("start", worker.string(), failed);
  }
  call.in = std::move(in->write_end);
  call.out = std::move(out->read_end);
  call.err = std::move(err->read_end);
  ::fcntl(call.in.get(), F_SETFL, O_NONBLOCK);
  return {};
}

// False at the end of the stream, or when more came than anybody may say.
bool take(OwnedFd& from, std::string& into) {
  std::array<char, 16 * 1024> buffer;
  const auto size = ::read(from.get(), buffer.data(), buffer.size());
  if (size < 0 && errno == EINTR) return true;
  if (size <= 0) return false;
  into.append(buffer.data(), static_cast<std::size_t>(size));
  return into.size() <= kAnswerBytesMax;
}

void give(OwnedFd& to, std::string_view& input) {
  if (!input.empty()) {
    const auto size = ::write(to.get(), input.data(), input.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    input.remove_prefix(size < 0 ? input.size() : static_cast<std::size_t>(size));
  }
  if (input.empty()) to.reset();
}

std::chrono::milliseconds left_until(SteadyTime end) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds{0});
}

// A plugin may close the outputs of its process and go on; only its end is the end.
bool ends_in_time(const Call& call, SteadyTime end) {
  const OwnedFd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, call.pid, 0))};
  pollfd death{pidfd.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&death, 1, static_cast<int>(left_until(end).count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// Moves bytes until both outputs have ended; false if the time is up.
bool converse(Call& call, std::string_view input, SteadyTime end) {
  give(call.in, input);
  while (call.out || call.err) {
    const auto left = left_until(end);
    if (left.count() == 0) return false;
    std::array<pollfd, 3> fds{{{call.out ? call.out.get() : -1, POLLIN, 0},
                               {call.err ? call.err.get() : -1, POLLIN, 0},
                               {call.in ? call.in.get() : -1, POLLOUT, 0}}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(left.count())) < 0) continue;
    if (fds[0].revents != 0 && !take(call.out, call.answer)) call.out.reset();
    if (fds[1].revents != 0 && !take(call.err, call.complaint)) call.err.reset();
    if (fds[2].revents != 0) give(call.in, input);
  }
  return true;
}

std::string first_line(const std::string& text) {
  const auto end = text.find('\n');
  return text.substr(0, end);
}

}  // namespace

Result<std::string> call_worker(const std::filesystem::path& worker,
                                const std::vector<std::string>& arguments, std::string_view input,
                                std::chrono::milliseconds limit) {
  // A worker that dies before it has read its input must not end us.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  Call call;
  auto started = start(call, worker, arguments);
  const auto end = std::chrono::steady_clock::now() + limit;
  const bool in_time = started && converse(call, input, end) && ends_in_time(call, end);
  ::sigaction(SIGPIPE, &before, nullptr);
  if (!started) return started.error();
  if (!in_time) {
    call.end(SIGKILL);
    return Error{ErrorCode::Plugin,
                 "no answer within " + std::to_string(limit.count()) + " ms; it was killed"};
  }
  const int status = call.end(0);
  if (WIFSIGNALED(status)) {
    return Error{ErrorCode::Plugin,
                 std::string{"it crashed while it was loaded: "} + ::strsignal(WTERMSIG(status))};
  }
  if (WEXITSTATUS(status) != 0) {
    const auto said = first_line(call.complaint);
    return Error{ErrorCode::Plugin,
                 said.empty() ? "exit code " + std::to_string(WEXITSTATUS(status)) : said};
  }
  return std::move(call.answer);
}

}  // namespace sluice::catalog
