#include "host/supervisor/reaper.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace sluice::supervisor {
namespace {

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000U +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

// The system call itself, because glibc's waitid() leaves out the resource usage. P_PIDFD = 3.
Result<std::optional<ReapedWorker>> try_reap(int pidfd) {
  siginfo_t info{};
  rusage usage{};
  long result = 0;
  do {
    result = ::syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | WNOHANG, &usage);
  } while (result < 0 && errno == EINTR);
  if (result < 0) return io_error("reap worker", "pidfd " + std::to_string(pidfd), errno);
  if (info.si_pid == 0) return std::optional<ReapedWorker>{};
  ReapedWorker reaped;
  reaped.status.kind =
      info.si_code == CLD_EXITED ? ExitStatus::Kind::Exited : ExitStatus::Kind::Signalled;
  reaped.status.code = info.si_status;
  reaped.user_us = microseconds(usage.ru_utime);
  reaped.system_us = microseconds(usage.ru_stime);
  reaped.rss_max_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U;
  return std::optional<ReapedWorker>{reaped};
}

Result<> send_signal(int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) != 0) {
    return io_error("signal worker", "signal " + std::to_string(signal), errno);
  }
  return {};
}

}  // namespace sluice::supervisor
