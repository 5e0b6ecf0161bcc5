#include "ipc/doorbell.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace sluice::ipc {

Result<Doorbell> Doorbell::create() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return system_error("create a doorbell (eventfd)", errno);
  return Doorbell{OwnedFd{fd}};
}

void Doorbell::ring_fd(int fd) noexcept {
  const std::uint64_t one = 1;
  // EAGAIN means a full counter: it is readable, which is all a ring is for.
  while (::write(fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void Doorbell::silence() const noexcept {
  std::uint64_t rings = 0;
  while (::read(fd_.get(), &rings, sizeof rings) < 0 && errno == EINTR) {
  }
}

}  // namespace sluice::ipc
