#include "host/supervisor/supervisor.hpp"

#include <signal.h>

#include <algorithm>
#include <string>
#include <utility>

#include "host/base/assert.hpp"
#include "host/supervisor/judgement.hpp"

namespace sluice::supervisor {

struct Supervisor::Worker {
  SlotStatus shown;
  bool wanted = false;  ///< respawned after a loss
  bool stop_sent = false;
  bool refreshing = false;  ///< stopped only to be started again
  Workload workload = Workload::None;
  std::optional<ipc::Pulse> pulse;
  Milliseconds looked_at{0};   ///< at its pulse
  Milliseconds call_since{0};  ///< phase, slice, offset, call or keep_alive changed last
  Milliseconds loop_since{0};  ///< the loop turned last
  Milliseconds stop_since{0};
  Milliseconds ready_since{0};
  bool was_ready = false;
  std::optional<ipc::CrashNote> note;
  std::optional<Milliseconds> noted_at;
  std::optional<Ending> ending;         ///< why we end it
  std::optional<Stall> stall;           ///< what the process looked like last
  std::optional<Milliseconds> kill_at;  ///< SIGKILL after SIGABRT

  bool alive() const {
    return shown.state != WorkerState::Empty && shown.state != WorkerState::Waiting;
  }
  bool judged() const {
    return shown.state == WorkerState::Loading || shown.state == WorkerState::Ready ||
           shown.state == WorkerState::Running || shown.state == WorkerState::Draining;
  }
  void enter(WorkerState state, Milliseconds now) {
    if (shown.state == state) return;
    shown.state = state;
    shown.since = now;
  }
  void reset_deadlines(Milliseconds now) {
    call_since = loop_since = now;
    if (stop_sent) stop_since = now;
  }
  Deadlines deadlines() const { return {call_since, loop_since, stop_since}; }
  std::optional<Milliseconds> next_due(const SupervisorOptions& options) const;
  SlotStatus seen() const;
};

/// As people see it: with what its pulse says, which overdue() (judgement.cpp) judges.
SlotStatus Supervisor::Worker::seen() const {
  SlotStatus status = shown;
  if (!judged() || !pulse) return status;
  status.phase = pulse->phase;
  const bool loop_only = pulse->phase == ipc::Phase::Idle || pulse->phase == ipc::Phase::Fetch ||
                         pulse->phase == ipc::Phase::Wait;
  const bool resting = pulse->phase == ipc::Phase::Idle && workload == Workload::None;
  if (!resting) status.still_since = loop_only ? loop_since : call_since;
  return status;
}

Supervisor::Supervisor(const SupervisorOptions& options, Random random)
    : workers_(options.slots),
      options_{options},
      random_{random},
      next_incarnation_{options.first_incarnation} {
  SLUICE_ASSERT(options.slots > 0 && options.first_incarnation > 0);
  for (Slot slot = 0; slot < workers_.size(); ++slot) workers_[slot].shown.slot = slot;
}

Supervisor::~Supervisor() = default;

Supervisor::Worker* Supervisor::find(Slot slot, std::uint64_t incarnation) {
  if (slot >= workers_.size()) return nullptr;
  Worker& worker = workers_[slot];
  return worker.alive() && worker.shown.incarnation == incarnation ? &worker : nullptr;
}

void Supervisor::spawn(Worker& worker, Milliseconds now, std::vector<Action>& actions) {
  const SlotStatus before = worker.shown;
  worker = Worker{};
  worker.wanted = true;
  worker.shown = before;
  worker.shown.pid = 0;
  worker.shown.rss_bytes = 0;
  worker.shown.respawn_at.reset();
  if (before.incarnation != 0) ++worker.shown.restarts;
  worker.shown.incarnation = next_incarnation_++;
  worker.enter(WorkerState::Spawning, now);
  worker.reset_deadlines(now);
  worker.looked_at = now;
  actions.emplace_back(Spawn{worker.shown.slot, worker.shown.incarnation});
}

void Supervisor::start(Milliseconds now, std::vector<Action>& actions) {
  SLUICE_ASSERT(!started_);
  started_ = true;
  last_tick_ = now;
  for (Worker& worker : workers_) spawn(worker, now, actions);
}

void Supervisor::spawned(Slot slot, std::uint64_t incarnation, std::int32_t pid, Milliseconds now) {
  Worker* worker = find(slot, incarnation);
  if (worker == nullptr || worker->shown.state != WorkerState::Spawning) return;
  worker->shown.pid = pid;
  worker->reset_deadlines(now);
  worker->enter(WorkerState::Loading, now);
}

void Supervisor::spawn_failed(Slot slot, std::uint64_t incarnation, std::string why,
                              Milliseconds now, std::vector<Action>& actions) {
  Worker* worker = find(slot, incarnation);
  if (worker == nullptr || worker->shown.state != WorkerState::Spawning) return;
  Accusation accusation;
  accusation.cause = LossCause::SpawnFailed;
  accusation.text = std::move(why);
  bury(*worker, std::move(accusation), LastTask::Work, now, actions);
}

void Supervisor::ready(Slot slot, std::uint64_t incarnation, Milliseconds now) {
  Worker* worker = find(slot, incarnation);
  if (worker == nullptr || worker->was_ready) return;
  worker->was_ready = true;
  worker->ready_since = now;
  worker->reset_deadlines(now);
  if (worker->shown.state == WorkerState::Loading) worker->enter(WorkerState::Ready, now);
}

void Supervisor::pulse(Slot slot, std::uint64_t incarnation, const ipc::Pulse& pulse,
                       Workload workload, Milliseconds now) {
  Worker* worker = find(slot, incarnation);
  if (worker == nullptr || !worker->judged()) return;
  // An idle loop may sleep for ever; what counts is how long it has slept since it got work.
  if (worker->workload == Workload::None && workload == Workload::InFlight) {
    worker->loop_since = now;
  }
  worker->workload = workload;
  if (!worker->pulse || worker->pulse->loops != pulse.loops) worker->loop_since = now;
  if (!worker->pulse || !same_call(*worker->pulse, pulse)) {
    worker->call_since = call_began(pulse, worker->looked_at, now);
  }
  worker->looked_at = now;
  worker->pulse = pulse;
  if (worker->shown.state == WorkerState::Ready && pulse.phase != ipc::Phase::Idle) {
    worker->enter(WorkerState::Running, now);
  }
}

void Supervisor::crash_noted(Slot slot, std::uint64_t incarnation, const ipc::CrashNote& note,
                             Milliseconds now) {
  Worker* worker = find(slot, incarnation);
  if (worker == nullptr) return;
  worker->note = note;
  if (!worker->noted_at) worker->noted_at = now;
  if (worker->judged()) worker->enter(WorkerState::Crashed, now);
}

void Supervisor::exited(Slot slot, std::uint64_t incarnation, ExitStatus status, LastTask task,
                        Milliseconds now, std::vector<Action>& actions) {
  Worker* worker = find(slot, incarnation);
  if (worker == nullptr) return;
  LastWords words;
  words.status = status;
  words.pid = worker->shown.pid;
  words.pulse = worker->pulse;
  words.note = worker->note;
  words.ending = worker->ending;
  words.asked_to_stop = worker->stop_sent;
  words.kafka = kafka_;
  Accusation accusation = judge(words);
  // A worker leaves with this code between calls; in one it is the plugin that ended the process.
  const bool configuration = status.kind == ExitStatus::Kind::Exited &&
                             status.code == kExitConfiguration && !in_plugin(accusation.phase);
  if (configuration && !failed_) {
    failed_ = true;
    actions.emplace_back(
        JobFailed{"worker " + std::to_string(slot) + " refused its configuration (exit code 78)"});
  }
  bury(*worker, std::move(accusation), task, now, actions);
}

void Supervisor::refresh(Slot slot, std::uint64_t incarnation, Milliseconds now,
                         std::vector<Action>& actions) {
  Worker* worker = find(slot, incarnation);
  if (worker == nullptr || !worker->judged() || worker->stop_sent) return;
  worker->refreshing = true;
  send_stop(*worker, now, actions);
}

/// Reaped: only now may anything of it go to others.
void Supervisor::bury(Worker& worker, Accusation accusation, LastTask task, Milliseconds now,
                      std::vector<Action>& actions) {
  SlotStatus& shown = worker.shown;
  const bool healthy = worker.was_ready && now - worker.ready_since >= options_.healthy_after;
  if (healthy || accusation.cause == LossCause::Stopped) shown.losses_in_a_row = 0;
  const bool as_planned = task == LastTask::IsolatedPart ||
                          (worker.refreshing && accusation.cause == LossCause::Stopped);
  if (accusation.cause != LossCause::Stopped && !as_planned) ++shown.losses_in_a_row;
  // A stop that was asked for is no loss, and must not hide the one that led to it (F3).
  if (accusation.cause != LossCause::Stopped) shown.last_loss = accusation;
  worker.kill_at.reset();
  actions.emplace_back(
      Lost{shown.slot, shown.incarnation, std::move(accusation), std::exchange(shown.pid, 0)});
  if (!worker.wanted || draining_ || failed_) {
    worker.enter(WorkerState::Empty, now);
    shown.respawn_at.reset();
    return say_drained(actions);
  }
  worker.enter(WorkerState::Waiting, now);
  if (as_planned) {
    shown.respawn_at = now;
    return spawn(worker, now, actions);
  }
  const Milliseconds from = worker.noted_at.value_or(now);
  shown.respawn_at = std::max(now, from + backoff(shown.losses_in_a_row));
}

/// 0.2 s doubling to a minute, plus up to a quarter by chance, so that slots which died together do
/// not come back together. Of each slot: one that is killed again and again does not hold back the
/// respawn of its neighbours.
Milliseconds Supervisor::backoff(std::uint32_t losses) {
  if (losses == 0) return Milliseconds{0};
  const std::uint32_t doublings = std::min<std::uint32_t>(losses - 1, 20);
  const std::int64_t delay_ms =
      std::min(options_.backoff.count() << doublings, options_.backoff_max.count());
  const auto quarter = static_cast<std::uint64_t>(delay_ms / 4);
  return Milliseconds{delay_ms + static_cast<std::int64_t>(random_.below(quarter + 1))};
}

void Supervisor::end(Worker& worker, Ending ending, Milliseconds now,
                     std::vector<Action>& actions) {
  if (worker.ending || worker.shown.state == WorkerState::Spawning) return;
  const bool gently = ending.cause == LossCause::Hang || ending.cause == LossCause::StopTimeout;
  const SlotStatus& shown = worker.shown;
  if (gently && worker.stall) {
    ending.stall = worker.stall;
    ending.text += ", the process is " + std::string{stall_name(*worker.stall)};
  }
  actions.emplace_back(
      Signal{shown.slot, shown.incarnation, gently ? SIGABRT : SIGKILL, ending.text});
  worker.ending = std::move(ending);
  if (gently) worker.kill_at = now + options_.abort_grace;
  worker.enter(gently ? WorkerState::Hung : WorkerState::Killed, now);
}

void Supervisor::violation(Slot slot, std::uint64_t incarnation, std::string rule, Milliseconds now,
                           std::vector<Action>& actions) {
  Worker* worker = find(slot, incarnation);
  if (worker == nullptr) return;
  end(*worker, {LossCause::Violation, "broke rule " + rule}, now, actions);
}

void Supervisor::memory(Slot slot, std::uint64_t incarnation, std::uint64_t rss_bytes,
                        Milliseconds now, std::vector<Action>& actions) {
  Worker* worker = find(slot, incarnation);
  if (worker == nullptr) return;
  worker->shown.rss_bytes = rss_bytes;
  if (options_.memory_bytes_max == 0 || rss_bytes <= options_.memory_bytes_max) return;
  end(*worker,
      {LossCause::Memory, "uses " + std::to_string(rss_bytes) + " bytes, worker.memory.max is " +
                              std::to_string(options_.memory_bytes_max)},
      now, actions);
}

void Supervisor::stall(Slot slot, std::uint64_t incarnation, Stall stall) {
  Worker* worker = find(slot, incarnation);
  if (worker != nullptr) worker->stall = stall;
}

void Supervisor::kafka(KafkaState state) {
  kafka_ = state;
}

void Supervisor::host_stalled(Milliseconds now) {
  last_tick_ = now;
  for (Worker& worker : workers_) {
    if (worker.judged()) worker.reset_deadlines(now);
  }
}

void Supervisor::tick(Milliseconds now, std::vector<Action>& actions) {
  if (!started_) return;
  // One hiccup of the host must not kill every worker (ipc facts 3.6).
  if (now - last_tick_.value_or(now) > options_.host_stall) host_stalled(now);
  last_tick_ = now;
  for (Worker& worker : workers_) tick(worker, now, actions);
}

void Supervisor::tick(Worker& worker, Milliseconds now, std::vector<Action>& actions) {
  SlotStatus& shown = worker.shown;
  if (shown.state == WorkerState::Waiting && *shown.respawn_at <= now) {
    return spawn(worker, now, actions);
  }
  if (worker.judged()) {
    if ((draining_ || !worker.wanted) && !worker.stop_sent) send_stop(worker, now, actions);
    const auto ending =
        overdue(worker.pulse, worker.workload, worker.stop_sent, worker.deadlines(), options_, now);
    if (ending) end(worker, *ending, now, actions);
    if (worker.was_ready && now - worker.ready_since >= options_.healthy_after) {
      shown.losses_in_a_row = 0;
    }
    return;
  }
  if (worker.kill_at && *worker.kill_at <= now) {
    worker.kill_at.reset();
    actions.emplace_back(Signal{shown.slot, shown.incarnation, SIGKILL, worker.ending->text});
    worker.enter(WorkerState::Killed, now);
  } else if (shown.state == WorkerState::Killed && now - shown.since >= options_.blocked_after) {
    worker.enter(WorkerState::Blocked, now);
  }
}

std::optional<Milliseconds> Supervisor::Worker::next_due(const SupervisorOptions& options) const {
  if (shown.state == WorkerState::Waiting) return shown.respawn_at;
  return judged() ? due_at(pulse, workload, stop_sent, deadlines(), options) : kill_at;
}

std::optional<Milliseconds> Supervisor::next_due() const {
  std::optional<Milliseconds> next;
  for (const Worker& worker : workers_) {
    const auto due = worker.next_due(options_);
    if (due) next = std::min(next.value_or(*due), *due);
  }
  return next;
}

void Supervisor::send_stop(Worker& worker, Milliseconds now, std::vector<Action>& actions) {
  worker.stop_sent = true;
  worker.stop_since = now;
  worker.enter(WorkerState::Draining, now);
  actions.emplace_back(Stop{worker.shown.slot, worker.shown.incarnation});
}

void Supervisor::let_go(Worker& worker, Milliseconds now, std::vector<Action>& actions) {
  if (worker.judged() && !worker.stop_sent) send_stop(worker, now, actions);
  if (!worker.alive()) {
    worker.enter(WorkerState::Empty, now);
    worker.shown.respawn_at.reset();
  }
}

void Supervisor::set_slots(std::uint32_t slots, Milliseconds now, std::vector<Action>& actions) {
  SLUICE_ASSERT(slots > 0);
  const auto before = static_cast<Slot>(workers_.size());
  if (slots > before) workers_.resize(slots);
  for (Slot slot = 0; slot < workers_.size(); ++slot) {
    Worker& worker = workers_[slot];
    worker.shown.slot = slot;
    const bool wanted = slot < slots;
    if (!wanted) {
      worker.wanted = false;
      let_go(worker, now, actions);
    } else if (started_ && !draining_ && !failed_) {
      worker.wanted = true;  // one that is still leaving is started again when it has left
      if (worker.shown.state == WorkerState::Empty) spawn(worker, now, actions);
    }
  }
}

void Supervisor::drain(Milliseconds now, std::vector<Action>& actions) {
  if (draining_) return;
  draining_ = true;
  for (Worker& worker : workers_) let_go(worker, now, actions);
  say_drained(actions);
}

void Supervisor::say_drained(std::vector<Action>& actions) {
  if (!draining_ || drained_said_) return;
  for (const Worker& worker : workers_) {
    if (worker.alive()) return;
  }
  drained_said_ = true;
  actions.emplace_back(Drained{});
}

std::vector<SlotStatus> Supervisor::status() const {
  std::vector<SlotStatus> all;
  all.reserve(workers_.size());
  for (const Worker& worker : workers_) all.push_back(worker.seen());
  return all;
}

const SlotStatus& Supervisor::status(Slot slot) const {
  SLUICE_ASSERT(slot < workers_.size(), slot);
  return workers_[slot].shown;
}

}  // namespace sluice::supervisor
