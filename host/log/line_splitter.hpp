// Bytes of a worker's stdout and stderr in, log lines out. A pipe delivers pieces that begin and
// end anywhere; a plugin may write megabytes without a line feed, colour codes, or no text at all.
//
// The memory is bounded: of a line longer than `line_bytes_max` the beginning is kept, the rest is
// only counted and the line ends with " [N bytes cut]". Lines come out escaped (escape.hpp),
// without their LF or CR LF; empty lines are dropped. One splitter per pipe, one thread; it does no
// I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::log {

/// 2,000 bytes leave room for escapes and fields below kLineBytesMax of logger.hpp.
constexpr std::size_t kCapturedLineBytesMax = 2000;

class LineSplitter {
 public:
  using OnLine = std::function<void(std::string_view line)>;

  explicit LineSplitter(std::size_t line_bytes_max = kCapturedLineBytesMax);

  /// Takes the next bytes of the pipe and calls `on_line` for each line that they complete.
  void feed(std::string_view bytes, const OnLine& on_line);
  /// The pipe has ended: hands out the last line even without its LF.
  void finish(const OnLine& on_line);

 private:
  void keep(std::string_view part);
  void end_line(const OnLine& on_line);

  std::size_t line_bytes_max_;
  std::string line_;
  std::uint64_t cut_bytes_ = 0;
};

}  // namespace sluice::log
