// SLUICE_ASSERT: a broken invariant of ours ends the process with file, line and the values that
// broke it. Always on, in every build: a host that goes on with a wrong idea of who owns a slice
// costs more than a restart. Never for bytes that came from a worker, Kafka, a disk or a user:
// those are checked and answered with an Error (error.hpp).
#pragma once

#include <sstream>
#include <string>

namespace sluice::detail {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line,
                                   const std::string& values) noexcept;

template <typename... Values>
std::string join_values(const Values&... values) {
  std::ostringstream out;
  [[maybe_unused]] const char* separator = "";
  ((out << separator << values, separator = ", "), ...);
  return out.str();
}

}  // namespace sluice::detail

/// SLUICE_ASSERT(condition, value...): the values (anything with operator<<) are printed in order.
#define SLUICE_ASSERT(condition, ...)                                                  \
  (static_cast<bool>(condition)                                                        \
       ? static_cast<void>(0)                                                          \
       : ::sluice::detail::assertion_failed(#condition, __FILE__, __LINE__,            \
                                            ::sluice::detail::join_values(__VA_ARGS__)))
