// The two questions of a supervisor, as pure functions: is this worker over a deadline (slicer.md
// F7), and what did a dead one die of and whom does that accuse (F1, F2). No state here: the
// supervisor keeps the clocks and hands in what is known; the slicer checks whom it accuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/base/clock.hpp"
#include "host/supervisor/exit_status.hpp"
#include "host/supervisor/supervisor.hpp"
#include "ipc/crash_note.hpp"
#include "ipc/pulse.hpp"

namespace sluice::supervisor {

/// Why we end a worker.
struct Ending {
  LossCause cause = LossCause::Hang;
  std::string text;
  std::optional<Stall> stall = std::nullopt;  ///< what it looked like then, if it was looked at
};

/// When the three clocks of a worker were wound up last.
struct Deadlines {
  Milliseconds call_since{0};
  Milliseconds loop_since{0};
  Milliseconds stop_since{0};  ///< when STOP was sent
};

/// Nothing of this says that the worker got on: same phase, slice, batch, call, and no keep_alive.
bool same_call(const ipc::Pulse& before, const ipc::Pulse& now);

std::optional<Ending> overdue(const std::optional<ipc::Pulse>& pulse, Workload workload,
                              bool stop_sent, const Deadlines& since,
                              const SupervisorOptions& options, Milliseconds now);
/// When overdue() has something to say if nothing changes; nothing: never.
std::optional<Milliseconds> due_at(const std::optional<ipc::Pulse>& pulse, Workload workload,
                                   bool stop_sent, const Deadlines& since,
                                   const SupervisorOptions& options);

/// When the call of a pulse that is new to us began: by the worker's own word where that lies
/// between our last look and now, else now. So its deadline is exact, whenever we look.
Milliseconds call_began(const ipc::Pulse& pulse, Milliseconds looked_before, Milliseconds now);

/// All that is known about a worker when it has been reaped.
struct LastWords {
  ExitStatus status;
  std::int32_t pid = 0;
  std::optional<ipc::Pulse> pulse;
  std::optional<ipc::CrashNote> note;
  std::optional<Ending> ending;  ///< if we ended it
  bool asked_to_stop = false;
  KafkaState kafka = KafkaState::Answering;
};

Accusation judge(const LastWords& words);

/// The plugin's own code runs: what the process does then is the plugin's doing.
bool in_plugin(ipc::Phase phase);

}  // namespace sluice::supervisor
