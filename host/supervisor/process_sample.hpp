// What a process is doing, from /proc: the supervisor samples a worker before it kills it, because
// "spinning", "blocked", "stopped by somebody" and "stuck in the kernel" need different remedies
// and nobody can tell afterwards. Also the worker's memory, for worker.memory.max. By pid: only of
// workers that are not reaped yet, whose pid therefore cannot mean somebody else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "host/base/error.hpp"

namespace sluice::supervisor {

struct ProcSample {
  char state = '?';          ///< of the main thread: R S D T t Z X, as in proc(5)
  std::uint64_t cpu_ms = 0;  ///< of all threads, user and system
  std::uint64_t rss_bytes = 0;
  std::uint32_t threads = 0;
};

/// NotFound when there is no such process.
Result<ProcSample> sample_process(pid_t pid);

enum class Stall : std::uint8_t {
  Spinning,         ///< burns CPU
  Blocked,          ///< waits for something that a signal can interrupt
  Stopped,          ///< SIGSTOP or a debugger
  Uninterruptible,  ///< in the kernel, deaf to SIGKILL until it comes back
  Ended,            ///< dead, not reaped
};
std::string_view stall_name(Stall stall);

/// From two samples of one process, `later` at least 20 ms (two clock ticks) after `earlier`.
Stall classify_stall(const ProcSample& earlier, const ProcSample& later);

}  // namespace sluice::supervisor
