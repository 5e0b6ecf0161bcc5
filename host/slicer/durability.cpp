// Rows and change sets (R1-R4): what must be on disk, taken when the state thread is free.
#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"
#include "host/slicer/core.hpp"
#include "host/state/offset_list.hpp"

namespace sluice::slicer {

state::PartitionRow Core::row_of(const Partition& partition) const {
  const Topic& topic = topics_[partition.tp.topic];
  state::PartitionRow row;
  row.topic = topic.name;
  row.partition = partition.tp.partition;
  row.lane = partition.lane;
  row.topic_incarnation = partition.incarnation;
  row.epoch = partition.epoch;
  row.start_offset = partition.start_offset;
  row.frontier = partition.frontier;
  row.worker_slot = partition.slot;
  row.once_end = partition.once_end;
  row.slices_settled = partition.slices_settled;
  row.totals = partition.totals;
  row.fingerprints = stored_text(partition.lineage);
  if (partition.frontier < partition.lineage.lowered_from) {
    row.lowered_from = partition.lineage.lowered_from;
  }
  return row;
}

state::SliceRow Core::row_of(const Partition& partition, const Slice& slice) const {
  const Topic& topic = topics_[partition.tp.topic];
  state::SliceRow row;
  row.id = slice.id;
  row.execution = options_.execution;
  row.topic = topic.name;
  row.partition = partition.tp.partition;
  row.lane = partition.lane;
  row.topic_incarnation = partition.incarnation;
  row.start = slice.start;
  row.end = slice.end;
  row.epoch = slice.epoch;
  row.attempt = slice.attempt;
  row.worker = slice.worker;
  row.state = slice.state;
  row.halted = slice.halted;
  row.stable = slice.stable;
  if (slice.dead_letter) row.cause = state::Cause::Poison;
  if (slice.excluded != nullptr) row.excluded = state::encode_offsets(*slice.excluded);
  row.created_ms = unix_ms(slice.created);
  row.dispatched_ms = slice.worker.pid != 0 ? unix_ms(slice.dispatched) : 0;
  if (slice.error != nullptr) row.error = *slice.error;
  return row;
}

state::SliceRow Core::row_of(const Partition& partition, const CompletedRun& run) const {
  const Topic& topic = topics_[partition.tp.topic];
  state::SliceRow row;
  row.id = run.id;
  row.execution = options_.execution;
  row.topic = topic.name;
  row.partition = partition.tp.partition;
  row.lane = partition.lane;
  row.topic_incarnation = partition.incarnation;
  row.start = run.start;
  row.end = run.end;
  row.epoch = run.epoch;
  row.worker = run.worker;
  row.state = state::SliceState::Completed;
  row.slice_count = run.slice_count;
  row.counts = run.counts;
  row.times = run.times;
  row.created_ms = unix_ms(run.created);
  row.dispatched_ms = unix_ms(run.dispatched);
  row.settled_ms = unix_ms(run.settled);
  return row;
}

/// The slice's own row, with what became of it.
void Core::add_settled_row(const Partition& partition, const Slice& slice, state::SliceState state,
                           state::Cause cause, Milliseconds now) {
  state::SliceRow row = row_of(partition, slice);
  row.state = state;
  row.cause = cause;
  row.settled_ms = unix_ms(now);
  changes_.add_row(std::move(row));
}

/// R3: the next clean completion of the same worker and lane costs no row of its own.
void Core::extend_run(Partition& partition, const Slice& slice, const state::Counts& counts,
                      const state::PhaseTimes& times, Milliseconds now) {
  CompletedRun& run = partition.run;
  if (run.id == 0 || run.end != slice.start || run.worker != slice.worker ||
      run.epoch != slice.epoch) {
    close_run(partition);
    run = CompletedRun{};
    run.id = slice.id;
    run.start = slice.start;
    run.epoch = slice.epoch;
    run.worker = slice.worker;
    run.created = slice.created;
    run.dispatched = slice.dispatched;
  } else if (slice.has_row) {
    changes_.delete_row(slice.id);
  }
  run.end = slice.end;
  run.dirty = true;
  run.settled = now;
  ++run.slice_count;
  run.counts.in += counts.in;
  run.counts.out += counts.out;
  run.counts.filtered += counts.filtered;
  run.counts.errant += counts.errant;
  run.counts.bytes += counts.bytes;
  run.times.fetch_us += times.fetch_us;
  run.times.process_us += times.process_us;
  run.times.put_us += times.put_us;
  run.times.flush_us += times.flush_us;
  run.times.state_us += times.state_us;
  run.times.wait_us += times.wait_us;
}

void Core::close_run(Partition& partition) {
  if (std::exchange(partition.run.dirty, false)) changes_.add_row(row_of(partition, partition.run));
}

void Core::add_gap(const Partition& partition, const Slice& slice, state::Cause cause,
                   Milliseconds now) {
  if (state::leaves_gap(cause) && slice.size() > 0) ++gaps_;
  const Topic& topic = topics_[partition.tp.topic];
  state::GapRow gap;
  gap.execution = options_.execution;
  gap.topic = topic.name;
  gap.partition = partition.tp.partition;
  gap.lane = partition.lane;
  gap.topic_incarnation = partition.incarnation;
  gap.start = slice.start;
  gap.end = slice.end;
  gap.cause = cause;
  gap.records_max = static_cast<std::uint64_t>(slice.size());
  gap.slice_id = slice.id;
  gap.at_ms = unix_ms(now);
  if (slice.error != nullptr) gap.detail = slice.error->message;
  changes_.add_gap(std::move(gap));
}

/// Merged rows hide the ids of the slices in them, so a host that comes back could not know which
/// were used: an id is published only below a bound that is durable. Four times what the time
/// between two sets has used, so that a busy slicer never waits for it and an idle one leaves small
/// holes.
std::uint64_t Core::reserve_ids() {
  const std::uint64_t used = next_slice_id_ - std::exchange(id_at_last_set_, next_slice_id_);
  ids_ahead_ = std::max(kIdsAheadMin, 4 * used);
  return ids_run_low() ? next_slice_id_ + ids_ahead_ : ids_durable_;
}

state::ChangeSet Core::take_changes(Milliseconds now) {
  static_cast<void>(now);
  SLUICE_ASSERT(!set_under_way_, token_);
  state::ChangeSet set;
  set.token = ++token_;
  set_under_way_ = true;
  set.next_slice_id = ids_under_way_ = reserve_ids();
  recovery_under_way_ = std::exchange(recovery_over_, {});
  cut_under_way_ = std::exchange(cut_ahead_, {});
  set.slices_upserted = changes_.take_rows();
  for (const SliceRef& changed : changes_.take_slices()) {
    // A settled one has been written with what became of it.
    if (!changed.holds() || state::is_settled(changed.slice->state)) continue;
    changed.slice->row_listed = false;
    set.slices_upserted.push_back(row_of(partitions_[changed.slice->partition], *changed.slice));
  }
  under_way_.clear();
  for (const PartitionIndex index : changes_.take_partitions()) {
    Partition& partition = partitions_[index];
    partition.dirty = false;
    if (std::exchange(partition.run.dirty, false)) {
      set.slices_upserted.push_back(row_of(partition, partition.run));
    }
    set.partitions.push_back(row_of(partition));
    set.partitions.back().reset = std::exchange(partition.lineage.reset, false);
    under_way_.emplace_back(index, partition.frontier);
  }
  set.slices_deleted = changes_.take_deleted();
  set.gaps = changes_.take_gaps();
  set.first_counts = changes_.take_first_counts();
  return set;
}

std::vector<FrontierCommit> Core::persisted(std::uint64_t token, Milliseconds now) {
  SLUICE_ASSERT(set_under_way_ && token == token_, token, token_);
  set_under_way_ = false;
  ids_durable_ = ids_under_way_;
  for (const std::uint64_t id : std::exchange(recovery_under_way_, {})) recovering_.erase(id);
  std::vector<FrontierCommit> commits;
  for (const auto& [index, frontier] : under_way_) {
    Partition& partition = partitions_[index];
    partition.durable_frontier = frontier;
    if (partition.held_until <= token) partition.held_until = 0;
    if (frontier > partition.committed_frontier) {
      partition.committed_frontier = frontier;
      commits.push_back({partition.tp, frontier});
    }
    enqueue(partition, now);
  }
  under_way_.clear();
  publish_cut_ahead(token, now);
  return commits;
}

}  // namespace sluice::slicer
