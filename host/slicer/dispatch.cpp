// Cutting and publishing (C1): which partition's turn it is, how large its next slice may be, and
// whether its worker may have it. Slices are cut at the moment they are published, so that a slice
// at the tail holds all that has arrived by then.
#include <algorithm>

#include "host/base/assert.hpp"
#include "host/slicer/core.hpp"

namespace sluice::slicer {
namespace {

/// Records of a stable slice while nobody knows what they weigh.
constexpr std::int64_t kStableUnweighed = 100;

}  // namespace

WaitReason Core::blocked(const Partition& partition, Milliseconds now) const {
  if (stopping_) return WaitReason::Stopping;
  if (paused_) return WaitReason::Paused;
  if (partition.durable_frontier < 0 || partition.held_until > 0) return WaitReason::NotDurable;
  if (partition.lineage.absent) return WaitReason::Absent;
  if (partition.lineage.begins_anew) return WaitReason::Recreated;
  const bool owned = partition.slot != kNoSlot && workers_[partition.slot].up();
  if (!owned && !any_worker()) return WaitReason::NoWorker;
  if (partition.moving_to != kNoSlot) return WaitReason::Moving;
  if (partition.verifying) return WaitReason::Verifying;
  if (partition.live_older > 0) return WaitReason::Returning;
  // Suspects of one partition run one after the other, also where it has many workers.
  if (any_worker() && partition.suspects > 0 && partition.live > 0) return WaitReason::Suspect;
  if (partition.retry_at > now) return WaitReason::Retrying;
  if (is_short_for_now(partition)) return WaitReason::BeyondEnd;
  if (partition.lineage.in_flight) return WaitReason::Comparing;
  return WaitReason::None;
}

bool Core::has_work(const Partition& partition, Milliseconds now) const {
  if (partition.halted) return false;
  if (partition.lineage.due) return must_compare(partition, now);
  return may_recover(partition, now) || has_live_work(partition);
}

bool Core::has_live_work(const Partition& partition) const {
  if (partition.halted) return false;
  if (options_.stable_slices) return has_stable_work(partition);
  if (const Slice* waiting = first_waiting(partition)) {
    return waiting->start < readable_end(partition);
  }
  return partition.cut < cut_bound(partition);
}

void Core::enqueue(Partition& partition, Milliseconds now) {
  if (partition.queued || !has_work(partition, now) ||
      blocked(partition, now) != WaitReason::None) {
    return;
  }
  partition.queued = true;
  if (any_worker()) {
    (partition.suspects > 0 ? any_suspects_ : any_ready_).push_back(index_of(partition));
    return;
  }
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
    const Published published = publish_beside_others(partition, slot, now);
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
      if (needs_fresh_worker(partition, slot)) return ask_fresh_worker(slot);
      published = publish_next(partition, slot, now);
    }
    if (published == Published::NoCredit) return;
    worker.suspects.pop_front();
    partition.queued = false;
    enqueue(partition, now);
  }
}

/// What is to be published next; null: what is cut next. A record without a verdict lets what comes
/// behind it go first, as long as there is something and nothing has proved the plugin (F3).
Slice* Core::next_waiting(const Partition& partition) const {
  Slice* const first = first_waiting(partition);
  if (first == nullptr || !first->put_off || proofs_ > first->proofs_before) return first;
  if (Slice* const behind = first_open(first->next)) {
    return behind->start < readable_end(partition) ? behind : first;
  }
  return partition.cut < cut_bound(partition) ? nullptr : first;
}

bool Core::needs_fresh_worker(const Partition& partition, Slot slot) const {
  if (!has_live_work(partition)) return false;
  const Slice* slice = next_waiting(partition);
  return slice != nullptr && slice->part && workers_[slot].used;
}

/// It stays in the queue: the worker that comes takes it from there.
void Core::ask_fresh_worker(Slot slot) {
  Worker& worker = workers_[slot];
  worker.making_room = true;
  pending_.fresh_workers.push_back({slot, worker.incarnation});
}

/// As a queue's turn demands: what stands there may have become a suspect, or blocked, since.
Core::Published Core::publish_beside_others(Partition& partition, Slot slot, Milliseconds now) {
  const bool may = partition.suspects == 0 && blocked(partition, now) == WaitReason::None;
  return may ? publish_next(partition, slot, now) : Published::NothingToDo;
}

Core::Published Core::publish_next(Partition& partition, Slot slot, Milliseconds now) {
  if (partition.lineage.due) {  // F5: first of all, is it still the same log?
    if (!must_compare(partition, now)) return Published::NothingToDo;
    end_search(partition);  // what comes of it concerns whole slices
    return publish_comparison(partition, slot, now);
  }
  if (may_recover(partition, now)) return publish_recovered(partition, slot, now);
  if (!has_live_work(partition)) return Published::NothingToDo;
  if (options_.stable_slices) {
    cut_ahead(partition, now);
    const Slice* next = next_waiting(partition);
    const bool waits = next == nullptr || (next->stable && !may_publish_stable(partition, *next));
    if (waits) return Published::NothingToDo;
  }
  Slice* slice = next_waiting(partition);
  if (slice != nullptr && slice->end > readable_end(partition) && may_be_cut_anew(*slice)) {
    uncut_tail(partition);
    slice = next_waiting(partition);
  }
  if (slice == nullptr && partition.cut >= cut_bound(partition)) return Published::NothingToDo;
  const std::int64_t records =
      slice != nullptr ? slice->size()
                       : std::min(slice_limit(partition), cut_bound(partition) - partition.cut);
  if ((slice != nullptr ? slice->id : next_slice_id_) >= ids_durable_) return Published::NoCredit;
  if (!has_credit(workers_[slot], records)) return Published::NoCredit;
  const bool token = rate_.take();
  SLUICE_ASSERT(token);
  publish(partition, slice != nullptr ? *slice : cut_slice(partition, records, now), slot, now);
  return Published::Yes;
}

/// An empty worker takes anything: a restored slice may be larger than today's credit.
bool Core::has_credit(const Worker& worker, std::int64_t records) const {
  return worker.flights.empty() || (worker.flights.size() < options_.credit_slices &&
                                    worker.records_in_flight + records <= options_.credit_records);
}

/// slice.max.bytes by what records have weighed so far: in this partition, else in its topic.
/// Nobody knows before the first report; then slice.max.records alone holds, and the worker's flush
/// bounds. A stable slice has to be flushed whole, whatever it weighs: first ones are small.
std::int64_t Core::slice_limit(const Partition& partition) const {
  const float weight = partition.bytes_per_offset > 0
                           ? partition.bytes_per_offset
                           : topics_[partition.tp.topic].bytes_per_offset;
  if (weight <= 0 && options_.stable_slices) {
    return std::min(options_.slice_records_max, kStableUnweighed);
  }
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

void Core::publish(Partition& partition, Slice& slice, Slot slot, Milliseconds now) {
  if (slice.state == state::SliceState::Retrying) ++slice.attempt;  // R1
  if (partition.slices.waiting == &slice) {
    slice.put_off = false;
    partition.slices.waiting = first_open(slice.next);
  }
  slice.has_row ? changes_.slice_changed(slice) : changes_.slice_published(slice);

  send(partition, slice, slot, now);
}

/// Into the worker's ring.
void Core::send(Partition& partition, Slice& slice, Slot slot, Milliseconds now) {
  Worker& worker = workers_[slot];
  const bool alone = partition.suspects > 0;
  const bool probe = runs_as_probe(partition, slice);
  const bool indivisible = slice.stable || probe;
  if (any_worker()) ++partition.fence;
  slice.state = state::SliceState::Dispatched;
  slice.fence = partition.fence;
  slice.dispatched = now;
  slice.proofs_at_send = proofs_;
  slice.worker = {slot, worker.pid, worker.incarnation};
  if (!slice.compare) worker.used = true;
  worker.flights.emplace(FlightKey{slice.id, slice.fence}, Flight{.slice = &slice,
                                                                  .partition = slice.partition,
                                                                  .start = slice.start,
                                                                  .end = slice.end,
                                                                  .order = next_order_++,
                                                                  .alone = alone,
                                                                  .stable = indivisible,
                                                                  .probe = probe});
  worker.records_in_flight += slice.size();
  worker.alone_in_flight = alone;
  ++partition.flights;
  ++partition.live;
  ++flights_;
  if (!partition.sample_scheduled && needs_sampling(partition)) {
    schedule_sample(partition, now + options_.sample_interval_max);
  }
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
  if (slice.recovered) command.flags |= ipc::kRecovered;
  if (slice.compare) command.flags |= ipc::kCompare;
  if (indivisible) command.flags |= ipc::kStable;
  if (probe) command.flags |= ipc::kProbe;
  if (slice.excluded != nullptr) command.flags |= ipc::kExclude;
  if (probe || slice.excluded != nullptr) {
    pending_.terms.push_back({slot, worker.incarnation, slice.id, terms_of(partition, slice)});
  }
  if (slice.dead_letter) {
    command.flags |= ipc::kDeadLetterOnly;
    pending_.dead_letters.push_back(
        {slot, worker.incarnation, slice.id, slice.error ? *slice.error : state::SliceError{}});
  }
  commands_for(slot).push_back(command);
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
  if (any_worker()) dispatch_any(now);
  for (Slot i = 0; i < slots && !any_worker(); ++i) dispatch((first_turn_ + i) % slots, now);
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
      if (needs_sampling(partition)) ask_end(partition, now);
      break;
    }
    case DeadlineKind::Restart:
      restart_due(partitions_[deadline.index], now);
      break;
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
  if (!any_ready_.empty() || !any_suspects_.empty()) {
    return next ? std::min(*next, rate_.next_at()) : rate_.next_at();
  }
  for (const Worker& worker : workers_) {
    if (worker.up() && (!worker.ready.empty() || !worker.suspects.empty())) {
      return next ? std::min(*next, rate_.next_at()) : rate_.next_at();
    }
  }
  return next;
}

}  // namespace sluice::slicer
