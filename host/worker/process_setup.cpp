#include "host/worker/process_setup.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "host/base/blocked_signals.hpp"
#include "host/worker/task_loop.hpp"
#include "ipc/worker_fds.hpp"

namespace sluice::worker {

namespace {

/// The kernel must pick a worker, not the host.
constexpr char kOomScore[] = "500";
constexpr std::size_t kWatcherStackBytes = 64 * 1024;

void set_oom_score() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;  // no /proc: the kernel picks by size alone
  [[maybe_unused]] const ssize_t written = ::write(fd, kOomScore, std::strlen(kOomScore));
  ::close(fd);
}

void* wait_for_end_of_host(void* fd_as_pointer) {
  pollfd alive{static_cast<int>(reinterpret_cast<std::intptr_t>(fd_as_pointer)), POLLIN, 0};
  for (;;) {
    if (::poll(&alive, 1, -1) < 0) continue;  // EINTR
    // Nobody writes into this pipe: readable or hung up, both mean that its other end is gone.
    ::_exit(kExitTryAgain);
  }
}

}  // namespace

void die_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

Result<> check_inherited_fds() {
  for (int fd = ipc::kHostSegmentFd; fd <= ipc::kHostAlivePipeFd; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    return Error{ErrorCode::Usage, "descriptor " + std::to_string(fd) +
                                       " is not open: a worker is started by sluice; see --help"};
  }
  return {};
}

void take_name() {
  ::close(ipc::kExecutableFd);
  ::prctl(PR_SET_NAME, "sluice-worker");
}

void confine_process(CoreFiles core_files) {
  set_oom_score();
  if (core_files == CoreFiles::Off) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::signal(SIGPIPE,
           SIG_IGN);  // a peer that closes its socket is an error of write(2), not our death
  // Not for the processes that a plugin may start: above all not the state directory's lock (S8).
  for (int fd = ipc::kHostSegmentFd; fd < ipc::kExecutableFd; ++fd) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

Result<> watch_host(int alive_pipe_fd) {
  const BlockedSignals blocked;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kWatcherStackBytes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int failed = ::pthread_create(&thread, &attributes, &wait_for_end_of_host,
                                      reinterpret_cast<void*>(std::intptr_t{alive_pipe_fd}));
  ::pthread_attr_destroy(&attributes);
  if (failed != 0) return io_error("watch host", "pthread_create", failed);
  return {};
}

}  // namespace sluice::worker
