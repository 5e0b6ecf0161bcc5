#include "sim/sim_host.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "sim/world.hpp"

namespace sluice::sim {
namespace {

slicer::SlicerOptions options_for(const World& world, std::uint32_t slots) {
  slicer::SlicerOptions options = world.scenario().slicer;
  options.slots = slots;
  options.next_slice_id = world.disk().next_slice_id;
  options.gaps_before = world.disk().gaps_left();
  options.workers_first = world.disk().first_count({}, 0);
  if (world.sabotaged(Sabotage::StayAway)) options.rebalance_delay = Milliseconds{1'000'000'000};
  if (world.sabotaged(Sabotage::IgnoreCredit)) {
    options.credit_slices *= 2;
    options.credit_records *= 2;
  }
  return options;
}

supervisor::SupervisorOptions supervision(const World& world, std::uint64_t first_incarnation,
                                          std::uint32_t slots) {
  supervisor::SupervisorOptions options = world.scenario().supervisor;
  options.slots = slots + world.scenario().slicer.standby;
  options.first_incarnation = first_incarnation;
  return options;
}

}  // namespace

SimHost::SimHost(World& world, std::uint64_t seed, std::uint64_t first_incarnation,
                 std::uint32_t slots)
    : world_{&world},
      slicer_{std::make_unique<slicer::Slicer>(options_for(world, slots), Random{seed})},
      supervisor_{supervision(world, first_incarnation, slots), Random{seed + 1}},
      next_incarnation_{first_incarnation},
      slots_{slots} {
  for (const auto& [partition, row] : world.disk().partitions) {
    topic_incarnation_ = std::max(topic_incarnation_, row.topic_incarnation);
  }
  slicer_->add_topic(0, "orders", topic_incarnation_, 0,
                     world.disk().first_count("orders", topic_incarnation_));
}

Milliseconds SimHost::now() const {
  return world_->now();
}

void SimHost::start() {
  std::vector<supervisor::Action> actions;
  supervisor_.start(now(), actions);
  carry_out(std::move(actions));
  world_->after(world_->chance(5 * kMillisecond), *this, [this] { discover(); });
  world_->after(100 * kMillisecond, *this, [this] { tick(); });
}

void SimHost::discover() {
  was_absent_ = was_absent_ || world_->broker().absent();
  if (world_->broker().away() || world_->broker().absent()) {
    return world_->after(100 * kMillisecond, *this, [this] { discover(); });
  }
  for (std::int32_t partition = 0; partition < world_->broker().count(); ++partition) {
    find_partition(partition);
  }
  discovered_ = true;
  const std::uint32_t partitions = world_->disk().first_count("orders", topic_incarnation_);
  const std::uint32_t workers = world_->disk().first_count({}, 0);
  world_->checkers().hashing_begins(
      partitions > 0 ? partitions : static_cast<std::uint32_t>(world_->broker().count()),
      workers > 0 ? workers : slots_);
  slicer_->discovery_done(now());
  settle();
  if (world_->scenario().slicer.mode == slicer::Mode::Persistent) look_at_topic();
}

void SimHost::look_at_topic() {
  if (world_->broker().absent()) {
    slicer_->topic_absent(0);
  } else {
    slicer_->topic_present(0, world_->broker().count(), now());
  }
  settle();
  world_->after(kSecond, *this, [this] { look_at_topic(); });
}

void SimHost::find_partition(std::int32_t partition) {
  found_ = partition + 1;
  if (discovered_) world_->checkers().appeared(partition, snapshot());
  const BrokerPartition& log = world_->broker().at(partition);
  slicer::FoundPartition found;
  found.tp = {0, partition};
  found.low = log.low;
  found.end = log.end;
  leaders_[partition] = looked_[partition] = log.leader;
  const auto row = world_->disk().partitions.find(partition);
  const bool stored = row != world_->disk().partitions.end();
  if (stored && row->second.topic_incarnation < topic_incarnation_) {
    found.start_offset = log.low;
    found.lowered_from = row->second.frontier;
    if (world_->scenario().slicer.mode == slicer::Mode::Once) found.once_end = log.end;
  } else if (stored) {
    if (was_absent_) found.doubt = slicer::Doubt::WasAbsent;
    found.row = row->second;
    if (!world_->sabotaged(Sabotage::ForgetOpenRows)) {
      found.slices = world_->disk().open_rows(partition);
    }
  } else {
    const bool later = partition >= world_->scenario().partitions;
    found.start_offset = world_->scenario().start_at_latest && !later ? log.end : log.low;
    if (world_->scenario().slicer.mode == slicer::Mode::Once) found.once_end = log.end;
  }
  slicer_->partition_found(std::move(found), now());
}

void SimHost::partition_appeared(std::int32_t partition) {
  if (!discovered_ || stopping_) return;
  if (world_->broker().absent()) {
    return world_->after(kSecond, *this, [this, partition] { partition_appeared(partition); });
  }
  while (found_ <= partition) find_partition(found_);
  settle();
}

void SimHost::tick() {
  std::vector<supervisor::Action> actions;
  for (auto& [slot, process] : processes_) {
    if (process == nullptr || process->gone()) continue;
    const auto workload =
        in_flight_[slot] > 0 ? supervisor::Workload::InFlight : supervisor::Workload::None;
    supervisor_.pulse(slot, process->incarnation(), process->pulse(), workload, now());
    drain(*process);
  }
  supervisor_.tick(now(), actions);
  carry_out(std::move(actions));
  settle();
  world_->after(100 * kMillisecond, *this, [this] { tick(); });
}

void SimHost::spawn(const supervisor::Spawn& spawn) {
  next_incarnation_ = spawn.incarnation + 1;
  in_flight_[spawn.slot] = 0;
  WorkerProcess& process = world_->spawn(spawn.slot, spawn.incarnation);
  processes_[spawn.slot] = &process;
  supervisor_.spawned(spawn.slot, spawn.incarnation, static_cast<int>(spawn.incarnation), now());
}

void SimHost::doorbell(WorkerProcess& process) {
  if (processes_[process.slot()] != &process) return;
  drain(process);
  settle();
}

void SimHost::drain(WorkerProcess& process) {
  while (auto taken = process.take_report()) {
    const auto& [report, text] = *taken;
    const auto kind = static_cast<ipc::ReportKind>(report.kind);
    if (kind == ipc::ReportKind::Ready) {
      supervisor_.ready(process.slot(), process.incarnation(), now());
      world_->checkers().slot_ready(process.slot());
      slicer_->worker_ready(
          process.slot(), {process.incarnation(), static_cast<int>(process.incarnation())}, now());
      continue;
    }
    if (world_->sabotaged(Sabotage::LoseReport) && report.slice_id % 40 == 7) continue;
    const bool answers = kind == ipc::ReportKind::Done || kind == ipc::ReportKind::Released ||
                         kind == ipc::ReportKind::Failed || kind == ipc::ReportKind::Expired ||
                         kind == ipc::ReportKind::Survived;
    if (answers) {
      if (in_flight_[process.slot()] > 0) --in_flight_[process.slot()];
      world_->checkers().answered(process.incarnation(), report.slice_id, report.fence);
      world_->say("report", report.partition, report.slice_id, [&, &report = report] {
        return std::string{report_kind_name(kind)} + " at " + std::to_string(report.next_offset) +
               " fence " + std::to_string(report.fence) + " from " +
               std::to_string(process.slot()) + "." + std::to_string(process.incarnation());
      });
    }
    slicer_->report(process.slot(), process.incarnation(), report, text, now());
  }
}

void SimHost::crash_noted(WorkerProcess& process) {
  if (!process.crash_note()) return;
  supervisor_.crash_noted(process.slot(), process.incarnation(), *process.crash_note(), now());
}

void SimHost::reaped(WorkerProcess& process) {
  crash_noted(process);
  std::vector<supervisor::Action> actions;
  supervisor_.exited(process.slot(), process.incarnation(), *process.exit_status(),
                     slicer_->isolating(process.slot()) ? supervisor::LastTask::IsolatedPart
                                                        : supervisor::LastTask::Work,
                     now(), actions);
  carry_out(std::move(actions));
  settle();
}

void SimHost::lost(const supervisor::Lost& lost) {
  if (processes_[lost.slot] != nullptr) drain(*processes_[lost.slot]);
  in_flight_[lost.slot] = 0;
  slicer::Accusation accusation = lost.accusation;
  if (world_->sabotaged(Sabotage::BlameKills) && accusation.cause == slicer::LossCause::Killed) {
    accusation.blame = slicer::Blame::Record;
  }
  world_->say("lost", -1, accusation.slice_id, [&] {
    return "worker " + std::to_string(lost.slot) + "." + std::to_string(lost.incarnation) + ": " +
           std::string{slicer::loss_cause_name(accusation.cause)} + ", " + accusation.text;
  });
  world_->checkers().slot_lost(lost.slot);
  slicer_->worker_lost(lost.slot, lost.incarnation, accusation, now());
}

void SimHost::carry_out(std::vector<supervisor::Action> actions) {
  for (const supervisor::Action& action : actions) {
    if (const auto* spawned = std::get_if<supervisor::Spawn>(&action)) {
      spawn(*spawned);
    } else if (const auto* stop = std::get_if<supervisor::Stop>(&action)) {
      ipc::Command command;
      command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Stop);
      processes_[stop->slot]->send(command);
    } else if (const auto* signal = std::get_if<supervisor::Signal>(&action)) {
      world_->say("signal", -1, 0, [&] {
        return std::to_string(signal->number) + " to worker " + std::to_string(signal->slot) + "." +
               std::to_string(signal->incarnation) + ": " + signal->why;
      });
      processes_[signal->slot]->signal(signal->number);
      if (world_->sabotaged(Sabotage::ReleaseBeforeReap)) {
        slicer_->worker_lost(signal->slot, signal->incarnation, {}, now());
      }
    } else if (const auto* gone = std::get_if<supervisor::Lost>(&action)) {
      lost(*gone);
    } else if (std::holds_alternative<supervisor::Drained>(action)) {
      drained_ = true;
    }
  }
}

ipc::SliceTerms SimHost::terms_of(const ipc::Command& command) const {
  for (const auto& of : actions_.terms) {
    if (of.slice_id == command.slice_id) return of.terms;
  }
  return {};
}

void SimHost::publish(const slicer::SlotCommands& commands) {
  WorkerProcess& process = *processes_[commands.slot];
  for (const ipc::Command& command : commands.commands) {
    const bool slice = command.kind == static_cast<std::uint16_t>(ipc::CommandKind::Slice);
    world_->say(slice ? "publish" : "revoke", command.partition, command.slice_id, [&] {
      return "[" + std::to_string(command.start) + "," + std::to_string(command.end) +
             ") attempt " + std::to_string(command.attempt) + " fence " +
             std::to_string(command.fence) + " to " + std::to_string(commands.slot) + "." +
             std::to_string(commands.incarnation) +
             ((command.flags & ipc::kAlone) != 0 ? " alone" : "") +
             ((command.flags & ipc::kProbe) != 0 ? " probe" : "") +
             ((command.flags & ipc::kExclude) != 0 ? " without culprits" : "");
    });
    if (slice) {
      world_->checkers().published(commands.incarnation, command, terms_of(command));
      ++in_flight_[commands.slot];
    }
    process.send(command, terms_of(command));
  }
}

void SimHost::carry_out(const slicer::Actions& actions) {
  for (const auto& notice : actions.notices) {
    world_->say("slicer", notice.tp.partition, notice.slice_id,
                [&] { return notice_text(notice); });
    if (notice.kind == slicer::Notice::Kind::Recreated) {
      world_->checkers().begins_anew(notice.tp.partition, static_cast<std::uint32_t>(found_));
    }
    world_->checkers().noticed(notice);
  }
  for (const auto& commands : actions.commands) publish(commands);
  std::vector<supervisor::Action> consequences;
  for (const auto& worker : actions.fresh_workers) {
    world_->say("slicer", -1, 0,
                [&] { return "wants a fresh worker " + std::to_string(worker.slot); });
    supervisor_.refresh(worker.slot, worker.incarnation, now(), consequences);
  }
  for (const auto& violation : actions.violations) {
    const WorkerProcess& accused = *processes_[violation.slot];  // or its successor
    const bool honest = accused.incarnation() == violation.incarnation && accused.honest();
    world_->checkers().violation(violation, honest);
    supervisor_.violation(violation.slot, violation.incarnation,
                          std::string{slicer::rule_name(violation.rule)}, now(), consequences);
  }
  for (const auto tp : actions.sample_ends) sample(tp, false);
  for (const auto tp : actions.sample_lows) sample(tp, true);
  for (const auto& halted : actions.halted) {
    std::int64_t end = halted.offset;
    std::uint64_t incarnation = 0;
    for (const auto& row : slicer_->open_slices()) {
      if (row.id != halted.slice_id) continue;
      end = row.end;
      incarnation = row.worker.incarnation;
    }
    world_->say("slicer", halted.tp.partition, halted.slice_id, [&] {
      return "HALTED at " + std::to_string(halted.offset) + ": " + halted.error.message;
    });
    world_->checkers().halted(halted, halted.offset, end, incarnation);
  }
  if (actions.ended) outcome_ = actions.ended;
  carry_out(std::move(consequences));
}

void SimHost::sample(slicer::TopicPartition tp, bool low) {
  const std::uint32_t failing = world_->troubles().failed_sample_one_in;
  const bool fails = world_->broker().away() || world_->broker().absent() ||
                     (failing > 0 && world_->one_in(failing));
  const std::int64_t delay_us = fails ? 200 * kMillisecond : world_->chance(20 * kMillisecond);
  world_->after(delay_us, *this, [this, tp, low, fails] {
    const BrokerPartition& log = world_->broker().at(tp.partition);
    if (fails || world_->broker().absent()) {
      slicer_->sample_failed(tp, now());
    } else if (low) {
      looked_[tp.partition] = log.leader;
      slicer_->low_observed(tp, log.low, log.end, now());
    } else {
      looked_[tp.partition] = log.leader;
      const bool moved = std::exchange(leaders_[tp.partition], log.leader) != log.leader;
      slicer_->end_observed(tp, log.end,
                            moved ? slicer::LeaderChange::Seen : slicer::LeaderChange::None, now());
    }
    settle();
  });
}

void SimHost::settle() {
  if (dead_) return;
  if (world_->sabotaged(Sabotage::MoveAtWill) && world_->one_in(50) && slots_ > 1) {
    slicer_->set_slots(slots_ - 1, now());
    slicer_->set_slots(slots_, now());
  }
  do {
    slicer_->step(now(), actions_);
    carry_out(actions_);
  } while (!actions_.empty());
  write();
  if (!writing_) {
    for (const auto& [partition, leader] : std::exchange(looked_, {})) {
      world_->log_seen(partition, leader);
    }
  }
  arm();
}

void SimHost::write() {
  if (writing_ || !slicer_->has_changes()) return;
  writing_ = slicer_->take_changes(now());
  if (world_->sabotaged(Sabotage::CommitEarly)) {
    for (const auto& status : slicer_->snapshot(now()).partitions) {
      world_->checkers().committed(status.tp.partition, status.frontier);
    }
  }
  world_->after(100 + world_->chance(world_->troubles().disk_us_max), *this, [this] { written(); });
}

void SimHost::written() {
  state::ChangeSet set = std::move(*writing_);
  writing_.reset();
  const std::uint64_t token = set.token;
  if (world_->sabotaged(Sabotage::ForgetDeletes)) set.slices_deleted.clear();
  world_->store(set);
  if (world_->sabotaged(Sabotage::StaleWrite)) {
    if (stale_) world_->store(*stale_);
    stale_ = set;
  }
  for (const auto& commit : slicer_->persisted(token, now())) {
    world_->checkers().committed(commit.tp.partition, commit.offset);
  }
  settle();
}

/// The loop sleeps until the slicer has something to do by itself.
void SimHost::arm() {
  const auto next = slicer_->next_deadline();
  if (!next || (armed_ && *armed_ <= *next && *armed_ > now())) return;
  armed_ = next;
  const std::int64_t at_us = std::max<std::int64_t>(next->count() * kMillisecond, 0);
  const auto delay_us = std::max<std::int64_t>(kMillisecond, at_us - world_->now_us());
  world_->after(delay_us, *this, [this, arming = ++arming_] {
    if (arming != arming_) return;  // an earlier deadline has come in between
    armed_.reset();
    settle();
  });
}

void SimHost::set_slots(std::uint32_t slots) {
  world_->say("host", -1, 0, [&] { return "slots " + std::to_string(slots); });
  const std::uint32_t standby = world_->scenario().slicer.standby;
  for (std::uint32_t slot = slots + standby; slot < slots_ + standby; ++slot) {
    world_->checkers().expect_moves_from(slot);
  }
  for (std::uint32_t slot = slots_ + standby; slot < slots + standby; ++slot) {
    world_->checkers().expect_moves_to(slot);
  }
  world_->checkers().slots_change(slots_, slots);
  slots_ = slots;
  slicer_->set_slots(slots, now());
  settle();
  std::vector<supervisor::Action> actions;
  supervisor_.set_slots(slots + standby, now(), actions);
  carry_out(std::move(actions));
  settle();
}

void SimHost::restart_halted() {
  for (const auto& status : slicer_->snapshot(now()).partitions) {
    if (status.state == slicer::PartitionState::Halted) outcome_.reset();
  }
  slicer_->restart_halted(now());
  settle();
}

void SimHost::recover() {
  if (!discovered_ || stopping_ || outcome_) return;  // only a running job recovers
  for (std::int32_t partition = 0; partition < found_; ++partition) {
    slicer_->recover({0, partition}, world_->disk().parked_rows(partition), now());
  }
  settle();
}

void SimHost::stop() {
  stopping_ = true;
  slicer_->stop(now());
  settle();
  std::vector<supervisor::Action> actions;
  supervisor_.drain(now(), actions);
  carry_out(std::move(actions));
  settle();
}

void SimHost::crash() {
  dead_ = true;
  if (writing_ && world_->one_in(2)) world_->store(*writing_);
}

bool SimHost::settled() const {
  if (!discovered_ || writing_ || slicer_->has_changes()) return false;
  if (world_->scenario().slicer.mode == slicer::Mode::Once) return outcome_.has_value();
  const slicer::Snapshot snapshot = slicer_->snapshot(now());
  if (static_cast<std::int32_t>(snapshot.partitions.size()) != world_->broker().count()) {
    return false;
  }
  return std::all_of(snapshot.partitions.begin(), snapshot.partitions.end(),
                     [&](const slicer::PartitionStatus& status) {
                       const auto end = world_->broker().at(status.tp.partition).end;
                       const bool waits = status.wait != slicer::WaitReason::None;
                       return status.state == slicer::PartitionState::Halted ||
                              (status.frontier == end && !waits);
                     });
}

slicer::Snapshot SimHost::snapshot() const {
  return slicer_->snapshot(now());
}

}  // namespace sluice::sim
