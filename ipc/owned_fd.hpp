// A file descriptor with one owner: closed once, moved but never copied. Used for memfds,
// doorbells, pipes and pidfds, by the host's folders as well. It never throws and never reports a
// failed close: for these kinds of descriptors there is nothing that anybody could do about one.
#pragma once

#include <unistd.h>

#include <utility>

namespace sluice::ipc {

class OwnedFd {
 public:
  OwnedFd() = default;
  /// Takes ownership of `fd`; -1 means none.
  explicit OwnedFd(int fd) : fd_{fd} {}
  OwnedFd(OwnedFd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  ~OwnedFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// The caller owns the descriptor from here on.
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace sluice::ipc
