#include "host/base/error.hpp"

#include <cstring>
#include <ostream>
#include <stdexcept>

namespace sluice {

std::string_view code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::Configuration: return "configuration";
    case ErrorCode::Usage: return "usage";
    case ErrorCode::NotFound: return "not_found";
    case ErrorCode::AlreadyExists: return "already_exists";
    case ErrorCode::Refused: return "refused";
    case ErrorCode::Io: return "io";
    case ErrorCode::Store: return "store";
    case ErrorCode::StoreForeign: return "store_foreign";
    case ErrorCode::Kafka: return "kafka";
    case ErrorCode::KafkaUnavailable: return "kafka_unavailable";
    case ErrorCode::TooLarge: return "too_large";
    case ErrorCode::OffsetOutOfRange: return "offset_out_of_range";
    case ErrorCode::Plugin: return "plugin";
    case ErrorCode::IpcViolation: return "ipc_violation";
    case ErrorCode::Incompatible: return "incompatible";
    case ErrorCode::Canceled: return "canceled";
    case ErrorCode::Internal: return "internal";
  }
  return "unknown";
}

Error Error::with_context(std::string_view context) const {
  return Error{code_, std::string{context} + ": " + message_};
}

Error io_error(std::string_view what, std::string_view which, int errno_value) {
  std::string message{what};
  message += ": ";
  message += which;
  message += ": ";
  message += std::strerror(errno_value);
  return Error{ErrorCode::Io, std::move(message)};
}

std::ostream& operator<<(std::ostream& out, const Error& error) {
  return out << code_name(error.code()) << ": " << error.message();
}

void throw_exception_from_error(const Error& error, const boost::source_location& at) {
  throw std::logic_error{std::string{at.file_name()} + ":" + std::to_string(at.line()) +
                         ": value() of an error: " + error.message()};
}

}  // namespace sluice
