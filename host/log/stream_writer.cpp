#include "host/log/stream_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace sluice::log {

bool StreamWriter::write_line(std::string_view line) {
  if (!wait_writable()) return false;
  while (!line.empty()) {
    const ssize_t written = ::write(fd_, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool StreamWriter::wait_writable() {
  pollfd entry{.fd = fd_, .events = POLLOUT, .revents = 0};
  const int timeout_ms = stalled_ ? 0 : static_cast<int>(stall_max_.count());
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  stalled_ = ready <= 0;
  // POLLERR: the reader is gone; a write would only raise SIGPIPE.
  return ready > 0 && entry.revents == POLLOUT;
}

}  // namespace sluice::log
