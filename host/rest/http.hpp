// A request and its answer as values: what handlers see of HTTP. The server parses and limits, the
// router finds the handler, and the handler answers once, at once or later.
//
// Loop thread. An Answer may be called from any callback on the loop, also when whoever asked has
// gone or the time is over: then nothing happens.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::rest {

enum class Method : std::uint8_t { Get, Post, Put, Patch, Delete, Other };
std::string_view method_name(Method method);

/// Path and query of a request, percent-decoded. `jobs/a%2Fb` has two parts.
struct Target {
  std::vector<std::string> parts;
  std::map<std::string, std::string> query;
};
/// A Usage error for what is no absolute path in RFC 3986's characters, or has a query key twice.
Result<Target> parse_target(std::string_view text);

struct Request {
  Method method = Method::Get;
  Target target;
  std::string body;
};

struct Response {
  int status = 200;
  std::string body;   ///< JSON; empty with 204
  std::string allow;  ///< with 405: the methods
};

using Answer = std::function<void(Response)>;

/// Connect's error body: `{"error_code": status, "message": text}`.
Response error_response(int status, std::string_view text);
/// The status that an error of ours has, with its message.
Response error_response(const Error& error);

}  // namespace sluice::rest
