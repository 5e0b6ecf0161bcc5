// Writes log lines to a descriptor without ever waiting long for its reader. A pipe whose reader
// stands still (a pager, a stuck journald) must not stand the host's loop still.
//
// A pipe with one free page takes a line of at most PIPE_BUF bytes at once, so poll() before
// write() is enough. The first line that finds it full waits up to kStallMax; until it is writable
// again, further lines are dropped without waiting. Does not own the descriptor; calls must not
// overlap.
#pragma once

#include <string_view>

#include "host/base/clock.hpp"

namespace sluice::log {

class StreamWriter {
 public:
  StreamWriter(int fd, Milliseconds stall_max) : fd_{fd}, stall_max_{stall_max} {}

  /// False: the line was dropped, nothing of it was written (or the reader is gone).
  bool write_line(std::string_view line);

 private:
  bool wait_writable();

  int fd_;
  Milliseconds stall_max_;
  bool stalled_ = false;
};

}  // namespace sluice::log
