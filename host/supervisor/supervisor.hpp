// The supervisor core of one job: when a worker is started, judged, killed, buried and started
// again (design: sdk.md "Supervision design", slicer.md F1, F2, F4, F7; ipc facts 3.6).
//
// A pure state machine like the slicer: events in, actions out, no process, no clock. The spawner
// (same folder, its own library) does what the actions say. One thread.
//
// States of a slot: SPAWNING -> LOADING -> READY -> RUNNING -> DRAINING -> EXITED | CRASHED | HUNG
// -> KILLED -> REAPED -> SPAWNING ... Only the reap lets anything of the worker go to somebody
// else: Lost is said after it and never before, so that no zombie can still write.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/random.hpp"
#include "host/slicer/accusation.hpp"
#include "host/slicer/topic_partition.hpp"
#include "host/supervisor/exit_status.hpp"
#include "host/supervisor/stall.hpp"
#include "ipc/crash_note.hpp"
#include "ipc/pulse.hpp"

namespace sluice::supervisor {

struct Ending;  // judgement.hpp

using slicer::Accusation;
using slicer::LossCause;
using slicer::Slot;

struct SupervisorOptions {
  std::uint32_t slots = 1;
  std::uint64_t first_incarnation = 1;  ///< counts up from here, one for each spawn, never reused
  Milliseconds call_timeout{60'000};    ///< task.call.timeout.ms, per plugin call (F7)
  Milliseconds stop_timeout{30'000};    ///< task.stop.timeout.ms, for STOP and a whole drain
  Milliseconds loop_timeout{10'000};  ///< a worker's loop must turn (FETCH, WAIT, or work in hand)
  Milliseconds load_timeout{60'000};  ///< from spawn to the first pulse (dlopen, descriptors)
  Milliseconds abort_grace{100};      ///< SIGABRT to SIGKILL: time for the crash note
  Milliseconds blocked_after{2'000};  ///< killed but not reaped: shown as BLOCKED (D state)
  Milliseconds host_stall{1'000};     ///< a tick gap above this resets all deadlines
  Milliseconds backoff{200};          ///< respawn; doubles, jittered
  Milliseconds backoff_max{60'000};
  Milliseconds healthy_after{600'000};  ///< READY that long: the back-off begins anew
  std::uint64_t memory_bytes_max = 0;   ///< worker.memory.max; 0: none
};

enum class WorkerState : std::uint8_t {
  Empty,     ///< not started: before start(), after drain(), or a slot that was taken away
  Waiting,   ///< reaped, back-off before the next spawn
  Spawning,  ///< asked for, no process yet
  Loading,   ///< a process, not READY yet
  Ready,     ///< READY, has not been seen working
  Running,
  Draining,  ///< told to stop
  Crashed,   ///< crash note is there, not reaped
  Hung,      ///< over a deadline: SIGABRT sent
  Killed,    ///< SIGKILL sent
  Blocked,   ///< killed long ago and still not reaped: its slices stay fenced
};
std::string_view worker_state_name(WorkerState state);

/// Whether the host has slices in this worker's ring: an idle loop may sleep, a loaded one may not.
enum class Workload : std::uint8_t { None, InFlight };

/// What the worker that has gone was doing. Parts of an isolated slice are run to see which of them
/// kills: their deaths start no back-off (F3.1).
enum class LastTask : std::uint8_t { Work, IsolatedPart };

/// Whether brokers answer: a hang while they do not blames nobody (F2).
enum class KafkaState : std::uint8_t { Answering, Away };

// --- Actions
// ---------------------------------------------------------------------------------------
struct Spawn {
  Slot slot = 0;
  std::uint64_t incarnation = 0;
};
/// Send the STOP command through the worker's ring.
struct Stop {
  Slot slot = 0;
  std::uint64_t incarnation = 0;
};
struct Signal {
  Slot slot = 0;
  std::uint64_t incarnation = 0;
  int number = 0;
  std::string why;
};
/// The worker is reaped. Drain its report ring once more, then tell the slicer.
struct Lost {
  Slot slot = 0;
  std::uint64_t incarnation = 0;
  Accusation accusation;
  std::int32_t pid = 0;  ///< 0: never ran
};
/// A worker says that the configuration is wrong (exit 78): no restart.
struct JobFailed {
  std::string reason;
};
/// After drain(): every worker is reaped.
struct Drained {};

using Action = std::variant<Spawn, Stop, Signal, Lost, JobFailed, Drained>;

struct SlotStatus {
  Slot slot = 0;
  WorkerState state = WorkerState::Empty;
  std::uint64_t incarnation = 0;
  std::int32_t pid = 0;
  std::uint32_t restarts = 0;         ///< spawns after the first
  std::uint32_t losses_in_a_row = 0;  ///< since it was last healthy
  /// Never Stopped: an end that was asked for is no loss.
  std::optional<Accusation> last_loss;
  Milliseconds since{0};  ///< when it entered this state
  std::optional<Milliseconds> respawn_at;
  std::uint64_t rss_bytes = 0;
  ipc::Phase phase = ipc::Phase::Idle;  ///< by its pulse
  /// Since when it has work in hand and shows nothing new: the same call, or a loop that does not
  /// turn. Nothing: idle, or not judged by its pulse (any more).
  std::optional<Milliseconds> still_since;
};

class Supervisor {
 public:
  Supervisor(const SupervisorOptions& options, Random random);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // --- Events. Each may append to `actions`, which is carried out in order. Late events of an
  // --- incarnation that is no longer the slot's are ignored.
  void start(Milliseconds now, std::vector<Action>& actions);
  void spawned(Slot slot, std::uint64_t incarnation, std::int32_t pid, Milliseconds now);
  void spawn_failed(Slot slot, std::uint64_t incarnation, std::string why, Milliseconds now,
                    std::vector<Action>& actions);
  void ready(Slot slot, std::uint64_t incarnation, Milliseconds now);
  /// The worker's pulse, whenever the host looks (before every tick).
  void pulse(Slot slot, std::uint64_t incarnation, const ipc::Pulse& pulse, Workload workload,
             Milliseconds now);
  /// The doorbell brought a crash note: the replacement's back-off begins now, the rest at the
  /// reap.
  void crash_noted(Slot slot, std::uint64_t incarnation, const ipc::CrashNote& note,
                   Milliseconds now);
  /// waitid returned: the process is gone. Read its crash note and its pulse again before.
  void exited(Slot slot, std::uint64_t incarnation, ExitStatus status, LastTask task,
              Milliseconds now, std::vector<Action>& actions);
  /// Another process in its place: STOP, and a spawn without back-off when it is reaped.
  void refresh(Slot slot, std::uint64_t incarnation, Milliseconds now,
               std::vector<Action>& actions);
  /// Wrote garbage (HostChannel::drain or slicer::Violation): killed at once.
  void violation(Slot slot, std::uint64_t incarnation, std::string rule, Milliseconds now,
                 std::vector<Action>& actions);
  void memory(Slot slot, std::uint64_t incarnation, std::uint64_t rss_bytes, Milliseconds now,
              std::vector<Action>& actions);
  /// What the process looks like from outside, before each tick: nobody can tell once it is killed.
  void stall(Slot slot, std::uint64_t incarnation, Stall stall);
  void kafka(KafkaState state);
  /// The host knows that it was not running (SIGCONT, suspend); tick() also sees it by itself.
  void host_stalled(Milliseconds now);
  void set_slots(std::uint32_t slots, Milliseconds now, std::vector<Action>& actions);
  /// STOP to all, SIGABRT and SIGKILL to those that are not gone in time, then Drained.
  void drain(Milliseconds now, std::vector<Action>& actions);
  /// Deadlines and respawns; every 100 ms, and at next_due().
  void tick(Milliseconds now, std::vector<Action>& actions);
  /// When tick() has something to do, if no event comes before; nothing: it has not.
  std::optional<Milliseconds> next_due() const;

  // --- Status
  std::vector<SlotStatus> status() const;
  const SlotStatus& status(Slot slot) const;

 private:
  struct Worker;

  std::vector<Worker> workers_;
  SupervisorOptions options_;
  Random random_;
  KafkaState kafka_ = KafkaState::Answering;
  std::uint64_t next_incarnation_;
  std::optional<Milliseconds> last_tick_;
  bool started_ = false;
  bool draining_ = false;
  bool drained_said_ = false;
  bool failed_ = false;

  Worker* find(Slot slot, std::uint64_t incarnation);
  void spawn(Worker& worker, Milliseconds now, std::vector<Action>& actions);
  void bury(Worker& worker, Accusation accusation, LastTask task, Milliseconds now,
            std::vector<Action>& actions);
  Milliseconds backoff(std::uint32_t losses);
  void end(Worker& worker, Ending ending, Milliseconds now, std::vector<Action>& actions);
  void tick(Worker& worker, Milliseconds now, std::vector<Action>& actions);
  void send_stop(Worker& worker, Milliseconds now, std::vector<Action>& actions);
  void let_go(Worker& worker, Milliseconds now, std::vector<Action>& actions);
  void say_drained(std::vector<Action>& actions);
};

}  // namespace sluice::supervisor
