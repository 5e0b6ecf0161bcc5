// What can go wrong between host and worker, as a value. `ipc` depends on nothing of the host, so
// it has its own small Error; the host's folders turn it into theirs with message(). The message
// reads `what failed: which thing: why; what to do`.
//
// A Violation is more than an error: a peer wrote bytes that the layout forbids. Nothing is
// repaired and nothing is skipped: the rule, the slot's bytes and both indices are kept for the
// report, and the worker is killed (ipc facts 3.4).
#pragma once

#include <array>
#include <boost/system/result.hpp>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::ipc {

/// Why a slot or an index was refused; rule_name() is the metric's label.
enum class Rule : std::uint8_t {
  None,          ///< nothing was broken
  TailTooFar,    ///< the writer's tail is more than a ring ahead of what was read
  TailWentBack,  ///< the writer's tail is below a value it had before
  HeadTooFar,    ///< the reader's head is beyond what was published
  HeadWentBack,  ///< the reader's head is below a value it had before
  Sequence,      ///< a slot does not carry its own number: stale, misplaced or never written
  Crc,           ///< a slot's checksum is wrong: a wild store
  Kind,          ///< a slot's kind is not in the table
  ArenaLength,   ///< a report claims more text than its arena entry holds
};

inline constexpr std::size_t kRuleCount = 9;

std::string_view rule_name(Rule rule);

struct Violation {
  Rule rule = Rule::None;
  std::uint64_t tail = 0;
  std::uint64_t head = 0;
  std::array<std::byte, 128> slot{};  ///< as copied, zero where the rule is about an index
};

enum class ErrorCode : std::uint8_t {
  System,        ///< a system call failed
  Incompatible,  ///< a segment is not what this program was built for; the worker exits 78
  Full,          ///< no free slot; nothing was published
  Refused,       ///< the caller asked for what the layout cannot hold
  Violation,     ///< see Error::violation
};

class Error {
 public:
  /// What boost::system::result answers to error() while it holds a value; never returned by us.
  Error() = default;
  Error(ErrorCode code, std::string message) : code_{code}, message_{std::move(message)} {}
  explicit Error(const Violation& violation);

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  /// Present exactly when code() is Violation.
  const std::optional<Violation>& violation() const { return violation_; }

 private:
  ErrorCode code_ = ErrorCode::System;
  std::string message_;
  std::optional<Violation> violation_;
};

template <typename T = void>
using Result = boost::system::result<T, Error>;

/// A System error from errno: `what: strerror(errno_value)`.
Error system_error(std::string_view what, int errno_value);

/// The message.
std::ostream& operator<<(std::ostream& out, const Error& error);

/// Called by Result::value() on an error. It is a bug to ask for a value that is not there.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& at);

/// A broken invariant of ours ends the process with its sentence; never for a peer's bytes.
void invariant(bool holds, const char* sentence) noexcept;

}  // namespace sluice::ipc
