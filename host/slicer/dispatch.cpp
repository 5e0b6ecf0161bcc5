// Cutting and publishing (C1): which partition's turn it is, how large its next slice may be, and
// whether its worker may have it. Slices are cut at the moment they are published, so that a slice
// at the tail holds all that has arrived by then.
#include <algorithm>

#include "host/base/assert.hpp"
#include "host/slicer/core.hpp"

namespace sluice::slicer {

WaitReason Core::blocked(const Partition& partition, Milliseconds now) const {
  if (stopping_) return WaitReason::Stopping;
  if (partition.durable_frontier < 0 || partition.held_until > 0) return WaitReason::NotDurable;
  if (partition.slot == kNoSlot || !workers_[partition.slot].up()) return WaitReason::NoWorker;
  if (partition.moving_to != kNoSlot) return WaitReason::Moving;
  if (partition.verifying) return WaitReason::Verifying;
  if (partition.live_older > 0) return WaitReason::Returning;
  if (partition.retry_at > now) return WaitReason::Retrying;
  if (partition.beyond_end) return WaitReason::BeyondEnd;
  return WaitReason::None;
}

bool Core::has_work(const Partition& partition) const {
  if (partition.halted) return false;
  if (partition.slices.waiting != nullptr) {
    return partition.slices.waiting->start < readable_end(partition);
  }
  return partition.cut < cut_bound(partition);
}

void Core::enqueue(Partition& partition, Milliseconds now) {
  if (partition.queued || !has_work(partition) || blocked(partition, now) != WaitReason::None) {
    return;
  }
  partition.queued = true;
  Worker& worker = worker_of(partition);
  (partition.suspects > 0 ? worker.suspects : worker.ready).push_back(index_of(partition));
}

void Core::dispatch(Slot slot, Milliseconds now) {
  Worker& worker = workers_[slot];
  if (!worker.up() || worker.alone_in_flight) return;
  dispatch_suspects(slot, now);
  if (worker.alone_in_flight || !worker.suspects.empty()) return;
  while (!worker.ready.empty() && !rate_.empty()) {
    Partition& partition = partitions_[worker.ready.front()];
    Published published = Published::NothingToDo;
    if (partition.suspects == 0 && blocked(partition, now) == WaitReason::None) {
      published = publish_next(partition, now);
    }
    if (published == Published::NoCredit) return;
    worker.ready.pop_front();
    partition.queued = false;
    enqueue(partition, now);
    if (!worker.suspects.empty()) return dispatch_suspects(slot, now);
  }
}

/// F1: a suspect runs with nothing else in its worker, before anybody else in it gets a turn: what
/// dies then has died of this slice.
void Core::dispatch_suspects(Slot slot, Milliseconds now) {
  Worker& worker = workers_[slot];
  while (!worker.suspects.empty() && worker.flights.empty() && !rate_.empty()) {
    Partition& partition = partitions_[worker.suspects.front()];
    Published published = Published::NothingToDo;
    if (partition.suspects > 0 && blocked(partition, now) == WaitReason::None) {
      published = publish_next(partition, now);
    }
    if (published == Published::NoCredit) return;
    worker.suspects.pop_front();
    partition.queued = false;
    enqueue(partition, now);
  }
}

Core::Published Core::publish_next(Partition& partition, Milliseconds now) {
  if (!has_work(partition)) return Published::NothingToDo;
  Worker& worker = worker_of(partition);
  Slice* slice = partition.slices.waiting;
  if (slice != nullptr && slice->end > readable_end(partition) && may_be_cut_anew(*slice)) {
    uncut_tail(partition);
    slice = partition.slices.waiting;
  }
  if (slice == nullptr && partition.cut >= cut_bound(partition)) return Published::NothingToDo;
  const std::int64_t records =
      slice != nullptr ? slice->size()
                       : std::min(slice_limit(partition), cut_bound(partition) - partition.cut);
  if ((slice != nullptr ? slice->id : next_slice_id_) >= ids_durable_) return Published::NoCredit;
  // An empty worker takes anything: a restored slice may be larger than today's credit.
  const bool fits =
      worker.flights.empty() || (worker.flights.size() < options_.credit_slices &&
                                 worker.records_in_flight + records <= options_.credit_records);
  if (!fits) return Published::NoCredit;
  const bool token = rate_.take();
  SLUICE_ASSERT(token);
  publish(partition, slice != nullptr ? *slice : cut_slice(partition, records, now), now);
  return Published::Yes;
}

/// slice.max.bytes by what records have weighed so far: in this partition, else in its topic.
/// Nobody knows before the first report; then slice.max.records alone holds, and the worker's flush
/// bounds.
std::int64_t Core::slice_limit(const Partition& partition) const {
  const float weight = partition.bytes_per_offset > 0
                           ? partition.bytes_per_offset
                           : topics_[partition.tp.topic].bytes_per_offset;
  if (weight <= 0) return options_.slice_records_max;
  const auto by_bytes =
      static_cast<std::int64_t>(static_cast<double>(options_.slice_bytes_max) / weight);
  return std::clamp<std::int64_t>(by_bytes, 1, options_.slice_records_max);
}

Slice& Core::cut_slice(Partition& partition, std::int64_t records, Milliseconds now) {
  const std::int64_t start = partition.cut;
  partition.cut = start + records;
  Slice& slice = insert_waiting(partition, partition.slices.tail, start, partition.cut, now);
  join_restored(partition, now);
  return slice;
}

void Core::publish(Partition& partition, Slice& slice, Milliseconds now) {
  Worker& worker = worker_of(partition);
  SLUICE_ASSERT(partition.slices.waiting == &slice, slice.id, partition.tp.partition);
  if (slice.state == state::SliceState::Retrying) ++slice.attempt;  // R1
  slice.state = state::SliceState::Dispatched;
  slice.fence = partition.fence;
  slice.dispatched = now;
  slice.worker = {partition.slot, worker.pid, worker.incarnation};
  Slice* waiting = slice.next;
  while (waiting != nullptr && state::is_settled(waiting->state)) waiting = waiting->next;
  partition.slices.waiting = waiting;
  slice.has_row ? changes_.slice_changed(slice) : changes_.slice_published(slice);

  const bool alone = partition.suspects > 0;
  worker.flights.emplace(FlightKey{slice.id, slice.fence}, Flight{.slice = &slice,
                                                                  .partition = slice.partition,
                                                                  .start = slice.start,
                                                                  .end = slice.end,
                                                                  .order = next_order_++,
                                                                  .alone = alone});
  worker.records_in_flight += slice.size();
  worker.alone_in_flight = alone;
  ++partition.flights;
  ++partition.live;
  ++flights_;
  ++counts_.published;

  ipc::Command command;
  command.slice_id = slice.id;
  command.fence = slice.fence;
  command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Slice);
  command.topic = partition.tp.topic;
  command.partition = partition.tp.partition;
  command.attempt = slice.attempt;
  command.start = slice.start;
  command.end = slice.end;
  command.epoch = slice.epoch;
  command.lane = partition.lane;
  command.flags = alone ? static_cast<std::uint32_t>(ipc::kAlone) : 0;
  commands_for(partition.slot).push_back(command);
}

std::vector<ipc::Command>& Core::commands_for(Slot slot) {
  auto& all = pending_.commands;
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    if (entry->slot == slot && entry->incarnation == workers_[slot].incarnation) {
      return entry->commands;
    }
  }
  SlotCommands& fresh = all.emplace_back();
  fresh.slot = slot;
  fresh.incarnation = workers_[slot].incarnation;
  if (!spare_commands_.empty()) {
    fresh.commands = std::move(spare_commands_.back());
    spare_commands_.pop_back();
  }
  return fresh.commands;
}

void Core::step(Milliseconds now, Actions& actions) {
  rate_.refill(now);
  while (const auto deadline = deadlines_.take_due(now)) due(*deadline, now);
  const auto slots = static_cast<Slot>(workers_.size());
  for (Slot i = 0; i < slots; ++i) dispatch((first_turn_ + i) % slots, now);
  first_turn_ = (first_turn_ + 1) % slots;
  say_ended();

  for (SlotCommands& used : actions.commands) {
    used.commands.clear();
    spare_commands_.push_back(std::move(used.commands));
  }
  actions = Actions{};
  std::swap(actions, pending_);
}

void Core::due(const Deadline& deadline, Milliseconds now) {
  switch (deadline.kind) {
    case DeadlineKind::Retry: {
      Partition& partition = partitions_[deadline.index];
      if (partition.retry_at <= now) enqueue(partition, now);
      break;
    }
    case DeadlineKind::Sample: {
      Partition& partition = partitions_[deadline.index];
      if (!partition.sample_scheduled || partition.sample_at > now) break;
      partition.sample_scheduled = false;
      if (partition.verifying) verify_expired(partition);
      if (needs_sampling(partition)) ask_end(partition);
      break;
    }
    case DeadlineKind::Takeover:
      take_over(deadline.index, now);
      break;
    case DeadlineKind::Rebalance:
      rebalance(now);
      break;
  }
}

std::optional<Milliseconds> Core::next_deadline() const {
  std::optional<Milliseconds> next = deadlines_.next();
  if (!rate_.empty()) return next;
  for (const Worker& worker : workers_) {
    if (worker.up() && (!worker.ready.empty() || !worker.suspects.empty())) {
      return next ? std::min(*next, rate_.next_at()) : rate_.next_at();
    }
  }
  return next;
}

}  // namespace sluice::slicer
