// The end of a worker: signals to it and the wait for it, both by pidfd. A worker that was reaped
// has no thread, no mapping and no socket any more; only then may its slices move (ipc facts 3.6).
// Nothing blocks: try_reap() is called when the pidfd is readable, and says "not yet" otherwise.
#pragma once

#include <cstdint>
#include <optional>

#include "host/base/error.hpp"
#include "host/supervisor/exit_status.hpp"

namespace sluice::supervisor {

struct ReapedWorker {
  ExitStatus status;
  std::uint64_t user_us = 0;  ///< CPU time of its whole life
  std::uint64_t system_us = 0;
  std::uint64_t rss_max_bytes = 0;
};

/// Empty while the process lives. Once only per process: the second call is an Error.
Result<std::optional<ReapedWorker>> try_reap(int pidfd);

/// A process that has ended but is not reaped yet is no error.
Result<> send_signal(int pidfd, int signal);

}  // namespace sluice::supervisor
