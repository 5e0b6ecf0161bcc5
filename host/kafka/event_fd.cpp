#include "host/kafka/event_fd.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sluice::kafka {

EventFd::EventFd(EventFd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}

EventFd& EventFd::operator=(EventFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

EventFd::~EventFd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<EventFd> EventFd::create() {
  EventFd event_fd;
  event_fd.fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd.fd_ < 0) return io_error("eventfd", "kafka client", errno);
  return event_fd;
}

void EventFd::clear() const {
  eventfd_t count = 0;
  static_cast<void>(::eventfd_read(fd_, &count));  // EAGAIN: it was clear already
}

void EventFd::signal() const {
  static_cast<void>(::eventfd_write(fd_, 1));  // EAGAIN: it is readable already
}

}  // namespace sluice::kafka
