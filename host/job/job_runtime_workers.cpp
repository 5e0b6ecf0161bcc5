// JobRuntime's worker processes: what they report and how they end, the pulses and memory that the
// supervisor judges them by, and what it wants done with them.
#include <algorithm>
#include <csignal>
#include <utility>

#include "host/job/accused_plugin.hpp"
#include "host/job/job_runtime.hpp"
#include "host/job/notice_log.hpp"
#include "host/job/worker_setup.hpp"
#include "ipc/failure_text.hpp"

namespace sluice::job {

WorkerLink* JobRuntime::link(std::uint32_t slot, std::uint64_t incarnation) {
  if (slot >= links_.size() || !links_[slot]) return nullptr;
  return links_[slot]->incarnation() == incarnation ? links_[slot].get() : nullptr;
}

void JobRuntime::reported(std::uint32_t slot, std::uint64_t incarnation,
                          const ipc::ReceivedReport& received) {
  const auto kind = static_cast<ipc::ReportKind>(received.report.kind);
  const bool of_chain = received.report.slice_id == 0;
  if (of_chain && (kind == ipc::ReportKind::Failed || kind == ipc::ReportKind::Waiting)) {
    return chain_reported(slot, received);
  }
  if (kind == ipc::ReportKind::Ready) {
    const auto pid = links_[slot]->pid();
    chain_problems_.erase(slot);
    supervisor_->ready(slot, incarnation, now());
    slicer_->worker_ready(slot, {incarnation, pid}, now());
    if (observer_) observer_->worker_ready(slot, pid);
  }
  slicer_->report(slot, incarnation, received.report, received.text, now());
  if (observer_) observer_->reported(slot, received.report);
}

// The plugins as a whole, before there is a slice: they wait for their outside world, or cannot
// start.
void JobRuntime::chain_reported(std::uint32_t slot, const ipc::ReceivedReport& received) {
  const auto text = ipc::decode_failure_text(received.text);
  const auto problem = (text.plugin.empty() ? std::string{} : text.plugin + ": ") + text.message;
  const auto failure = static_cast<ipc::FailureClass>(received.report.failure);
  if (failure == ipc::FailureClass::Configuration) return fail(ErrorCode::Configuration, problem);
  chain_problems_[slot] = problem;
  log_.with_worker(slot).limited(log::Level::Warning, "chain." + std::to_string(slot), problem);
}

std::size_t JobRuntime::reports_drained(std::uint32_t slot) {
  decide();
  return slicer_->in_flight(slot);
}

void JobRuntime::violated(std::uint32_t slot, std::uint64_t incarnation, const std::string& rule) {
  std::vector<supervisor::Action> actions;
  supervisor_->violation(slot, incarnation, rule, now(), actions);
  supervise(actions);
}

void JobRuntime::crash_noted(std::uint32_t slot, std::uint64_t incarnation,
                             const ipc::CrashNote& note) {
  supervisor_->crash_noted(slot, incarnation, note, now());
}

void JobRuntime::exited(std::uint32_t slot, std::uint64_t incarnation,
                        const supervisor::ReapedWorker& reaped) {
  std::vector<supervisor::Action> actions;
  const auto task =
      slicer_->isolating(slot) ? supervisor::LastTask::IsolatedPart : supervisor::LastTask::Work;
  // One that left no crash note (exit, SIGKILL) accuses by its pulse alone, and the one of the last
  // tick may be of before it had the slice.
  pass_pulse(*links_[slot]);
  supervisor_->exited(slot, incarnation, reaped.status, task, now(), actions);
  // The link was drained before it told us; its descriptors go now, but not under its own feet.
  services_.loop.post([dead = std::shared_ptr<WorkerLink>(std::move(links_[slot]))] {});
  supervise(actions);
  decide();
}

// --- Time --------------------------------------------------------------------------------------

void JobRuntime::tick() {
  for (const auto& worker : links_) {
    if (worker) worker->tick();
  }
  pass_pulses();
  std::vector<supervisor::Action> actions;
  sample_processes(actions);
  supervisor_->tick(now(), actions);
  supervise(actions);
  arm_supervisor();
  committer_->tick();
  decide();
}

/// What is due before the next tick does not wait for it: a deadline, SIGKILL after SIGABRT, a
/// respawn.
void JobRuntime::arm_supervisor() {
  due_watch_.reset();
  const auto due = supervisor_->next_due();
  if (!due || *due > now() + kTickPeriod) return;
  due_watch_ = services_.loop.after(std::max(Milliseconds{1}, *due - now()), [this] {
    pass_pulses();
    std::vector<supervisor::Action> actions;
    supervisor_->tick(now(), actions);
    supervise(actions);
    arm_supervisor();
  });
}

void JobRuntime::pass_pulses() {
  supervisor_->kafka(kafka_problem_.empty() ? supervisor::KafkaState::Answering
                                            : supervisor::KafkaState::Away);
  for (const auto& worker : links_) {
    if (worker) pass_pulse(*worker);
  }
}

void JobRuntime::pass_pulse(WorkerLink& worker) {
  const auto workload = slicer_->in_flight(worker.slot()) > 0 ? supervisor::Workload::InFlight
                                                              : supervisor::Workload::None;
  supervisor_->pulse(worker.slot(), worker.incarnation(), worker.pulse(), workload, now());
}

/// 15 us a worker and tick. One that is gone meanwhile is the reaper's business.
void JobRuntime::sample_processes(std::vector<supervisor::Action>& actions) {
  for (const auto& worker : links_) {
    if (!worker) continue;
    const auto sample = supervisor::sample_process(worker->pid());
    if (!sample) continue;
    const auto slot = worker->slot();
    if (const auto before = samples_.find(slot); before != samples_.end()) {
      supervisor_->stall(slot, worker->incarnation(),
                         supervisor::classify_stall(before->second, *sample));
    }
    samples_.insert_or_assign(slot, *sample);
    supervisor_->memory(slot, worker->incarnation(), sample->rss_bytes, now(), actions);
  }
}

void JobRuntime::refresh(const slicer::FreshWorker& worker) {
  std::vector<supervisor::Action> actions;
  supervisor_->refresh(worker.slot, worker.incarnation, now(), actions);
  supervise(actions);
}

void JobRuntime::supervise(const std::vector<supervisor::Action>& actions) {
  for (const auto& action : actions) {
    std::visit([this](const auto& one) { carry_out(one); }, action);
  }
}

void JobRuntime::carry_out(const supervisor::Spawn& spawn) {
  WorkerLinkOptions options;
  options.executable = services_.worker_executable;
  options.executable_fd = services_.worker_executable_fd;
  options.title = "sluice-worker: " + plan_.config.name + "/" + std::to_string(spawn.slot);
  options.slot = spawn.slot;
  options.incarnation = spawn.incarnation;
  options.host_alive = services_.host_alive;
  options.state_lock = services_.state_lock;
  options.start_parameters =
      worker::encode(start_parameters(plan_.config, topics_, plan_.plugins, services_.kafka,
                                      stored_.execution.number, spawn.slot, spawn.incarnation));
  samples_.erase(spawn.slot);
  auto spawned = WorkerLink::spawn(options, services_.loop, log_.with_worker(spawn.slot), *this);
  if (spawned) {
    links_[spawn.slot] = *std::move(spawned);
    supervisor_->spawned(spawn.slot, spawn.incarnation, links_[spawn.slot]->pid(), now());
    return;
  }
  log_.with_worker(spawn.slot).error(spawned.error().message());
  std::vector<supervisor::Action> actions;
  supervisor_->spawn_failed(spawn.slot, spawn.incarnation, spawned.error().message(), now(),
                            actions);
  supervise(actions);
}

void JobRuntime::carry_out(const supervisor::Stop& stop) {
  auto* const worker = link(stop.slot, stop.incarnation);
  if (worker == nullptr) return;
  ipc::Command command;
  command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Stop);
  const auto published = worker->publish({&command, 1});
  if (!published) violated(stop.slot, stop.incarnation, "command_ring_full");
}

void JobRuntime::carry_out(const supervisor::Signal& signal) {
  auto* const worker = link(signal.slot, signal.incarnation);
  if (worker == nullptr) return;
  log_.with_worker(signal.slot)
      .warning("signal " + std::to_string(signal.number) + " to pid " +
               std::to_string(worker->pid()) + ": " + signal.why);
  if (const auto sent = worker->signal(signal.number); !sent) {
    log_.with_worker(signal.slot).error(sent.error().message());
  }
}

void JobRuntime::carry_out(const supervisor::Lost& lost) {
  const bool expected = lost.accusation.cause == slicer::LossCause::Stopped;
  if (!expected) {
    ++worker_restarts_;
    log_lost(log_.with_worker(lost.slot), lost, supervisor_->status(lost.slot),
             slicer_->flight(lost.slot, lost.accusation.slice_id), now());
  }
  auto accusation = lost.accusation;
  accusation.plugin = accused_plugin(accusation, plan_.plugins);
  slicer_->worker_lost(lost.slot, lost.incarnation, accusation, now());
  if (observer_ && !expected) observer_->worker_lost(lost.slot, accusation);
}

void JobRuntime::carry_out(const supervisor::JobFailed& failed) {
  fail(ErrorCode::Configuration, failed.reason);
}

void JobRuntime::carry_out(const supervisor::Drained&) {
  drained_ = true;
  finish_if_done();
}

}  // namespace sluice::job
