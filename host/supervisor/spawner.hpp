// Starts workers. posix_spawn, because a fork of a 1 GB host costs 70 ms against 1.5 ms and is
// unsafe beside librdkafka's threads (ipc facts 2.2); a pidfd at once, so that every later signal
// and wait means this process and never a recycled pid.
//
// A worker's main() begins with exactly the descriptors of ipc/worker_fds.hpp, in a process group
// of its own (a terminal's Ctrl-C is for the host, which drains), with every signal at its default
// and SIGINT, SIGTERM and SIGHUP blocked: it is told to stop through its ring, or killed. To be
// called from the loop's thread only: PR_SET_PDEATHSIG, which the worker sets, is tied to the
// thread that spawned it, and that one lives as long as the host.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "host/base/error.hpp"
#include "host/base/pipe.hpp"
#include "ipc/owned_fd.hpp"
#include "ipc/worker_fds.hpp"

namespace sluice::supervisor {

/// Held by the host for life. A worker reads end of file from its copy of `read_end` when the host
/// is gone, however it went.
using HostAlivePipe = Pipe;
Result<HostAlivePipe> create_host_alive_pipe();

/// All descriptors stay the caller's; they are duplicated into the worker.
struct SpawnRequest {
  std::string executable;  ///< path of sluice-worker
  std::string title;       ///< argv[0], what ps shows: "sluice-worker: orders/1"
  ipc::WorkerFds channel;  ///< HostChannel::worker_fds()
  std::string_view start_parameters;
  int host_alive = -1;  ///< HostAlivePipe::read_end
  int state_lock = -1;  ///< the state directory's lock (slicer.md S8); -1: a job without one
  /// Opened from `executable`, which then is for messages only: what runs is the same file whatever
  /// has been put in its place since. -1: what is at the path now.
  int executable_fd = -1;
};

struct SpawnedWorker {
  pid_t pid = 0;  ///< for messages and sample_process(); signals go by pidfd
  ipc::OwnedFd pidfd;
  ipc::OwnedFd log_pipe;     ///< its log lines; read end, non-blocking
  ipc::OwnedFd output_pipe;  ///< its stdout and stderr; read end, non-blocking
};

/// Returns when the executable runs, so an executable that cannot be run is an Error here.
Result<SpawnedWorker> spawn_worker(const SpawnRequest& request);

}  // namespace sluice::supervisor
