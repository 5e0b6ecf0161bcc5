// What a process that gets nowhere is doing: each needs another remedy, so a hang is told with it.
// Seen by process_sample, which alone looks at processes; the pure core is told. A process that
// somebody has stopped does not hang, and no record is blamed for it (slicer.md F2).
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::supervisor {

enum class Stall : std::uint8_t {
  Spinning,         ///< burns CPU
  Blocked,          ///< waits for something that a signal can interrupt
  Stopped,          ///< SIGSTOP or a debugger
  Uninterruptible,  ///< in the kernel, deaf to SIGKILL until it comes back
  Ended,            ///< dead, not reaped
};
std::string_view stall_name(Stall stall);

}  // namespace sluice::supervisor
