// One host per state directory (slicer.md S8): a flock on one open file description that every
// worker inherits, so that the kernel frees it only when the last process of the old host is gone.
// Never fcntl's POSIX lock, which dies with the host alone and with any close() of the file.
//
// Who holds it is read from /proc/PID/fdinfo: /proc/locks names the process that once called
// flock, which is the dead host while its workers still live (seen on Linux 6.18).
#pragma once

#include <sys/types.h>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::state {

class DirectoryLock {
 public:
  /// Creates the directory (0700) if there is none. Taken by others: Refused, naming their pids.
  static Result<DirectoryLock> try_acquire(const std::filesystem::path& directory);

  /// As long as others hold it, waits up to `patience`; `on_wait` hears once whom for.
  static Result<DirectoryLock> acquire(const std::filesystem::path& directory,
                                       std::chrono::milliseconds patience,
                                       const std::function<void(const std::string&)>& on_wait);

  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;

  const std::filesystem::path& directory() const { return directory_; }
  /// For the spawner, which hands it to every worker. Close-on-exec; stays ours.
  int fd() const { return fd_; }

 private:
  DirectoryLock(std::filesystem::path directory, int fd);

  std::filesystem::path directory_;
  int fd_ = -1;
};

/// Processes with an open description that holds the flock on `file`, as far as we may look into
/// them, and the one that took it if it lives and hides (PR_SET_DUMPABLE 0, as hosts do).
std::vector<pid_t> lock_holders(const std::filesystem::path& file);

}  // namespace sluice::state
