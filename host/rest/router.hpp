// Which handler answers which request: a table of method, pattern and handler. A pattern is a path
// whose parts in braces match any one part: `/sluice/v1/jobs/{name}/slices`. Fixed parts win over
// braces, so that `/jobs/top` may stand beside `/jobs/{name}`.
//
// Every path that is not in the table is 404, every other method of one that is is 405 with Allow.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/rest/http.hpp"

namespace sluice::rest {

/// By the names in braces.
using PathParameters = std::map<std::string, std::string>;
using Handler = std::function<void(const Request&, const PathParameters&, Answer)>;

/// REST answers within a second whatever else is broken: what takes longer is told to come again.
inline constexpr std::chrono::milliseconds kAnswerWithin{900};

class Router {
 public:
  /// Requires: no such method and pattern yet.
  void add(Method method, std::string_view pattern, Handler handler,
           std::chrono::milliseconds within = kAnswerWithin);

  struct Match {
    const Handler* handler = nullptr;
    PathParameters parameters;
    std::chrono::milliseconds within{};
  };
  /// The handler, or the error to answer with. A Match lives as long as the table is not added to.
  std::variant<Match, Response> find(Method method, const std::vector<std::string>& parts) const;

 private:
  struct Route {
    Method method;
    std::vector<std::string> pattern;
    Handler handler;
    std::chrono::milliseconds within;
  };

  std::vector<Route> routes_;
};

}  // namespace sluice::rest
