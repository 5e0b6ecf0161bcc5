// How a plugin shows in the map of a process: the same question for the host, who must have none,
// and for a worker, who must have one.
#pragma once

#include <string_view>

namespace sluice::test {

/// `line` of /proc/PID/maps. Bundled plugins are called NAME_sink.so and NAME_processor.so.
inline bool is_of_plugin(std::string_view line) {
  return line.find("_sink.so") != std::string_view::npos ||
         line.find("_processor.so") != std::string_view::npos;
}

}  // namespace sluice::test
