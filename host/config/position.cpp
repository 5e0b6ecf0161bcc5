#include "host/config/position.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace sluice::config {

void Problems::add(Position position, std::string key, std::string what) {
  list_.push_back(Problem{position, std::move(key), std::move(what)});
}

void Problems::sort() {
  const auto rank = [](const Problem& problem) {
    const bool known = problem.position.line != 0;
    return known ? problem.position : Position{std::numeric_limits<std::uint32_t>::max(), 0};
  };
  std::stable_sort(list_.begin(), list_.end(),
                   [&](const Problem& a, const Problem& b) { return rank(a) < rank(b); });
}

std::string Problems::line(const Problem& problem) const {
  std::string out = origin_;
  if (problem.position.line != 0) {
    if (!out.empty()) out += ':';
    out += std::to_string(problem.position.line) + ":" + std::to_string(problem.position.column);
  }
  if (!out.empty()) out += ": ";
  if (!problem.key.empty()) out += problem.key + ": ";
  return out + problem.what;
}

std::string Problems::text() const {
  std::string out;
  for (const Problem& problem : list_) {
    if (!out.empty()) out += '\n';
    out += line(problem);
  }
  return out;
}

void throw_exception_from_error(const Problems& problems, const boost::source_location& at) {
  throw std::logic_error{std::string{at.file_name()} + ":" + std::to_string(at.line()) +
                         ": value() of an error: " + problems.text()};
}

}  // namespace sluice::config
