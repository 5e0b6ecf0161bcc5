// A supervisor and its processes as a test wants them: start, come_up, work, freeze, note, reap,
// tick. Virtual time; the process of a slot exists as long as the test has not reaped it. Signals
// are only written down: whether a process obeys them is the test's decision, so zombies and D
// states are arranged by doing nothing.
#pragma once

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "host/supervisor/supervisor.hpp"

namespace sluice::supervisor {

struct SupervisorFixture {
  explicit SupervisorFixture(SupervisorOptions chosen = {}) : supervisor{chosen, Random{1}} {
    supervisor.start(now, actions);
  }

  Milliseconds now{1'000};
  Supervisor supervisor;
  std::vector<Action> actions;  ///< all, in order
  ipc::Pulse pulse;             ///< the next pulse() sends it
  Workload workload = Workload::None;

  std::uint64_t incarnation(Slot slot) const { return supervisor.status(slot).incarnation; }
  WorkerState state(Slot slot) const { return supervisor.status(slot).state; }

  void come_up(Slot slot) {
    supervisor.spawned(slot, incarnation(slot), 100 + static_cast<int>(slot), now);
    supervisor.ready(slot, incarnation(slot), now);
  }
  /// The worker gets on: its loop turns, in this phase with this slice.
  void work(Slot slot, ipc::Phase phase, std::uint64_t slice_id = 1) {
    pulse.phase = phase;
    pulse.slice_id = slice_id;
    ++pulse.loops;
    ++pulse.phase_since_ns;
    freeze(slot);
  }
  /// The same pulse again.
  void freeze(Slot slot) { supervisor.pulse(slot, incarnation(slot), pulse, workload, now); }

  void tick(std::int64_t milliseconds) {
    now += Milliseconds{milliseconds};
    supervisor.tick(now, actions);
  }
  /// Ticks every 100 ms as the host does, the pulse unchanged.
  void frozen_for(Slot slot, std::int64_t milliseconds) {
    for (std::int64_t ms = 0; ms < milliseconds; ms += 100) {
      freeze(slot);
      tick(100);
    }
  }
  void pass(std::int64_t milliseconds) {
    for (std::int64_t ms = 0; ms < milliseconds; ms += 100) tick(100);
  }
  void note(Slot slot, int signal, ipc::CrashThread thread = ipc::CrashThread::Task,
            std::uint64_t slice_id = 1, ipc::Phase phase = ipc::Phase::Put) {
    ipc::CrashNote crash;
    crash.state = ipc::CrashState::Complete;
    crash.signal = signal;
    crash.thread = thread;
    crash.slice_id = slice_id;
    crash.phase = phase;
    supervisor.crash_noted(slot, incarnation(slot), crash, now);
  }
  void reap_signal(Slot slot, int signal) {
    supervisor.exited(slot, incarnation(slot), {ExitStatus::Kind::Signalled, signal},
                      LastTask::Work, now, actions);
  }
  void reap_exit(Slot slot, int code) {
    supervisor.exited(slot, incarnation(slot), {ExitStatus::Kind::Exited, code}, LastTask::Work,
                      now, actions);
  }

  template <typename Kind>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(actions.begin(), actions.end(),
                      [](const Action& action) { return std::holds_alternative<Kind>(action); }));
  }
  std::size_t signals(int number) const {
    return static_cast<std::size_t>(
        std::count_if(actions.begin(), actions.end(), [number](const Action& action) {
          const auto* signal = std::get_if<Signal>(&action);
          return signal != nullptr && signal->number == number;
        }));
  }
  template <typename Kind>
  std::optional<Kind> last() const {
    for (auto action = actions.rbegin(); action != actions.rend(); ++action) {
      if (const Kind* found = std::get_if<Kind>(&*action)) return *found;
    }
    return std::nullopt;
  }
  Accusation accusation() const {
    const auto lost = last<Lost>();
    return lost ? lost->accusation : Accusation{};
  }
};

}  // namespace sluice::supervisor
