#include "host/rest/http.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "ipc/failure_text.hpp"

namespace sluice::rest {
namespace {

std::optional<int> hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return std::nullopt;
}

enum class Plus { Literal, Space };

std::optional<std::string> decode(std::string_view text, Plus plus) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '+' && plus == Plus::Space) {
      decoded += ' ';
    } else if (letter != '%') {
      if (letter <= ' ' || letter == '\x7f') return std::nullopt;
      decoded += letter;
    } else {
      const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
      const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
      if (!high || !low || (*high == 0 && *low == 0)) return std::nullopt;
      decoded += static_cast<char>(*high * 16 + *low);
      i += 2;
    }
  }
  return decoded;
}

Error bad_target(std::string_view why) {
  return Error{ErrorCode::Usage, "request target: " + std::string{why}};
}

Result<> parse_query(std::string_view text, std::map<std::string, std::string>& query) {
  while (!text.empty()) {
    const auto end = text.find('&');
    const auto pair = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    const auto key = decode(pair.substr(0, equals), Plus::Space);
    const auto value = equals == std::string_view::npos
                           ? std::optional<std::string>{std::string{}}
                           : decode(pair.substr(equals + 1), Plus::Space);
    if (!key || !value) return bad_target("its query is not percent-encoded");
    if (!query.emplace(*key, *value).second) return bad_target("a query key stands there twice");
  }
  return {};
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage:
    case ErrorCode::Configuration:
      return 400;
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::AlreadyExists:
    case ErrorCode::Refused:
    case ErrorCode::StoreForeign:
      return 409;
    case ErrorCode::Io:
    case ErrorCode::Kafka:
    case ErrorCode::KafkaUnavailable:
    case ErrorCode::Canceled:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

std::string_view method_name(Method method) {
  switch (method) {
    case Method::Get:
      return "GET";
    case Method::Post:
      return "POST";
    case Method::Put:
      return "PUT";
    case Method::Patch:
      return "PATCH";
    case Method::Delete:
      return "DELETE";
    case Method::Other:
      break;
  }
  return "OTHER";
}

Result<Target> parse_target(std::string_view text) {
  if (text.empty() || text.front() != '/') return bad_target("it does not begin with /");
  Target target;
  const auto question = text.find('?');
  auto path = text.substr(0, question);
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto slash = path.find('/');
    const auto part = decode(path.substr(0, slash), Plus::Literal);
    if (!part) return bad_target("its path is not percent-encoded");
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash);
    // One slash at the end means the same, as in Connect.
    if (!part->empty() || !path.empty()) target.parts.push_back(*part);
  }
  if (question != std::string_view::npos) {
    SLUICE_TRY(parse_query(text.substr(question + 1), target.query));
  }
  return target;
}

Response error_response(int status, std::string_view text) {
  Response response;
  response.status = status;
  response.body = boost::json::serialize(
      // A request's own bytes may be in it, which need not be text.
      boost::json::object{{"error_code", status}, {"message", ipc::sanitized(text, 0)}});
  return response;
}

Response error_response(const Error& error) {
  return error_response(status_of(error.code()), error.message());
}

}  // namespace sluice::rest
