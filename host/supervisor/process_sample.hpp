// What a process is doing, from /proc. A worker is sampled until it is killed, because
// "spinning", "blocked", "stopped by somebody" and "stuck in the kernel" need different remedies
// and nobody can tell afterwards. Also the worker's memory, for worker.memory.max. By pid: only of
// workers that are not reaped yet, whose pid therefore cannot mean somebody else.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "host/base/error.hpp"
#include "host/supervisor/stall.hpp"

namespace sluice::supervisor {

struct ProcSample {
  char state = '?';          ///< of the main thread: R S D T t Z X, as in proc(5)
  std::uint64_t cpu_ms = 0;  ///< of the main thread, which calls the plugins: user and system
  std::uint64_t rss_bytes = 0;
  std::uint32_t threads = 0;
};

/// NotFound when there is no such process.
Result<ProcSample> sample_process(pid_t pid);

/// From two samples of one process, `later` about 100 ms after `earlier`.
Stall classify_stall(const ProcSample& earlier, const ProcSample& later);

}  // namespace sluice::supervisor
