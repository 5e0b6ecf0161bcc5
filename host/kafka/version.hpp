// Which librdkafka this process runs with: for `sluice version` and bug reports.
// A header of its own, because library.hpp is for this folder only. Any thread.
// Not here: the version that a build asks for (CMakeLists.txt).
#pragma once

#include <string>

namespace sluice::kafka {

/// As the library says it, e.g. "2.0.2".
std::string library_version();

}  // namespace sluice::kafka
