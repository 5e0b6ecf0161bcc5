// Which slot has which partition (slicer.md A1, A2): moves are few, each happens at a batch
// boundary or after a reap, and a suspect's partition never goes to a worker that owns others.
#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"
#include "host/slicer/balance.hpp"
#include "host/slicer/core.hpp"

namespace sluice::slicer {

void Core::own(Partition& partition, Slot slot) {
  SLUICE_ASSERT(partition.slot == kNoSlot && slot < workers_.size(), partition.slot, slot);
  Worker& worker = workers_[slot];
  partition.slot = slot;
  partition.slot_position = static_cast<std::uint32_t>(worker.partitions.size());
  worker.partitions.push_back(index_of(partition));
  if (partition.suspects > 0 && !partition.halted) quarantine_changed(partition, 1);
}

void Core::disown(Partition& partition) {
  SLUICE_ASSERT(partition.flights == 0, partition.tp.partition, partition.flights);
  Worker& worker = worker_of(partition);
  const PartitionIndex index = index_of(partition);
  if (std::exchange(partition.queued, false)) {
    std::erase(worker.ready, index);
    std::erase(worker.suspects, index);
  }
  if (partition.suspects > 0 && !partition.halted) quarantine_changed(partition, -1);
  const PartitionIndex last = worker.partitions.back();
  worker.partitions[partition.slot_position] = last;
  partitions_[last].slot_position = partition.slot_position;
  worker.partitions.pop_back();
  partition.slot = kNoSlot;
}

/// Running, here to stay, and not busy with a suspect (F1). Nobody does during a stop: the next
/// start finds everything where it was (A1).
bool Core::takes_partitions(Slot slot) const {
  if (stopping_) return false;
  const Worker& worker = workers_[slot];
  return slot < slots_ && worker.up() && !worker.retiring && worker.suspect_partitions == 0;
}

/// The emptiest running worker that is not busy with a suspect; kNoSlot if there is none. Who
/// stands by stays empty while as many others serve as there are tasks (A5).
Slot Core::emptiest_worker(Slot except) const {
  std::uint32_t serving = 0;
  for (Slot slot = 0; slot < slots_; ++slot) {
    if (slot != except && workers_[slot].planned() > 0) ++serving;
  }
  std::vector<SlotLoad> loads;
  for (Slot slot = 0; slot < slots_; ++slot) {
    if (slot == except || !takes_partitions(slot)) continue;
    const std::size_t partitions = workers_[slot].planned();
    if (partitions > 0 || serving < tasks_) loads.push_back({slot, partitions});
  }
  return emptiest(loads);
}

/// A running worker that has nothing at all: the only place where a suspect may move (F1).
Slot Core::idle_standby() const {
  if (options_.standby == 0) return kNoSlot;
  for (Slot slot = 0; slot < slots_; ++slot) {
    if (takes_partitions(slot) && workers_[slot].planned() == 0) return slot;
  }
  return kNoSlot;
}

/// A partition that nobody owns gets an owner, running or not.
void Core::place(Partition& partition, Milliseconds now) {
  if (any_worker()) return enqueue(partition, now);
  Slot slot = linear()                  ? place_in_family(partition)
              : partition.home < slots_ ? partition.home
                                        : emptiest_worker(kNoSlot);
  if (slot == kNoSlot) {
    std::vector<SlotLoad> loads;
    for (Slot any = 0; any < tasks_; ++any) loads.push_back({any, workers_[any].planned()});
    slot = emptiest(loads);
  }
  own(partition, slot);
  if (!linear()) partition.home = slot;
  changed(partition);
  enqueue(partition, now);
}

ipc::Command Core::revoke_of(const Partition& partition, std::uint32_t fence) {
  ipc::Command revoke;
  revoke.kind = static_cast<std::uint16_t>(ipc::CommandKind::Revoke);
  revoke.fence = fence;
  revoke.topic = partition.tp.topic;
  revoke.partition = partition.tp.partition;
  revoke.lane = partition.lane;
  return revoke;
}

/// Asks its worker to give back, at the next batch boundary, all that has this fence or a lower
/// one. What is published after it needs a higher one. Requires: the partition has an owner.
void Core::revoke(const Partition& partition) {
  if (!workers_[partition.slot].up() || (!partition.opened && partition.flights == 0)) return;
  commands_for(partition.slot).push_back(revoke_of(partition, partition.fence));
}

void Core::begin_move(Partition& partition, Slot to, Milliseconds now) {
  SLUICE_ASSERT(partition.moving_to == kNoSlot && to != partition.slot, to, partition.slot);
  partition.moving_to = to;
  ++worker_of(partition).leaving;
  ++workers_[to].arriving;
  revoke(partition);
  if (partition.flights == 0) finish_move(partition, now);
}

/// Requires: the old owner has nothing of it any more. The new one may have gone meanwhile.
void Core::finish_move(Partition& partition, Milliseconds now) {
  const Slot from = partition.slot;
  Slot to = std::exchange(partition.moving_to, kNoSlot);
  --workers_[from].leaving;
  --workers_[to].arriving;
  const bool willing = takes_partitions(to);
  // The revoke was for this fence; what is published to the same worker needs a higher one.
  new_fence(partition);
  if (!willing && from < slots_ && workers_[from].up()) return enqueue(partition, now);
  if (!willing) to = refuge(partition, kNoSlot, now);
  if (to == kNoSlot && from >= slots_) to = from % slots_;  // nobody is up: any slot that stays
  if (to == kNoSlot || to == from) return enqueue(partition, now);
  disown(partition);
  own(partition, to);
  ++counts_.moves;
  notice(Notice::Kind::Moved, partition, nullptr);
  pending_.notices.back().slot = from;
  pending_.notices.back().other_slot = to;
  changed(partition);
  unwatched(partition, now);
  enqueue(partition, now);
}

/// A2: after a loss everything moves once, at once. Suspects wait for the slot's respawn, unless
/// somebody stands by for them (F1).
void Core::move_all_from(Slot slot, Milliseconds now) {
  std::vector<PartitionIndex> all = workers_[slot].partitions;
  const auto suspected = [this](PartitionIndex index) { return partitions_[index].suspects > 0; };
  std::stable_partition(all.begin(), all.end(), suspected);
  for (const PartitionIndex index : all) {
    Partition& partition = partitions_[index];
    if (partition.moving_to != kNoSlot) {
      finish_move(partition, now);
      continue;
    }
    const bool waits = slot < slots_ && waits_for_slot(partition);
    Slot to = waits ? idle_standby() : refuge(partition, slot, now);
    if (waits && linear() && family_of(partition).size() > 1) to = kNoSlot;
    if (to != kNoSlot) begin_move(partition, to, now);
  }
}

void Core::schedule_takeover(Slot slot, Milliseconds at) {
  workers_[slot].takeover_at = at;
  deadlines_.add({at, DeadlineKind::Takeover, slot});
}

/// A slot that has been down for too long gives its partitions to whoever is up.
void Core::take_over(Slot slot, Milliseconds now) {
  const Worker& worker = workers_[slot];
  if (!discovered_ || stopping_ || worker.incarnation != 0 || now < worker.takeover_at) return;
  move_all_from(slot, now);
}

void Core::set_slots(std::uint32_t tasks, Milliseconds now) {
  SLUICE_ASSERT(tasks > 0);
  tasks_ = tasks;
  const std::uint32_t slots = tasks + options_.standby;
  const std::uint32_t before = std::exchange(slots_, slots);
  if (slots > workers_.size()) workers_.resize(slots);
  if (linear()) rehash(now);
  for (Slot slot = before; slot < slots; ++slot) workers_[slot].added = true;
  for (Slot slot = slots; slot < before; ++slot) {
    workers_[slot].added = false;
    workers_[slot].retiring = workers_[slot].incarnation != 0;
    const std::vector<PartitionIndex> all = workers_[slot].partitions;
    for (const PartitionIndex index : all) {
      Partition& partition = partitions_[index];
      if (partition.moving_to != kNoSlot) continue;
      const Slot to = refuge(partition, slot, now);
      const Slot anybody = linear() ? partition.home : slot % slots;
      begin_move(partition, to != kNoSlot ? to : anybody, now);
      if (!linear()) partition.home = partition.slot;
    }
  }
}

Slot Core::fullest_worker() const {
  Slot fullest = kNoSlot;
  for (Slot slot = 0; slot < slots_; ++slot) {
    if (fullest == kNoSlot || workers_[slot].planned() > workers_[fullest].planned())
      fullest = slot;
  }
  return fullest;
}

/// One that has lived in `to` before, else the one that came last.
PartitionIndex Core::movable_from(Slot from, Slot to) const {
  PartitionIndex last = kNoPartition;
  for (const PartitionIndex index : workers_[from].partitions) {
    const Partition& partition = partitions_[index];
    if (partition.moving_to != kNoSlot || partition.suspects > 0) continue;
    if (partition.home == to) return index;
    last = index;
  }
  return last;
}

/// A slot that was just added takes its share at once, from the fullest ones, and no more (A1).
void Core::fill_added(Slot slot, Milliseconds now) {
  if (linear()) return move_home_to(slot, now);
  while (takes_partitions(slot)) {
    const Slot from = fullest_worker();
    if (from == slot || workers_[from].planned() < workers_[slot].planned() + 2) return;
    const PartitionIndex index = movable_from(from, slot);
    if (index == kNoPartition) return;
    begin_move(partitions_[index], slot, now);
    partitions_[index].home = slot;
  }
}

void Core::schedule_rebalance(Milliseconds at) {
  if (std::exchange(rebalance_scheduled_, true)) return;
  deadlines_.add({at, DeadlineKind::Rebalance, 0});
}

/// A2: one partition per delay, and only to a slot that has been healthy for as long.
void Core::rebalance(Milliseconds now) {
  rebalance_scheduled_ = false;
  if (stopping_ || !discovered_) return;
  if (linear()) return go_home(now);
  const Slot to = emptiest_worker(kNoSlot);
  const Slot from = fullest_worker();
  if (to == kNoSlot || from == to) return;
  if (workers_[from].planned() < workers_[to].planned() + 2) return;
  const Milliseconds healthy_at = workers_[to].up_since + options_.rebalance_delay;
  if (now < healthy_at) return schedule_rebalance(healthy_at);
  const PartitionIndex index = movable_from(from, to);
  if (index == kNoPartition) return;
  begin_move(partitions_[index], to, now);
  partitions_[index].home = to;
  schedule_rebalance(now + options_.rebalance_delay);
}

}  // namespace sluice::slicer
