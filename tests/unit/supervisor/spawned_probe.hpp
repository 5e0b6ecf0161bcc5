// A spawned probe and what a test does with it: read a line, wait for its end, kill it. It owns the
// process: one that a test has not reaped is killed and reaped at the end, so that a failed test
// leaves nothing running.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "host/supervisor/process_sample.hpp"
#include "host/supervisor/reaper.hpp"
#include "host/supervisor/spawner.hpp"
#include "ipc/host_channel.hpp"

namespace sluice::supervisor::test {

template <typename Outcome>
auto require(Outcome outcome) {
  if (!outcome.has_value()) FAIL(outcome.error().message());
  return std::move(*outcome);
}

inline constexpr int kPatienceMs = 60'000;  // a watchdog, not a measure

inline void await_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  REQUIRE(::poll(&entry, 1, kPatienceMs) == 1);
}

class SpawnedProbe {
 public:
  explicit SpawnedProbe(std::string_view what, int state_lock = -1) {
    worker_ = require(
        spawn_worker(SpawnRequest{SLUICE_SPAWN_PROBE, "sluice-worker: orders/1",
                                  channel.worker_fds(), what, alive.read_end.get(), state_lock}));
    channel.close_worker_fds();
  }
  ~SpawnedProbe() {
    if (reaped_) return;
    (void)send_signal(worker_.pidfd.get(), SIGKILL);
    ::waitpid(worker_.pid, nullptr, 0);
  }
  SpawnedProbe(const SpawnedProbe&) = delete;
  SpawnedProbe& operator=(const SpawnedProbe&) = delete;

  const SpawnedWorker& worker() const { return worker_; }
  void signal(int number) const { REQUIRE(send_signal(worker_.pidfd.get(), number).has_value()); }

  /// Blocks until the pidfd says that it has ended.
  ReapedWorker await_end() {
    await_readable(worker_.pidfd.get());
    const auto reaped = require(try_reap(worker_.pidfd.get()));
    REQUIRE(reaped.has_value());
    reaped_ = true;
    return *reaped;
  }
  static std::string read_line(const ipc::OwnedFd& pipe) {
    std::string line;
    for (char byte = 0;;) {
      await_readable(pipe.get());
      if (::read(pipe.get(), &byte, 1) != 1 || byte == '\n') return line;
      line += byte;
    }
  }
  std::string read_output() const { return read_line(worker_.output_pipe); }

  ipc::HostChannel channel = require(ipc::HostChannel::create(1, 77));
  HostAlivePipe alive = require(create_host_alive_pipe());

 private:
  SpawnedWorker worker_;
  bool reaped_ = false;
};

}  // namespace sluice::supervisor::test
