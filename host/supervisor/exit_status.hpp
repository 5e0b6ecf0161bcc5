// How a process ended, as waitid tells it: a plain value between the reaper, which asks the kernel,
// and the supervisor core, which knows no kernel. Exit codes that mean something to us stand here
// too, so that worker and host name the same numbers.
#pragma once

#include <cstdint>

namespace sluice::supervisor {

struct ExitStatus {
  enum class Kind : std::uint8_t { Exited, Signalled };
  Kind kind = Kind::Exited;
  int code = 0;  ///< exit code, or the signal's number

  bool operator==(const ExitStatus&) const = default;
};

/// Exit codes of sluice-worker that mean something here (sdk.md, "Supervision design").
inline constexpr int kExitClean = 0;
inline constexpr int kExitTryAgain = 75;
inline constexpr int kExitConfiguration = 78;

}  // namespace sluice::supervisor
