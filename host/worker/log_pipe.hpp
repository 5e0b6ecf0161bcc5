// Log lines to the host, from plugins (host->log, any thread) and from the worker itself, through
// the log pipe (fd 8). One write(2) per line, below PIPE_BUF, so that lines of several threads do
// not mix. The pipe does not block: a line that does not fit is counted, and the count reported.
//
// A line is `<LEVEL>NAME TEXT\n`: LEVEL as in syslog (3 error, 4 warning, 6 info, 7 debug), NAME
// the plugin's alias in the job, or `-` for the worker itself. A text with line feeds becomes
// lines.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace sluice::worker {

enum class LogLevel : char { Error = '3', Warning = '4', Info = '6', Debug = '7' };

class LogPipe {
 public:
  /// Text beyond this is cut; what the host keeps of a captured line is shorter still.
  static constexpr std::size_t kLineBytesMax = 4000;

  /// `fd` stays the caller's.
  explicit LogPipe(int fd) : fd_{fd} {}

  /// [any-thread]
  void write(LogLevel level, std::string_view name, std::string_view text) noexcept;
  /// The worker's own words.
  void say(LogLevel level, std::string_view text) noexcept { write(level, "-", text); }

  /// Lines lost since the last call.
  std::uint32_t take_lost() noexcept { return lost_.exchange(0, std::memory_order_relaxed); }

 private:
  void write_line(LogLevel level, std::string_view name, std::string_view line) noexcept;

  int fd_;
  std::atomic<std::uint32_t> lost_{0};
};

}  // namespace sluice::worker
