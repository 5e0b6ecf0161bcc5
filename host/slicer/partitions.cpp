// Partitions come: fresh or restored from their rows (S2, S5), and a once execution comes to its
// end.
#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"
#include "host/slicer/balance.hpp"
#include "host/slicer/core.hpp"
#include "host/state/offset_list.hpp"

namespace sluice::slicer {

Core::Core(const SlicerOptions& options, Random random)
    : options_{options},
      random_{random},
      workers_(options.slots + options.standby),
      rate_{options.slices_per_second_max},
      next_slice_id_{options.next_slice_id},
      ids_ahead_{kIdsAheadMin},
      id_at_last_set_{options.next_slice_id},
      tasks_{options.slots},
      slots_{options.slots + options.standby},
      workers_first_{options.workers_first > 0 ? options.workers_first : options.slots},
      gaps_{options.gaps_before} {
  const auto valid = validate(options);
  SLUICE_ASSERT(valid.has_value(), valid.has_error() ? valid.error().message() : "");
}

PartitionIndex Core::index_of(TopicPartition tp) const {
  if (tp.topic >= topics_.size() || tp.partition < 0) return kNoPartition;
  const auto& numbers = topics_[tp.topic].partitions;
  const auto number = static_cast<std::size_t>(tp.partition);
  return number < numbers.size() ? numbers[number] : kNoPartition;
}

PartitionIndex Core::index_of(const Partition& partition) const {
  return index_of(partition.tp);
}

Partition* Core::find(TopicPartition tp) {
  const PartitionIndex index = index_of(tp);
  return index == kNoPartition ? nullptr : &partitions_[index];
}

void Core::changed(Partition& partition) {
  changes_.partition_changed(partition, index_of(partition));
}

void Core::add_topic(std::uint16_t topic, std::string name, std::uint32_t incarnation,
                     std::int32_t partitions_known, std::uint32_t partitions_first) {
  if (topic >= topics_.size()) topics_.resize(topic + std::size_t{1});
  topics_[topic].name = std::move(name);
  topics_[topic].incarnation = incarnation;
  topics_[topic].partitions_known = partitions_known;
  topics_[topic].partitions_first = partitions_first;
  for (Slot slot = 0; slot < workers_.size(); ++slot) tell_incarnation(topic, slot);
}

void Core::partition_found(FoundPartition found, Milliseconds now) {
  SLUICE_ASSERT(found.tp.topic < topics_.size() && found.tp.partition >= 0, found.tp.topic,
                found.tp.partition);
  SLUICE_ASSERT(index_of(found.tp) == kNoPartition, found.tp.topic, found.tp.partition);
  auto& numbers = topics_[found.tp.topic].partitions;
  const auto number = static_cast<std::size_t>(found.tp.partition);
  if (number >= numbers.size()) numbers.resize(number + 1, kNoPartition);
  numbers[number] = static_cast<PartitionIndex>(partitions_.size());

  Partition& partition = partitions_.emplace_back();
  partition.tp = found.tp;
  Topic& topic = topics_[found.tp.topic];
  topic.partitions_known = std::max(topic.partitions_known, found.tp.partition + 1);
  partition.incarnation = topic.incarnation;
  partition.epoch = found.epoch;
  partition.start_offset = partition.frontier = partition.cut = found.start_offset;
  partition.sample_interval = options_.sample_interval_min;
  partition.once_end = found.once_end;
  partition.lineage.lowered_from = found.lowered_from;
  partition.lineage.vouched = found.start_offset;
  if (found.lowered_from > 0 || found.reset) skip_reserved_ids();
  partition.lineage.reset = found.reset;
  restore(partition, found);
  if (options_.mode == Mode::Once && partition.once_end) {
    partition.end = std::max(partition.end, *partition.once_end);
  }
  if (!found.row || found.row->once_end != partition.once_end) {
    partition.durable_frontier = -1;  // S2: durable before the first slice
    changed(partition);
  }
  if (found.end) host_end(partition, *found.end, now);
  join_restored(partition, now);
  schedule_sample(partition, found.end ? now + options_.sample_interval_min : now);
  update_finish(partition);
  if (discovered_) place(partition, now);
}

void Core::restore(Partition& partition, FoundPartition& found) {
  if (found.row) {
    const state::PartitionRow& row = *found.row;
    partition.start_offset = row.start_offset;
    partition.frontier = partition.cut = row.frontier;
    partition.durable_frontier = row.frontier;
    partition.home = row.worker_slot;
    partition.slices_settled = row.slices_settled;
    partition.totals = row.totals;
    Lineage& lineage = partition.lineage;
    lineage.vouched = row.frontier;
    slicer::restore(lineage, row.fingerprints);
    lineage.lowered_from = row.lowered_from;
    if (found.low) forget_below(lineage.fingerprints, *found.low);
    // A partition of which nothing has been processed is nobody's yet.
    lineage.due = !row.fingerprints.empty() || row.frontier > row.start_offset;
    if (found.doubt == Doubt::WasAbsent) lineage.seen_absent = lineage.due = true;
    if (found.doubt == Doubt::None) {
      lineage.fingerprints.clear();
      lineage.due = false;
      if (lineage.cut_seen || lineage.seen_absent) changed(partition);
      lineage.cut_seen = lineage.seen_absent = false;
    }
    if (!partition.once_end && options_.mode == Mode::Once) partition.once_end = row.once_end;
  }
  auto& rows = found.slices;
  std::erase_if(rows, [&](const state::SliceRow& row) { return row.end <= partition.frontier; });
  // A stable slice comes before its own first record, which was set aside, also if it has no other
  // (F3.4).
  std::sort(rows.begin(), rows.end(), [](const state::SliceRow& a, const state::SliceRow& b) {
    if (a.start != b.start) return a.start < b.start;
    if (a.end != b.end) return a.end > b.end;
    return !state::is_settled(a.state) && state::is_settled(b.state);
  });
  // Rows come from a disk: what overlaps is clipped, so that the list has neither hole nor overlap.
  std::int64_t from = partition.frontier;
  std::deque<state::SliceRow> kept;
  for (state::SliceRow& row : rows) {
    next_slice_id_ = std::max(next_slice_id_, row.id + 1);
    if (row.state == state::SliceState::Isolating && !row.stable) {
      restore_isolation(partition, row);
      continue;
    }
    row.start = std::max(row.start, from);
    if (row.start >= row.end) continue;
    from = row.end;
    kept.push_back(std::move(row));
  }
  if (!kept.empty()) restored_.emplace(index_of(partition), std::move(kept));
}

/// Rows that begin where the cut is now become slices: not settled ones are ready again (S5). An
/// attempt that had failed is used up; one that the host's end interrupted is not (A4, A28).
void Core::join_restored(Partition& partition, Milliseconds now) {
  const auto found = restored_.find(index_of(partition));
  if (found == restored_.end()) return;
  auto& rows = found->second;
  while (!rows.empty() && rows.front().start == partition.cut) {
    state::SliceRow row = std::move(rows.front());
    rows.pop_front();
    partition.cut = row.end;
    if (state::is_settled(row.state)) {
      if (partition.slices.empty()) continue;
      Slice& settled = insert_waiting(partition, partition.slices.tail, row.start, row.end, now);
      settled.id = row.id;
      settled.state = row.state;
      if (partition.slices.waiting == &settled) partition.slices.waiting = nullptr;
      continue;
    }
    Slice& slice = insert_waiting(partition, partition.slices.tail, row.start, row.end, now);
    slice.id = row.id;
    slice.has_row = true;
    slice.attempt = row.attempt;
    if (row.state == state::SliceState::Retrying) ++slice.attempt;
    // A start is a restart (F4): what was halted gets all its attempts again.
    if (row.halted) slice.attempt = 1;
    slice.attempt = std::min(slice.attempt, options_.attempts_max);
    slice.epoch = row.epoch;
    // Without a topic for it now, the plugin sees it again.
    slice.dead_letter =
        row.cause == state::Cause::Poison && options_.dead_letters == DeadLetters::Topic;
    const bool stable = row.stable || options_.stable_slices;
    if (!slice.dead_letter && within_isolation(partition, slice)) {
      slice.part = !stable;
      set_suspect(partition, slice);
    }
    inherit_excluded(slice, state::decode_offsets(row.excluded));
    if (row.state == state::SliceState::Isolating) set_suspect(partition, slice);
    if (row.error) slice.error = std::make_unique<state::SliceError>(std::move(*row.error));
    changes_.slice_changed(slice);
    // Expiry may have moved its start since it was stored.
    if (stable) make_stable(partition, slice);
  }
  if (rows.empty()) restored_.erase(found);
}

/// A1: spread over the slots with the fewest moves.
void Core::place_all(Milliseconds now) {
  std::vector<Slot> remembered;
  remembered.reserve(partitions_.size());
  for (const Partition& partition : partitions_) remembered.push_back(partition.home);
  const std::vector<Slot> plan = plan_with_fewest_moves(remembered, tasks_);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i] != remembered[i]) changed(partitions_[i]);
    own(partitions_[i], plan[i]);
    partitions_[i].home = plan[i];
    enqueue(partitions_[i], now);
  }
}

void Core::discovery_done(Milliseconds now) {
  SLUICE_ASSERT(!discovered_);
  discovered_ = true;
  if (any_worker()) {
    for (Partition& partition : partitions_) enqueue(partition, now);
    return;
  }
  linear() ? place_all_linear(now) : place_all(now);
  for (Slot slot = 0; slot < slots_; ++slot) {
    if (!workers_[slot].up()) schedule_takeover(slot, now + options_.rebalance_delay);
  }
}

std::int64_t Core::readable_end(const Partition& partition) const {
  if (options_.mode == Mode::Persistent) return partition.end;
  return partition.once_end ? std::min(partition.end, *partition.once_end) : partition.frontier;
}

std::int64_t Core::cut_bound(const Partition& partition) const {
  const std::int64_t end = readable_end(partition);
  if (restored_.empty()) return end;
  const auto found = restored_.find(index_of(partition));
  return found == restored_.end() ? end : std::min(end, found->second.front().start);
}

bool Core::is_at_once_end(const Partition& partition) const {
  return options_.mode == Mode::Once && partition.once_end &&
         partition.frontier >= *partition.once_end;
}

void Core::update_finish(Partition& partition) {
  Finish finish = Finish::Going;
  const bool recovers = !partition.recovering.empty() || partition.recovery_in_flight;
  // What was settled may have been read across the cut: first it is compared.
  const bool doubts = partition.lineage.cut_seen && !partition.lineage.absent;
  if (partition.lineage.begins_anew) {
    finish = Finish::Going;
  } else if (partition.halted && partition.live == 0) {
    finish = Finish::Stuck;
  } else if (is_at_once_end(partition) && !recovers && !doubts) {
    finish = Finish::Finished;
  }
  if (finish == partition.finish) return;
  finished_ +=
      (finish == Finish::Finished ? 1U : 0U) - (partition.finish == Finish::Finished ? 1U : 0U);
  stuck_ += (finish == Finish::Stuck ? 1U : 0U) - (partition.finish == Finish::Stuck ? 1U : 0U);
  partition.finish = finish;
}

/// Only when everything is durable: whoever hears it may exit (S1, D1).
void Core::say_ended() {
  if (ended_said_ || has_changes() || set_under_way_) return;
  const bool once_over =
      options_.mode == Mode::Once && discovered_ && finished_ + stuck_ == partitions_.size();
  if (once_over) {
    pending_.ended = stuck_ > 0  ? Outcome::Failed
                     : gaps_ > 0 ? Outcome::CompletedWithGaps
                                 : Outcome::Completed;
  } else if (stopping_ && flights_ == 0) {
    pending_.ended = Outcome::Stopped;
  }
  ended_said_ = pending_.ended.has_value();
}

}  // namespace sluice::slicer
