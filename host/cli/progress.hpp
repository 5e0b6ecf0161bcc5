// How a running job looks on a terminal, and its last word. Terminal: one line that is redrawn,
// with records/s, lag, and for once jobs share and time left. Pipe: a plain line now and then.
// Everything goes to stderr, so that stdout is free for --json.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "host/base/clock.hpp"
#include "host/job/job_status.hpp"

namespace sluice::cli {

/// Offsets, of all partitions together.
struct JobDistance {
  std::int64_t done = 0;   ///< from the start positions to the frontiers
  std::int64_t total = 0;  ///< from the start positions to the visible ends
  std::int64_t lag = 0;
};
JobDistance distance_of(const job::JobStatus& status);

/// `12,345,678`.
std::string grouped(std::uint64_t number);
/// `850 ms`, `12.3 s`, `4 min 10 s`.
std::string duration_text(std::uint64_t ms);

class Progress {
 public:
  enum class Look { Terminal, Lines };
  Progress(std::ostream& out, Look look) : out_{out}, look_{look} {}

  /// Asked every kPeriod: whether show() would draw anything. A status costs a pass over all
  /// partitions, so it is not made for nothing.
  bool is_due(Milliseconds now) const;
  void show(const job::JobStatus& status, Milliseconds now);
  /// Ends the redrawn line, so that other output starts on its own.
  void finish();

  static constexpr Milliseconds kPeriod{250};

 private:
  std::string line_of(const job::JobStatus& status);

  std::ostream& out_;
  Look look_;
  bool drawn_ = false;
  std::optional<Milliseconds> last_line_;
  std::optional<Milliseconds> last_look_;
  std::uint64_t last_records_ = 0;
  double records_per_second_ = 0;
};

/// The last words of `sluice run`: for people, and as the object of --json (interfaces.md).
void print_summary(std::ostream& out, const job::JobStatus& status);
std::string summary_json(const job::JobStatus& status);

}  // namespace sluice::cli
