// What can go wrong outside us, as a value. Every function that touches a worker's bytes, Kafka, a
// disk, a configuration or a user returns Result<T>; exceptions of third-party calls are caught at
// the folder's edge and turned into an Error there.
//
// The message is for the person who must act: `what failed: which thing: why; what to do`.
#pragma once

#include <boost/system/result.hpp>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// The one list of error codes. The value's name is what logs and JSON show (code_name).
enum class ErrorCode {
  Configuration,     ///< a key, a file or a value the user must change; exit 78
  Usage,             ///< the command line is wrong; exit 2
  NotFound,          ///< a named thing does not exist
  AlreadyExists,     ///< a name is taken
  Refused,           ///< a rule says no (a name, an index, a lock that others hold)
  Io,                ///< a system call failed; the message has errno's text
  Store,             ///< the state store cannot be read or written
  StoreForeign,      ///< the state store is not, or no longer, the one that the Kafka group names
  Kafka,             ///< the broker or the client said no
  KafkaUnavailable,  ///< no broker answers, or not in time; try again later
  TooLarge,          ///< the broker or the client does not take a record of this size
  OffsetOutOfRange,  ///< a position is below the low or above the high watermark
  Plugin,            ///< a plugin file cannot be loaded, or broke its contract
  IpcViolation,      ///< a peer wrote bytes that the layout forbids
  Incompatible,      ///< versions of two of our own parts do not match
  Canceled,          ///< given up because we are stopping
  Internal,          ///< should not be possible; a bug report, please
};

std::string_view code_name(ErrorCode code);

class Error {
 public:
  /// What boost::system::result answers to error() while it holds a value; never returned by us.
  Error() = default;
  Error(ErrorCode code, std::string message) : code_{code}, message_{std::move(message)} {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  /// The same error seen from further out: `context: message`.
  Error with_context(std::string_view context) const;

 private:
  ErrorCode code_ = ErrorCode::Internal;
  std::string message_;
};

template <typename T = void>
using Result = boost::system::result<T, Error>;

/// An Io error from errno: `what: which: strerror(errno_value)`.
Error io_error(std::string_view what, std::string_view which, int errno_value);

/// `code: message`.
std::ostream& operator<<(std::ostream& out, const Error& error);

/// Called by Result::value() on an error. It is a bug to ask for a value that is not there.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& at);

}  // namespace sluice

/// SLUICE_TRY(expression): returns the error of a Result from the calling function.
#define SLUICE_TRY(expression)                            \
  do {                                                    \
    if (auto try_result = (expression); !try_result) {    \
      return try_result.error();                          \
    }                                                     \
  } while (false)
