// What a worker does to itself before it loads a plugin (ipc facts 3.8): ties its life to the
// host's, makes itself the kernel's first victim when memory is short, leaves no core file unless
// asked, and keeps its descriptors from processes that a plugin may start.
#pragma once

#include "host/base/error.hpp"
#include "host/worker/start_parameters.hpp"

namespace sluice::worker {

/// First of all: SIGKILL when the thread that spawned us is gone.
void die_with_parent();

/// The descriptors that the host gave us (ipc/worker_fds.hpp). Error: we were not started by it.
Result<> check_inherited_fds();

/// Started by a descriptor, we would be called by its number; the descriptor is closed.
void take_name();

void confine_process(CoreFiles core_files);

/// A thread that ends the process at once when the alive pipe says that the host is gone, also
/// while the task thread is inside a plugin. A second belt beside die_with_parent(), which is tied
/// to the one thread that spawned us and is lost when the plugin's file gains privileges.
Result<> watch_host(int alive_pipe_fd);

}  // namespace sluice::worker
