// SLUICE_FULL=1 in the environment asks for the long runs, which are not for every day. The short
// ones must be able to fail too.
#pragma once

#include <cstdlib>
#include <string_view>

namespace sluice {

inline bool full_scale() {
  const char* const full = std::getenv("SLUICE_FULL");
  return full != nullptr && std::string_view{full} == "1";
}

}  // namespace sluice
