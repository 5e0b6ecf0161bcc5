// What the supervisor says about a worker that is gone (reaped): what ended it, and whether a
// record may be to blame (slicer.md F1, F2). The supervisor knows processes, the slicer knows
// slices: it checks the named slice against its own in-flight map before it believes anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/pulse.hpp"

namespace sluice::slicer {

enum class LossCause : std::uint8_t {
  Crash,      ///< a signal of its own making: SEGV, BUS, ILL, FPE, ABRT ...
  Hang,       ///< over its deadline, ended by us (F7)
  Killed,     ///< SIGKILL or another signal, not ours: a person, the kernel's out-of-memory killer
  Memory,     ///< above worker.memory.max, ended by us
  Violation,  ///< wrote what the layout or the slicer forbids, ended by us (ipc facts 3.4)
  StopTimeout,  ///< did not stop in time, ended by us
  Exit,         ///< left by itself with an exit code
  SpawnFailed,  ///< never ran
  Stopped,      ///< left because we asked it to: no failure at all
};

std::string_view loss_cause_name(LossCause cause);

/// F2: only a crash on the task thread, or a hang while Kafka answers, can blame a record.
enum class Blame : std::uint8_t { Environment, Record };

struct Accusation {
  LossCause cause = LossCause::Killed;
  Blame blame = Blame::Environment;
  std::uint64_t slice_id = 0;  ///< what the pulse or the crash note names; 0: nothing
  std::int64_t offset = -1;    ///< first offset of the batch in hand
  std::uint32_t position = 0;  ///< index in that batch of the record in the plugin's hands
  ipc::Phase phase = ipc::Phase::Idle;
  std::uint32_t plugin_place = 0;  ///< of the plugin called last: 1 for the chain's first; 0: none
  std::string plugin;  ///< its alias, empty where not known; whoever knows the chain fills it in
  int code = 0;        ///< the signal, or the exit code
  std::string text;    ///< one line for people: "SIGSEGV in put", "no answer from flush for 60 s"
};

}  // namespace sluice::slicer
