#include "ipc/error.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <stdexcept>

namespace sluice::ipc {

std::string_view rule_name(Rule rule) {
  switch (rule) {
    case Rule::None:
      return "none";
    case Rule::TailTooFar:
      return "tail_too_far";
    case Rule::TailWentBack:
      return "tail_went_back";
    case Rule::HeadTooFar:
      return "head_too_far";
    case Rule::HeadWentBack:
      return "head_went_back";
    case Rule::Sequence:
      return "sequence";
    case Rule::Crc:
      return "crc";
    case Rule::Kind:
      return "kind";
    case Rule::ArenaLength:
      return "arena_length";
  }
  return "unknown";
}

Error::Error(const Violation& violation)
    : code_{ErrorCode::Violation},
      message_{"ring: " + std::string{rule_name(violation.rule)} + ": tail " +
               std::to_string(violation.tail) + ", head " + std::to_string(violation.head) +
               ": the other side wrote what the layout forbids; it must be killed"},
      violation_{violation} {}

Error system_error(std::string_view what, int errno_value) {
  return Error{ErrorCode::System, std::string{what} + ": " + std::strerror(errno_value)};
}

std::ostream& operator<<(std::ostream& out, const Error& error) {
  return out << error.message();
}

void throw_exception_from_error(const Error& error, const boost::source_location& at) {
  throw std::logic_error{std::string{at.file_name()} + ":" + std::to_string(at.line()) +
                         ": value() of an error: " + error.message()};
}

void invariant(bool holds, const char* sentence) noexcept {
  if (holds) return;
  std::fprintf(stderr, "sluice: broken invariant: %s\n", sentence);
  std::abort();
}

}  // namespace sluice::ipc
