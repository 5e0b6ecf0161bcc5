// A worker as a real process: forked from the test, which has one thread then, runs `life` over the
// attached channel and never returns into Catch. The test kills and reaps it by hand; here() and
// stop_here() let both agree on a point in the worker's life without a sleep.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "channel_pair.hpp"

namespace sluice::ipc::test {

class ForkedWorker {
 public:
  ForkedWorker(const HostChannel& host, const std::function<void(WorkerChannel&)>& life) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    OwnedFd said{ends[1]};
    step_pipe_ = OwnedFd{ends[0]};
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) live(host, life, said.get());
  }
  ~ForkedWorker() {
    if (pid_ > 0) kill(), reap();
  }
  ForkedWorker(const ForkedWorker&) = delete;
  ForkedWorker& operator=(const ForkedWorker&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const {
    REQUIRE(pid_ > 0);  // reaped: kill(-1) would reach every process there is
    ::kill(pid_, number);
  }
  void kill() const { signal(SIGKILL); }
  /// The wait status.
  int reap() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  /// Blocks until the worker called here(); false if it died before.
  bool await_step() const {
    char step = 0;
    return ::read(step_pipe_.get(), &step, 1) == 1;
  }
  /// In the worker: tells the test that this point is reached.
  static void here() {
    const char step = '.';
    if (::write(said_here, &step, 1) != 1) ::_exit(99);
  }
  /// In the worker: the same, then waits to be killed.
  [[noreturn]] static void stop_here() {
    here();
    for (;;) ::pause();
  }

 private:
  [[noreturn]] static void live(const HostChannel& host,
                                const std::function<void(WorkerChannel&)>& life, int said) {
    said_here = said;
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    auto channel = WorkerChannel::attach(duplicate(host.worker_fds()), kIncarnation);
    if (!channel) ::_exit(98);
    life(*channel);
    ::_exit(0);
  }

  static inline int said_here = -1;
  pid_t pid_ = -1;
  OwnedFd step_pipe_;
};

}  // namespace sluice::ipc::test
