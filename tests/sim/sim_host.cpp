#include "sim/sim_host.hpp"

#include <algorithm>
#include <variant>

#include "sim/world.hpp"

namespace sluice::sim {
namespace {

slicer::SlicerOptions options_for(const World& world, std::uint32_t slots) {
  slicer::SlicerOptions options = world.scenario().slicer;
  options.slots = slots;
  options.next_slice_id = world.disk().next_slice_id;
  options.gaps_before = world.disk().gaps.size();
  if (world.sabotaged(Sabotage::IgnoreCredit)) {
    options.credit_slices *= 2;
    options.credit_records *= 2;
  }
  return options;
}

supervisor::SupervisorOptions supervision(const World& world, std::uint64_t first_incarnation,
                                          std::uint32_t slots) {
  supervisor::SupervisorOptions options = world.scenario().supervisor;
  options.slots = slots;
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
  slicer_->add_topic(0, "orders", 1);
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
  if (world_->broker().away()) {
    return world_->after(100 * kMillisecond, *this, [this] { discover(); });
  }
  for (std::int32_t partition = 0; partition < world_->broker().count(); ++partition) {
    find_partition(partition);
  }
  discovered_ = true;
  slicer_->discovery_done(now());
  settle();
}

void SimHost::find_partition(std::int32_t partition) {
  found_ = partition + 1;
  const BrokerPartition& log = world_->broker().at(partition);
  slicer::FoundPartition found;
  found.tp = {0, partition};
  found.end = log.end;
  const auto row = world_->disk().partitions.find(partition);
  if (row != world_->disk().partitions.end()) {
    found.row = row->second;
    found.slices = world_->disk().open_rows(partition);
  } else {
    const bool later = partition >= world_->scenario().partitions;
    found.start_offset = world_->scenario().start_at_latest && !later ? log.end : log.low;
    if (world_->scenario().slicer.mode == slicer::Mode::Once) found.once_end = log.end;
  }
  slicer_->partition_found(std::move(found), now());
}

void SimHost::partition_appeared(std::int32_t partition) {
  if (!discovered_ || stopping_) return;
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
                         kind == ipc::ReportKind::Failed || kind == ipc::ReportKind::Expired;
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
  supervisor_.exited(process.slot(), process.incarnation(), *process.exit_status(), now(), actions);
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

void SimHost::publish(const slicer::SlotCommands& commands) {
  WorkerProcess& process = *processes_[commands.slot];
  for (const ipc::Command& command : commands.commands) {
    const bool slice = command.kind == static_cast<std::uint16_t>(ipc::CommandKind::Slice);
    world_->say(slice ? "publish" : "revoke", command.partition, command.slice_id, [&] {
      return "[" + std::to_string(command.start) + "," + std::to_string(command.end) +
             ") attempt " + std::to_string(command.attempt) + " fence " +
             std::to_string(command.fence) + " to " + std::to_string(commands.slot) + "." +
             std::to_string(commands.incarnation) +
             ((command.flags & ipc::kAlone) != 0 ? " alone" : "");
    });
    if (slice) {
      world_->checkers().published(commands.incarnation, command);
      ++in_flight_[commands.slot];
    }
    process.send(command);
  }
}

void SimHost::carry_out(const slicer::Actions& actions) {
  for (const auto& notice : actions.notices) {
    world_->say("slicer", notice.tp.partition, notice.slice_id,
                [&] { return notice_text(notice); });
    world_->checkers().noticed(notice);
  }
  for (const auto& commands : actions.commands) publish(commands);
  std::vector<supervisor::Action> consequences;
  for (const auto& violation : actions.violations) {
    world_->checkers().violation(violation, processes_[violation.slot]->honest());
    supervisor_.violation(violation.slot, violation.incarnation,
                          std::string{slicer::rule_name(violation.rule)}, now(), consequences);
  }
  for (const auto tp : actions.sample_ends) sample(tp, false);
  for (const auto tp : actions.sample_lows) sample(tp, true);
  for (const auto& halted : actions.halted) {
    std::int64_t end = halted.offset;
    for (const auto& row : slicer_->open_slices()) {
      if (row.id == halted.slice_id) end = row.end;
    }
    world_->say("slicer", halted.tp.partition, halted.slice_id, [&] {
      return "HALTED at " + std::to_string(halted.offset) + ": " + halted.error.message;
    });
    world_->checkers().halted(halted, halted.offset, end);
  }
  if (actions.ended) outcome_ = actions.ended;
  carry_out(std::move(consequences));
}

void SimHost::sample(slicer::TopicPartition tp, bool low) {
  const std::uint32_t failing = world_->troubles().failed_sample_one_in;
  const bool fails = world_->broker().away() || (failing > 0 && world_->one_in(failing));
  const std::int64_t delay_us = fails ? 200 * kMillisecond : world_->chance(20 * kMillisecond);
  world_->after(delay_us, *this, [this, tp, low, fails] {
    const BrokerPartition& log = world_->broker().at(tp.partition);
    if (fails) {
      slicer_->sample_failed(tp, now());
    } else if (low) {
      slicer_->low_observed(tp, log.low, log.end, now());
    } else {
      slicer_->end_observed(tp, log.end, slicer::LeaderChange::None, now());
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
  world_->after(std::max<std::int64_t>(kMillisecond, at_us - world_->now_us()), *this, [this] {
    armed_.reset();
    settle();
  });
}

void SimHost::set_slots(std::uint32_t slots) {
  world_->say("host", -1, 0, [&] { return "slots " + std::to_string(slots); });
  for (std::uint32_t slot = slots; slot < slots_; ++slot) {
    world_->checkers().expect_moves_from(slot);
  }
  for (std::uint32_t slot = slots_; slot < slots; ++slot) {
    world_->checkers().expect_moves_to(slot);
  }
  slots_ = slots;
  slicer_->set_slots(slots, now());
  settle();
  std::vector<supervisor::Action> actions;
  supervisor_.set_slots(slots, now(), actions);
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
                       return status.state == slicer::PartitionState::Halted ||
                              status.frontier == world_->broker().at(status.tp.partition).end;
                     });
}

slicer::Snapshot SimHost::snapshot() const {
  return slicer_->snapshot(now());
}

}  // namespace sluice::sim
