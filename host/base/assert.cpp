#include "host/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace sluice::detail {

void assertion_failed(const char* expression, const char* file, int line,
                      const std::string& values) noexcept {
  std::fprintf(stderr, "sluice: assertion failed: %s: %s:%d%s%s\n", expression, file, line,
               values.empty() ? "" : ": ", values.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace sluice::detail
