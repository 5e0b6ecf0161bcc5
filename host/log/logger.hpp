// What the host tells the people who run it: one line per event, with the fields job=, worker=,
// slice= and plugin= at its end, so that `grep job=orders` finds a job's life.
//
// A Logger is a value that carries its fields and shares one Journal (the way out); copies are
// cheap and with_job() and its kin make a narrower one. It is passed by reference; there is no
// global one. Lines that repeat per cause go through limited(): one a minute, with the count of the
// swallowed. Every call may come from any thread. None blocks for long: a line that the reader of
// stderr does not take within kStallMax is dropped and counted, because the host's loop logs too.
// Never given to it: values of secrets, records. Plugins' output comes through line_splitter.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/clock.hpp"

namespace sluice::log {

enum class Level : std::uint8_t { Debug, Info, Warning, Error };

enum class Format : std::uint8_t {
  Text,      ///< "2026-11-29T16:09:06.123Z warning <text> job=orders worker=2"
  Journald,  ///< "<4><text> job=orders worker=2": journald reads the priority and adds the time
};

/// Longest line, LF included. Below PIPE_BUF (4,096), so lines of several processes do not mix.
constexpr std::size_t kLineBytesMax = 4000;
/// How long a full pipe at stderr may hold up the caller, once, until it is written to again.
constexpr Milliseconds kStallMax{10};

/// Takes a finished line with its LF; false if it could not be written. One call at a time.
using WriteLine = std::function<bool(std::string_view line)>;

struct LogOptions {
  Level least = Level::Info;
  Format format = Format::Text;
};

struct LogCounters {
  std::uint64_t swallowed = 0;  ///< by the rate limit
  std::uint64_t lost = 0;       ///< WriteLine said no
};

class Logger {
 public:
  /// `clock` must outlive every copy of the logger.
  Logger(const Clock& clock, LogOptions options, WriteLine write);
  /// To file descriptor 2. Without a format: Journald if that is journald's socket
  /// (JOURNAL_STREAM), else Text.
  static Logger to_stderr(const Clock& clock, Level least, std::optional<Format> format = {});

  Logger with_job(std::string_view name) const;
  Logger with_worker(std::uint32_t slot) const;
  Logger with_slice(std::uint64_t slice_id) const;
  Logger with_plugin(std::string_view name) const;

  void debug(std::string_view text) const { log(Level::Debug, text); }
  void info(std::string_view text) const { log(Level::Info, text); }
  void warning(std::string_view text) const { log(Level::Warning, text); }
  void error(std::string_view text) const { log(Level::Error, text); }
  void log(Level level, std::string_view text) const;

  /// At most one line a minute for this job and `cause` (a constant such as "kafka.broker_down",
  /// with the worker's number in it where workers differ). Its next line ends with swallowed=COUNT.
  void limited(Level level, std::string_view cause, std::string_view text) const;
  /// Brings out the counts of causes that have become quiet. For a timer, about once a second.
  void tick() const;

  bool enabled(Level level) const;
  LogCounters counters() const;

 private:
  class Journal;

  std::string line_of(std::string_view text) const;

  std::shared_ptr<Journal> journal_;
  std::string job_, worker_, slice_, plugin_;  ///< each empty or " name=value"
};

/// Whether the open file with this device and inode is the stream that JOURNAL_STREAM's value
/// ("device:inode", systemd.exec(5)) names. Null or malformed: no.
bool is_journal_stream(const char* value, std::uint64_t device, std::uint64_t inode);

}  // namespace sluice::log
