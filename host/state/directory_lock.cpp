#include "host/state/directory_lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <optional>
#include <utility>

namespace sluice::state {
namespace {

constexpr const char* kLockName = "lock";
/// A holder may also give the lock up without dying; then nobody wakes us.
constexpr std::chrono::milliseconds kWakePeriod{100};

/// Open, but not yet locked.
Result<int> open_lock_file(const std::filesystem::path& directory) {
  std::error_code code;
  std::filesystem::create_directories(directory.parent_path(), code);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return io_error("create the state directory", directory.string(), errno);
  }
  const std::string file = (directory / kLockName).string();
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return io_error("open the state directory's lock", file, errno);
  return fd;
}

std::optional<pid_t> pid_of(const std::filesystem::path& entry) {
  const std::string name = entry.filename().string();
  pid_t pid = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (code != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return pid;
}

bool has_flock(const std::filesystem::path& fdinfo) {
  std::ifstream in{fdinfo};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("lock:") && line.find("FLOCK") != std::string::npos) return true;
  }
  return false;
}

bool holds(const std::filesystem::path& process, const struct stat& wanted) {
  std::error_code code;
  for (std::filesystem::directory_iterator fds{process / "fd", code}, end; !code && fds != end;
       fds.increment(code)) {
    struct stat found {};
    if (::stat(fds->path().c_str(), &found) != 0) continue;
    if (found.st_dev != wanted.st_dev || found.st_ino != wanted.st_ino) continue;
    if (has_flock(process / "fdinfo" / fds->path().filename())) return true;
  }
  return false;
}

/// The process that once took the lock, if /proc/locks tells: it may be gone, and its number be
/// another process's by now, while those that inherited the lock live on.
std::optional<pid_t> taker_of(const struct stat& wanted) {
  std::ifstream in{"/proc/locks"};
  for (std::string line; std::getline(in, line);) {
    int pid = 0;
    unsigned major_no = 0;
    unsigned minor_no = 0;
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str(), "%*u: FLOCK ADVISORY WRITE %d %x:%x:%llu", &pid, &major_no,
                    &minor_no, &inode) == 4 &&
        pid > 0 && inode == wanted.st_ino && makedev(major_no, minor_no) == wanted.st_dev) {
      return pid;
    }
  }
  return std::nullopt;
}

/// Lives, and does not let us see its descriptors: a host, which hides from its own workers' user.
bool hides_its_descriptors(pid_t pid) {
  std::error_code code;
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  if (!std::filesystem::exists(process, code)) return false;
  const std::filesystem::directory_iterator fds{process / "fd", code};
  return code == std::errc::permission_denied;
}

/// Until one of the holders died, or `patience` is over.
void wait_for_a_death(const std::vector<pid_t>& pids, std::chrono::milliseconds patience) {
  std::vector<pollfd> deaths;
  for (const pid_t pid : pids) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd >= 0) deaths.push_back(pollfd{fd, POLLIN, 0});
  }
  ::poll(deaths.data(), deaths.size(), static_cast<int>(patience.count()));
  for (const pollfd& death : deaths) ::close(death.fd);
}

Error taken(const std::filesystem::path& directory) {
  std::string pids;
  for (const pid_t pid : lock_holders(directory / kLockName)) {
    pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
  }
  const std::string who =
      pids.empty() ? "by a process that cannot be seen from here" : "by pid " + pids;
  return Error{ErrorCode::Refused, "state directory: " + directory.string() + ": is in use " + who +
                                       "; stop that host, or name another state.dir"};
}

}  // namespace

DirectoryLock::DirectoryLock(std::filesystem::path directory, int fd)
    : directory_{std::move(directory)}, fd_{fd} {}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : directory_{std::move(other.directory_)}, fd_{std::exchange(other.fd_, -1)} {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(directory_, other.directory_);
  std::swap(fd_, other.fd_);
  return *this;
}

Result<DirectoryLock> DirectoryLock::try_acquire(const std::filesystem::path& directory) {
  return acquire(directory, std::chrono::milliseconds{0}, {});
}

Result<DirectoryLock> DirectoryLock::acquire(
    const std::filesystem::path& directory, std::chrono::milliseconds patience,
    const std::function<void(const std::string&)>& on_wait) {
  // Relative names would change their meaning with the process's folder.
  std::error_code code;
  const std::filesystem::path absolute = std::filesystem::absolute(directory, code);
  if (code) return io_error("find the state directory", directory.string(), code.value());
  const auto fd = open_lock_file(absolute);
  if (!fd) return fd.error();
  DirectoryLock lock{absolute, *fd};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (bool told = false; ::flock(*fd, LOCK_EX | LOCK_NB) != 0;) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return io_error("lock", (absolute / kLockName).string(), errno);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return taken(absolute);
    if (!std::exchange(told, true) && on_wait) on_wait(taken(absolute).message());
    wait_for_a_death(lock_holders(absolute / kLockName), std::min(left, kWakePeriod));
  }
  return lock;
}

std::vector<pid_t> lock_holders(const std::filesystem::path& file) {
  std::vector<pid_t> pids;
  struct stat wanted {};
  if (::stat(file.c_str(), &wanted) != 0) return pids;
  std::error_code code;
  for (std::filesystem::directory_iterator processes{"/proc", code}, end; !code && processes != end;
       processes.increment(code)) {
    const auto pid = pid_of(processes->path());
    if (pid && holds(processes->path(), wanted)) pids.push_back(*pid);
  }
  const auto taker = taker_of(wanted);
  if (taker && hides_its_descriptors(*taker)) pids.push_back(*taker);
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace sluice::state
