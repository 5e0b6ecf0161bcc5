// One question to `sluice-worker` in a process of its own: --describe or --validate. Plugins are
// loaded there and never here, so a file that crashes, hangs or prints megabytes costs one process
// and gives a sentence (sdk.md, hot swap 6). Blocks up to its time limit; not for the loop.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::catalog {

/// A describe is promised within 100 ms (sdk.md 5.5); a cold disk and a busy machine get the rest.
inline constexpr std::chrono::milliseconds kWorkerCallLimit{10'000};
inline constexpr std::size_t kAnswerBytesMax = 4U << 20;

/// Starts `worker arguments...`, gives it `input`, returns its stdout. An Error for any end but
/// exit code 0: what it said on stderr, its signal, or that it was killed after the limit.
Result<std::string> call_worker(const std::filesystem::path& worker,
                                const std::vector<std::string>& arguments, std::string_view input,
                                std::chrono::milliseconds limit = kWorkerCallLimit);

}  // namespace sluice::catalog
