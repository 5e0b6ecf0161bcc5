#include "lines/line_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace sluice::lines {

namespace {

constexpr mode_t kFolderMode = 0750;
constexpr mode_t kFileMode = 0640;

[[noreturn]] void throw_errno(const char* step, const std::string& path, int error = errno) {
  throw std::system_error{error, std::generic_category(), std::string{step} + ": " + path};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_folder(const std::string& path) {
  struct stat status {};
  const int error = errno;
  const bool answer = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  errno = error;
  return answer;
}

/// A name in a folder is durable when the folder is synced. File systems that cannot sync a folder
/// say EINVAL, and those keep names by themselves.
void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    throw_errno("open folder", folder);
  }
  const int failed = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  if (failed != 0 && error != EINVAL) {
    throw_errno("sync folder", folder, error);
  }
}

/// Exclusive, of this open file description: other fds of the same process do not own it.
class Lock {
 public:
  Lock(int fd, const std::string& path, int wait_ms) : fd_{fd} {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::milliseconds{wait_ms};
    auto wait = std::chrono::microseconds{50};
    while (!set(F_WRLCK)) {
      if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
        throw_errno("lock", path);
      }
      if (Clock::now() >= deadline) {
        throw_errno("lock, held by another process", path, EAGAIN);
      }
      std::this_thread::sleep_for(wait);
      wait = std::min(wait * 2, std::chrono::microseconds{5000});
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { set(F_UNLCK); }

 private:
  bool set(short type) {
    struct flock whole_file {};
    whole_file.l_type = type;
    whole_file.l_whence = SEEK_SET;
    return ::fcntl(fd_, F_OFD_SETLK, &whole_file) == 0;
  }

  int fd_;
};

}  // namespace

void create_folders_of(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), kFolderMode) == 0) {
      sync_folder(folder_of(folder));
    } else if (errno != EEXIST || !is_folder(folder)) {
      throw_errno("create folder", folder, errno == EEXIST ? ENOTDIR : errno);
    }
  }
}

LineFile::LineFile(std::string path, int lock_wait_ms)
    : path_{std::move(path)}, lock_wait_ms_{lock_wait_ms} {
  open();
}

LineFile::~LineFile() {
  close();
}

void LineFile::open() {
  create_folders_of(path_);
  fd_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
               kFileMode);
  if (fd_ < 0) {
    throw_errno("open", path_);
  }
  struct stat status {};
  const bool is_known = ::fstat(fd_, &status) == 0;
  if (!is_known || !S_ISREG(status.st_mode)) {
    const int error = is_known ? EINVAL : errno;
    close();
    throw_errno("open as a regular file", path_, error);
  }
  is_new_ = status.st_size == 0;
}

void LineFile::close() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

std::size_t LineFile::append(std::string_view lines) {
  follow_the_path();
  const Lock lock{fd_, path_, lock_wait_ms_};
  std::size_t cut_bytes = 0;
  const off_t size_before = cut_unfinished_line(cut_bytes);
  is_dirty_ = true;
  write_all(lines, size_before);
  return cut_bytes;
}

/// Log rotation moves the file away under us: then the path's file is the right one. Looked at once
/// per flush, and only while nothing is unsynced in the old file.
void LineFile::follow_the_path() {
  if (is_dirty_) {
    return;
  }
  struct stat ours {};
  struct stat named {};
  const bool is_same = fd_ >= 0 && ::fstat(fd_, &ours) == 0 && ::stat(path_.c_str(), &named) == 0 &&
                       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
  if (!is_same) {
    close();
    open();
  }
}

/// Requires: the lock. Returns the size of the whole lines.
off_t LineFile::cut_unfinished_line(std::size_t& cut_bytes) {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) {
    throw_errno("look at", path_);
  }
  char block[1 << 16];
  off_t end = status.st_size;  // what is before it is not searched yet
  while (end > 0) {
    const auto length =
        static_cast<std::size_t>(std::min<off_t>(end, end == status.st_size ? 1 : sizeof block));
    const auto start = end - static_cast<off_t>(length);
    const ssize_t got = ::pread(fd_, block, length, start);
    if (got != static_cast<ssize_t>(length)) {
      throw_errno("read the end of", path_, got < 0 ? errno : EIO);
    }
    const std::size_t line_feed = std::string_view{block, length}.rfind('\n');
    if (line_feed != std::string_view::npos) {
      end = start + static_cast<off_t>(line_feed) + 1;
      break;
    }
    end = start;
  }
  cut_bytes = static_cast<std::size_t>(status.st_size - end);
  if (cut_bytes > 0 && ::ftruncate(fd_, end) != 0) {
    throw_errno("cut an unfinished line off", path_);
  }
  return end;
}

void LineFile::write_all(std::string_view lines, off_t size_before) {
  while (!lines.empty()) {
    const ssize_t written = ::write(fd_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      const int error = written < 0 ? errno : EIO;
      // What was written goes: the batch will come again as a whole. If this fails too, whole lines
      // of it come twice, and the next holder cuts the unfinished one.
      [[maybe_unused]] const int unlikely = ::ftruncate(fd_, size_before);
      throw_errno("append to", path_, error);
    }
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
}

void LineFile::sync() {
  if (!is_dirty_) {
    return;
  }
  if (::fdatasync(fd_) != 0) {
    throw_errno("sync", path_);
  }
  if (is_new_) {
    sync_folder(folder_of(path_));
    is_new_ = false;
  }
  is_dirty_ = false;
}

}  // namespace sluice::lines
