#include "host/rest/router.hpp"

#include <optional>
#include <utility>

#include "host/base/assert.hpp"

namespace sluice::rest {
namespace {

bool in_braces(const std::string& part) {
  return part.size() > 2 && part.front() == '{' && part.back() == '}';
}

/// How many fixed parts agree; nothing where it does not match.
std::optional<int> fixed_parts(const std::vector<std::string>& pattern,
                               const std::vector<std::string>& parts) {
  if (pattern.size() != parts.size()) return std::nullopt;
  int fixed = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (in_braces(pattern[i])) {
      if (parts[i].empty()) return std::nullopt;
    } else if (pattern[i] == parts[i]) {
      ++fixed;
    } else {
      return std::nullopt;
    }
  }
  return fixed;
}

}  // namespace

void Router::add(Method method, std::string_view pattern, Handler handler,
                 std::chrono::milliseconds within) {
  auto target = parse_target(pattern);
  SLUICE_ASSERT(target, std::string{pattern});
  for (const auto& route : routes_) {
    SLUICE_ASSERT(route.method != method || route.pattern != target->parts, std::string{pattern});
  }
  routes_.push_back({method, std::move(target->parts), std::move(handler), within});
}

std::variant<Router::Match, Response> Router::find(Method method,
                                                   const std::vector<std::string>& parts) const {
  const Route* best = nullptr;
  int best_fixed = -1;
  std::string allow;
  for (const auto& route : routes_) {
    const auto fixed = fixed_parts(route.pattern, parts);
    if (!fixed) continue;
    if (!allow.empty()) allow += ", ";
    allow += method_name(route.method);
    if (route.method == method && *fixed > best_fixed) {
      best = &route;
      best_fixed = *fixed;
    }
  }
  if (best == nullptr && allow.empty()) return error_response(404, "HTTP 404 Not Found");
  if (best == nullptr) {
    auto refused = error_response(405, "HTTP 405 Method Not Allowed; allowed here: " + allow);
    refused.allow = std::move(allow);
    return refused;
  }
  Match match;
  match.handler = &best->handler;
  match.within = best->within;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& pattern = best->pattern[i];
    if (in_braces(pattern)) match.parameters[pattern.substr(1, pattern.size() - 2)] = parts[i];
  }
  return match;
}

}  // namespace sluice::rest
