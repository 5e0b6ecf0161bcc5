// The digest of a plugin's file: what a pin names (sdk.md, hot swap). A worker compares it before
// dlopen, so that a job runs exactly the image that it was created with; --describe prints it, and
// the host caches descriptions by it.
#pragma once

#include <string>

#include "host/base/error.hpp"

namespace sluice::worker {

/// 64 lower-case hex digits. Reads the file in pieces; nothing of it stays in memory.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace sluice::worker
