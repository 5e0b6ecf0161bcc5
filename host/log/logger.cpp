#include "host/log/logger.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "host/log/escape.hpp"
#include "host/log/rate_limit.hpp"
#include "host/log/stream_writer.hpp"

namespace sluice::log {
namespace {

/// What the pattern adds around a line: time, level, " swallowed=<20 digits>", LF.
constexpr std::size_t kDecorationBytesMax = 80;
/// Job names have at most 200 bytes; a plugin's name comes from its file and may have any length.
constexpr std::size_t kFieldBytesMax = 200;
constexpr std::string_view kCutMark = "...";

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::Debug:
      return spdlog::level::debug;
    case Level::Info:
      return spdlog::level::info;
    case Level::Warning:
      return spdlog::level::warn;
    case Level::Error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

/// %* of our pattern: journald's priority (sd-daemon(3): 3 error, 4 warning, 6 info, 7 debug).
class PriorityFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& line, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    out.push_back(digit(line.level));
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PriorityFlag>();
  }

 private:
  static char digit(spdlog::level::level_enum level) {
    switch (level) {
      case spdlog::level::err:
        return '3';
      case spdlog::level::warn:
        return '4';
      case spdlog::level::info:
        return '6';
      default:
        return '7';
    }
  }
};

std::unique_ptr<spdlog::formatter> make_formatter(Format format) {
  auto formatter =
      std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, "\n");
  formatter->add_flag<PriorityFlag>('*');
  formatter->set_pattern(format == Format::Journald ? "<%*>%v" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v");
  return formatter;
}

/// spdlog's way out; "sink" is its word, not ours. base_sink holds the lock that keeps lines whole.
class WriteLineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  WriteLineSink(WriteLine write, std::atomic<std::uint64_t>& lost)
      : write_{std::move(write)}, lost_{lost} {}

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    spdlog::memory_buf_t out;
    formatter_->format(line, out);
    if (!write_({out.data(), out.size()})) lost_.fetch_add(1, std::memory_order_relaxed);
  }
  void flush_() override {}

 private:
  WriteLine write_;
  std::atomic<std::uint64_t>& lost_;
};

bool needs_quotes(std::string_view value) {
  return value.empty() || value.find_first_of(" =\"") != std::string_view::npos;
}

std::string field(std::string_view name, std::string_view value) {
  std::string escaped;
  append_escaped(escaped, cut_utf8(value, kFieldBytesMax));
  std::string out{" "};
  out += name;
  out += '=';
  if (!needs_quotes(escaped)) return out + escaped;
  std::replace(escaped.begin(), escaped.end(), '"', '\'');
  return out + '"' + escaped + '"';
}

}  // namespace

/// The shared way out. The lock of `mutex_` guards the rate limit only; it is never held while a
/// line is written.
class Logger::Journal {
 public:
  Journal(const Clock& clock, LogOptions options, WriteLine write)
      : clock_{clock},
        sink_{std::make_shared<WriteLineSink>(std::move(write), lost_)},
        out_{"sluice", sink_} {
    sink_->set_formatter(make_formatter(options.format));
    out_.set_level(spdlog_level(options.least));
    out_.set_error_handler([this](const std::string&) { lost_.fetch_add(1); });
  }

  bool enabled(Level level) const { return out_.should_log(spdlog_level(level)); }

  void print(Level level, std::string_view line, std::uint64_t swallowed) {
    const spdlog::log_clock::time_point now{std::chrono::milliseconds{clock_.unix_ms()}};
    if (swallowed == 0) {
      out_.log(now, spdlog::source_loc{}, spdlog_level(level), line);
      return;
    }
    const std::string counted = std::string{line} + " swallowed=" + std::to_string(swallowed);
    out_.log(now, spdlog::source_loc{}, spdlog_level(level), counted);
  }

  RateLimit::Answer admit(Level level, std::string_view cause, std::string_view line) {
    const std::scoped_lock lock{mutex_};
    const auto answer = limits_[index(level)].admit(cause, line, clock_.monotonic());
    if (answer.verdict == RateLimit::Verdict::Swallow) ++swallowed_;
    return answer;
  }

  void tick() {
    for (const Level level : {Level::Debug, Level::Info, Level::Warning, Level::Error}) {
      for (const auto& due : take_due(level)) print(level, due.line, due.swallowed);
    }
  }

  LogCounters counters() const {
    const std::scoped_lock lock{mutex_};
    return {.swallowed = swallowed_, .lost = lost_.load(std::memory_order_relaxed)};
  }

 private:
  static constexpr std::size_t kLevels = 4;
  static std::size_t index(Level level) { return static_cast<std::size_t>(level); }

  std::vector<RateLimit::Due> take_due(Level level) {
    const std::scoped_lock lock{mutex_};
    return limits_[index(level)].take_due(clock_.monotonic());
  }

  const Clock& clock_;
  std::atomic<std::uint64_t> lost_{0};
  std::shared_ptr<WriteLineSink> sink_;
  spdlog::logger out_;
  mutable std::mutex mutex_;
  RateLimit limits_[kLevels];
  std::uint64_t swallowed_ = 0;
};

Logger::Logger(const Clock& clock, LogOptions options, WriteLine write)
    : journal_{std::make_shared<Journal>(clock, options, std::move(write))} {}

Logger Logger::to_stderr(const Clock& clock, Level least, std::optional<Format> format) {
  struct stat file = {};
  const bool journald = ::fstat(STDERR_FILENO, &file) == 0 &&
                        is_journal_stream(std::getenv("JOURNAL_STREAM"), file.st_dev, file.st_ino);
  const LogOptions options{.least = least,
                           .format = format.value_or(journald ? Format::Journald : Format::Text)};
  auto writer = std::make_shared<StreamWriter>(STDERR_FILENO, kStallMax);
  return {clock, options, [writer](std::string_view line) { return writer->write_line(line); }};
}

Logger Logger::with_job(std::string_view name) const {
  Logger narrower{*this};
  narrower.job_ = field("job", name);
  return narrower;
}

Logger Logger::with_worker(std::uint32_t slot) const {
  Logger narrower{*this};
  narrower.worker_ = field("worker", std::to_string(slot));
  return narrower;
}

Logger Logger::with_slice(std::uint64_t slice_id) const {
  Logger narrower{*this};
  narrower.slice_ = field("slice", std::to_string(slice_id));
  return narrower;
}

Logger Logger::with_plugin(std::string_view name) const {
  Logger narrower{*this};
  narrower.plugin_ = field("plugin", name);
  return narrower;
}

void Logger::log(Level level, std::string_view text) const {
  if (enabled(level)) journal_->print(level, line_of(text), 0);
}

void Logger::limited(Level level, std::string_view cause, std::string_view text) const {
  if (!enabled(level)) return;
  const std::string line = line_of(text);
  const auto answer = journal_->admit(level, std::string{cause} + job_, line);
  if (answer.verdict == RateLimit::Verdict::Print) {
    journal_->print(level, line, answer.swallowed_before);
  }
}

void Logger::tick() const {
  journal_->tick();
}

bool Logger::enabled(Level level) const {
  return journal_->enabled(level);
}

LogCounters Logger::counters() const {
  return journal_->counters();
}

std::string Logger::line_of(std::string_view text) const {
  std::string line;
  append_escaped(line, cut_utf8(text, kLineBytesMax));
  const std::size_t fields = job_.size() + worker_.size() + slice_.size() + plugin_.size();
  const std::size_t room = kLineBytesMax - kDecorationBytesMax - fields;
  if (line.size() > room) {
    line.resize(cut_utf8(line, room - kCutMark.size()).size());
    line += kCutMark;
  }
  return line + job_ + worker_ + slice_ + plugin_;
}

bool is_journal_stream(const char* value, std::uint64_t device, std::uint64_t inode) {
  if (value == nullptr) return false;
  const std::string_view text{value};
  const char* const end = text.data() + text.size();
  std::uint64_t numbers[2] = {};
  const auto [colon, error] = std::from_chars(text.data(), end, numbers[0]);
  if (error != std::errc{} || colon == end || *colon != ':') return false;
  const auto [rest, second_error] = std::from_chars(colon + 1, end, numbers[1]);
  return second_error == std::errc{} && rest == end && numbers[0] == device && numbers[1] == inode;
}

}  // namespace sluice::log
