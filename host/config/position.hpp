// Where in a file something was written, and what is wrong there. A loader collects Problems and
// hands over all of them at once: one edit and one reload, instead of one round per mistake. Values
// of unknown keys are never in them.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::config {

/// Counted from 1; 0 = not known (a value that came by REST, a key that is missing).
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  bool operator==(const Position&) const = default;
  auto operator<=>(const Position&) const = default;
};

/// `what` says what is wrong and what to do, and never holds the value of an unknown key.
struct Problem {
  Position position;
  std::string key;
  std::string what;

  bool operator==(const Problem&) const = default;
};

/// All that is wrong with one file, ordered by position.
class Problems {
 public:
  Problems() = default;
  explicit Problems(std::string origin) : origin_{std::move(origin)} {}

  void add(Position position, std::string key, std::string what);
  bool empty() const { return list_.empty(); }
  const std::vector<Problem>& list() const& { return list_; }
  /// result::error() hands out a copy, and a loop over its list must not outlive it.
  std::vector<Problem> list() && { return std::move(list_); }
  const std::string& origin() const { return origin_; }
  /// Orders by position; problems without one come last.
  void sort();

  /// `FILE:LINE:COL: key: what`; without a position `FILE: key: what`; without a file `key: what`.
  std::string line(const Problem& problem) const;
  /// All lines, joined by LF.
  std::string text() const;
  Error to_error() const { return Error{ErrorCode::Configuration, text()}; }

 private:
  std::string origin_;
  std::vector<Problem> list_;
};

/// Called by value() of a Loaded that holds problems: a bug of the caller.
[[noreturn]] void throw_exception_from_error(const Problems& problems,
                                             const boost::source_location& at);

template <typename T>
using Loaded = boost::system::result<T, Problems>;

}  // namespace sluice::config
