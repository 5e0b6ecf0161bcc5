#include "host/worker/log_pipe.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace sluice::worker {

static_assert(LogPipe::kLineBytesMax <= PIPE_BUF);

namespace {

class LineBuffer {
 public:
  void append(std::string_view text) {
    const std::size_t room = bytes_.size() - 1 - size_;  // one byte stays for the line feed
    const std::size_t taken = std::min(text.size(), room);
    std::memcpy(bytes_.data() + size_, text.data(), taken);
    size_ += taken;
  }
  void end() { bytes_[size_++] = '\n'; }
  const char* data() const { return bytes_.data(); }
  std::size_t size() const { return size_; }

 private:
  std::array<char, LogPipe::kLineBytesMax> bytes_;
  std::size_t size_ = 0;
};

}  // namespace

void LogPipe::write(LogLevel level, std::string_view name, std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    if (length > 0) write_line(level, name, text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
}

void LogPipe::write_line(LogLevel level, std::string_view name, std::string_view line) noexcept {
  const char prefix[] = {'<', static_cast<char>(level), '>'};
  LineBuffer buffer;
  buffer.append({prefix, sizeof(prefix)});
  buffer.append(name);
  buffer.append(" ");
  buffer.append(line);
  buffer.end();
  ssize_t written = 0;
  do {
    written = ::write(fd_, buffer.data(), buffer.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) lost_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace sluice::worker
