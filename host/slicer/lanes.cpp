// What happens to a lane's list of slices: they go back to waiting, ranges become uncut, settled
// ones leave at the front and the frontier follows (R1, R2).
#include "host/base/assert.hpp"
#include "host/slicer/core.hpp"

namespace sluice::slicer {

/// Everything from `from` on that is in flight is waiting again, with the same attempt; its flights
/// become stale. What is settled stays settled.
void Core::give_back(Partition& partition, Slice* from) {
  if (any_worker()) {
    from->state = state::SliceState::Ready;
    return;
  }
  Slice* first_waiting = nullptr;
  for (Slice* slice = from; slice != nullptr; slice = slice->next) {
    if (state::is_settled(slice->state)) continue;
    if (first_waiting == nullptr) first_waiting = slice;
    if (slice->put_off) continue;  // what is behind it may be in flight
    if (slice->state != state::SliceState::Dispatched) break;
    slice->state = state::SliceState::Ready;
    const auto flight = worker_of(partition).flights.find({slice->id, slice->fence});
    if (flight == worker_of(partition).flights.end()) continue;  // it is the one being answered
    flight->second.slice = nullptr;
    --partition.live;
    if (slice->fence != partition.fence) --partition.live_older;
  }
  Slice*& waiting = partition.slices.waiting;
  const bool one_before = waiting != nullptr && waiting->put_off && waiting->start < from->start;
  if (first_waiting != nullptr && !one_before) waiting = first_waiting;
}

/// Flights that stay live are of an older fence now; nothing is published beside them, so that a
/// worker never has slices of one lane under two fences that both count.
void Core::new_fence(Partition& partition) {
  if (any_worker()) return;  // every slice has its own
  ++partition.fence;
  partition.live_older = partition.live;
}

/// Waiting slices that nobody has a claim on, from the end backwards, are a range again (C3).
void Core::uncut_tail(Partition& partition) {
  while (partition.slices.tail != nullptr && may_be_cut_anew(*partition.slices.tail)) {
    partition.cut = partition.slices.tail->start;
    drop(partition, *partition.slices.tail);
  }
}

void Core::drop(Partition& partition, Slice& slice) {
  clear_suspect(partition, slice);
  unlink(partition.slices, &slice);
  if (slice.has_row) changes_.delete_row(slice.id);
  slices_.free(&slice);
}

void Core::settle(Partition& partition, Slice& slice, state::SliceState state, state::Cause cause,
                  Milliseconds now) {
  SLUICE_ASSERT(state::is_settled(state), slice.id);
  // A slot whose last suspect is settled may share the work of the others again (A2).
  if (slice.suspect && partition.suspects == 1) schedule_rebalance(now + options_.rebalance_delay);
  clear_suspect(partition, slice);
  slice.state = state;
  if (cause != state::Cause::None) add_gap(partition, slice, cause, now);
  if (partition.slices.waiting == &slice) partition.slices.waiting = slice.next;
  ++partition.slices_settled;
  advance_frontier(partition, now);
}

void Core::advance_frontier(Partition& partition, Milliseconds now) {
  SliceList& list = partition.slices;
  while (!list.empty() && state::is_settled(list.head->state) && !list.head->probe) {
    Slice* settled = list.head;
    unlink(list, settled);
    slices_.free(settled);
  }
  join_restored(partition, now);
  const std::int64_t frontier = list.empty() ? partition.cut : list.head->start;
  SLUICE_ASSERT(frontier >= partition.frontier, partition.tp.topic, partition.tp.partition,
                partition.frontier, frontier);
  partition.frontier = frontier;
  end_isolation(partition);
  changed(partition);
  update_finish(partition);
}

/// A new waiting slice right after `after` (null: at the front).
Slice& Core::insert_waiting(Partition& partition, Slice* after, std::int64_t start,
                            std::int64_t end, Milliseconds now) {
  Slice* slice = slices_.make();
  slice->id = next_slice_id_++;
  slice->start = start;
  slice->end = end;
  slice->partition = index_of(partition);
  slice->epoch = partition.epoch;
  slice->created = now;
  insert_slice(partition, after, *slice);
  return *slice;
}

void Core::insert_slice(Partition& partition, Slice* after, Slice& slice) {
  SliceList& list = partition.slices;
  if (after == nullptr) {
    insert_front(list, &slice);
  } else {
    insert_after(list, after, &slice);
  }
  if (list.waiting == nullptr || list.waiting == slice.next) list.waiting = &slice;
}

/// `slice`, or the first after it, that is neither in flight nor settled.
Slice* Core::first_open(Slice* slice) {
  while (slice != nullptr &&
         (state::is_settled(slice->state) || slice->state == state::SliceState::Dispatched)) {
    slice = slice->next;
  }
  return slice;
}

void Core::set_suspect(Partition& partition, Slice& slice) {
  if (slice.suspect) return;
  slice.suspect = true;
  changes_.slice_changed(slice);
  if (++partition.suspects == 1 && !partition.halted) quarantine_changed(partition, 1);
  notice(Notice::Kind::Suspected, partition, &slice);
}

void Core::clear_suspect(Partition& partition, Slice& slice) {
  if (!slice.suspect) return;
  slice.suspect = false;
  if (--partition.suspects == 0 && !partition.halted) quarantine_changed(partition, -1);
}

}  // namespace sluice::slicer
