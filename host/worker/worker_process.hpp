// A worker process from its inherited descriptors (ipc/worker_fds.hpp) to its exit code: set-up,
// start parameters, channel, plugins, Kafka, task loop. What cannot be mended by a restart leaves
// with 78 and a FAILED report that says why.
#pragma once

namespace sluice::worker {

/// Returns the exit code (task_loop.hpp).
int run_worker_process();

}  // namespace sluice::worker
