// An eventfd that librdkafka writes to when a queue that was empty has got something, so that the
// loop and the worker sleep in one epoll instead of polling. Non-blocking at both ends. Must
// outlive every queue that writes to it: librdkafka does not ask whether the number still is ours.
#pragma once

#include "host/base/error.hpp"

namespace sluice::kafka {

class EventFd {
 public:
  EventFd() = default;
  EventFd(EventFd&& other) noexcept;
  EventFd& operator=(EventFd&& other) noexcept;
  ~EventFd();

  static Result<EventFd> create();
  int fd() const { return fd_; }
  /// Not readable any more, until the next write.
  void clear() const;
  /// Readable now.
  void signal() const;

 private:
  int fd_ = -1;
};

}  // namespace sluice::kafka
