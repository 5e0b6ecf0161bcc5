// The file descriptors of a worker: exactly these are open when its main() begins. 0 is /dev/null,
// 1 and 2 go to the host, which logs them line by line. The spawner puts them there
// (host/supervisor/spawner.hpp), the worker finds them by number; nothing else is inherited.
#pragma once

namespace sluice::ipc {

inline constexpr int kHostSegmentFd = 3;      ///< H, sealed against writing
inline constexpr int kWorkerSegmentFd = 4;    ///< W
inline constexpr int kStartParametersFd = 5;  ///< C, sealed against writing
inline constexpr int kDoorbellToWorkerFd = 6;
inline constexpr int kDoorbellToHostFd = 7;
inline constexpr int kLogPipeFd = 8;        ///< the worker's own log lines; non-blocking
inline constexpr int kHostAlivePipeFd = 9;  ///< end of file = the host is gone
inline constexpr int kStateLockFd = 10;     ///< keeps the state directory's lock while we live (S8)
inline constexpr int kExecutableFd = 11;  ///< what was started, if by descriptor: closed at once
inline constexpr int kFirstClosedFd = 12;

/// The four that make a channel. Plain numbers: who owns them is said where they are passed.
struct WorkerFds {
  int host_segment = -1;
  int worker_segment = -1;
  int doorbell_to_worker = -1;
  int doorbell_to_host = -1;
};

/// As inherited by a worker.
constexpr WorkerFds inherited_worker_fds() {
  return {kHostSegmentFd, kWorkerSegmentFd, kDoorbellToWorkerFd, kDoorbellToHostFd};
}

}  // namespace sluice::ipc
