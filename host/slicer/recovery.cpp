// Recover (slicer.md S6): parked ranges run again because a user asks for it, in the worker that
// owns their partition, between its live slices, one at a time. The frontier has passed them and
// stays where it is. Their rows say Parked until the range is delivered, so a host that dies in the
// middle has forgotten nothing, and asking again finds what is left.
//
// A recovered slice is in no list: only its flight knows it. It gets one try: what fails again
// stays parked, with the new error.
#include <algorithm>
#include <utility>

#include "host/slicer/core.hpp"
#include "host/slicer/report_values.hpp"
#include "host/state/offset_list.hpp"

namespace sluice::slicer {

RecoveryStart Core::recover(TopicPartition tp, const std::vector<state::SliceRow>& rows,
                            Milliseconds now) {
  RecoveryStart started;
  Partition* partition = find(tp);
  if (partition == nullptr || stopping_) return started;
  for (const state::SliceRow& row : rows) {
    if (row.start >= row.end || row.end > partition->cut) continue;
    if (!recovering_.insert(row.id).second) continue;
    Slice* slice = slices_.make();
    slice->id = row.id;
    slice->start = row.start;
    slice->end = row.end;
    slice->partition = index_of(*partition);
    slice->epoch = row.epoch;
    slice->attempt = row.attempt + 1;
    slice->recovered = true;
    slice->stable = row.stable;
    inherit_excluded(*slice, state::decode_offsets(row.excluded));
    slice->created = Milliseconds{row.created_ms - options_.unix_ms_at_zero};
    slice->leaves_gap =
        row.execution == options_.execution && row.state == state::SliceState::Parked;
    if (row.error) slice->error = std::make_unique<state::SliceError>(*row.error);
    partition->recovering.push_back(slice);
    ++started.slices;
    started.records_max += static_cast<std::uint64_t>(slice->size());
  }
  update_finish(*partition);
  if (discovered_) enqueue(*partition, now);
  return started;
}

bool Core::may_recover(const Partition& partition, Milliseconds now) const {
  return !partition.recovering.empty() && !partition.recovery_in_flight &&
         partition.recover_at <= now;
}

Core::Published Core::publish_recovered(Partition& partition, Slot slot, Milliseconds now) {
  Slice& slice = *partition.recovering.front();
  const std::int64_t log_end = partition.lineage.confirmed_end;
  if (log_end >= 0 && log_end < slice.end) {
    partition.recovering.erase(partition.recovering.begin());
    recovery_failed(partition, slice,
                    {.stage = "FETCH",
                     .plugin = {},
                     .code = 0,
                     .message = "the log was cut off, it ends at " + std::to_string(log_end)});
    update_finish(partition);
    return Published::NothingToDo;
  }
  if (!has_credit(workers_[slot], slice.size())) return Published::NoCredit;
  const bool token = rate_.take();
  static_cast<void>(token);
  partition.recovering.erase(partition.recovering.begin());
  partition.recovery_in_flight = true;
  send(partition, slice, slot, now);
  return Published::Yes;
}

/// Requires: its flight is over and was live.
void Core::answer_recovered(Partition& partition, Slice& slice, const Answer& answer,
                            Milliseconds now) {
  partition.recovery_in_flight = false;
  const auto failure = static_cast<ipc::FailureClass>(answer.report.failure);
  switch (static_cast<ipc::ReportKind>(answer.report.kind)) {
    case ipc::ReportKind::Done:
      return recovered(partition, slice, answer.report, now);
    case ipc::ReportKind::Failed: {
      new_fence(partition);
      const bool of_record =
          failure == ipc::FailureClass::PluginFail || failure == ipc::FailureClass::Errant;
      if (of_record) return recovery_failed(partition, slice, error_of(answer.report, answer.text));
      return recover_later(partition, slice, now);
    }
    case ipc::ReportKind::Expired:
      new_fence(partition);
      return recovery_failed(partition, slice,
                             {.stage = "FETCH",
                              .plugin = {},
                              .code = 0,
                              .message = "offset " + std::to_string(answer.report.next_offset) +
                                         " is not in the log any more"});
    default:
      // Returned, with what the worker has of the lane: a stop, a move, a failure beside it.
      new_fence(partition);
      return recover_later(partition, slice, now);
  }
}

void Core::recovered(Partition& partition, Slice& slice, const ipc::Report& report,
                     Milliseconds now) {
  ++counts_.recovered;
  if (report.records > 0) ++proofs_;
  add(partition.totals, counts_of(report));
  add(totals_, counts_of(report));
  if (slice.leaves_gap && gaps_ > 0) --gaps_;
  slice.error.reset();
  state::SliceRow row = row_of(partition, slice);
  row.state = state::SliceState::Completed;
  row.counts = counts_of(report);
  row.times = times_of(report);
  row.settled_ms = unix_ms(now);
  changes_.add_row(std::move(row));
  changed(partition);
  notice(Notice::Kind::Recovered, partition, &slice);
  forget_recovered(slice);
}

void Core::recovery_failed(Partition& partition, Slice& slice, state::SliceError error) {
  slice.error = std::make_unique<state::SliceError>(std::move(error));
  state::SliceRow row = row_of(partition, slice);
  row.state = state::SliceState::Parked;
  row.cause = state::Cause::Parked;
  changes_.add_row(std::move(row));
  notice(Notice::Kind::Unrecovered, partition, &slice, slice.error->message);
  forget_recovered(slice);
}

/// Not its fault: the same range again, after the others.
void Core::recover_later(Partition& partition, Slice& slice, Milliseconds now) {
  if (stopping_) return forget_recovered(slice);  // its row still says Parked
  partition.recovering.push_back(&slice);
  partition.recover_at = now + jittered(options_.retry_delay, options_.retry_delay_max, 0);
  deadlines_.add({partition.recover_at, DeadlineKind::Retry, index_of(partition)});
}

/// The store says Parked until its row is durable: until then it may not be asked for again.
void Core::forget_recovered(Slice& slice) {
  recovery_over_.push_back(slice.id);
  slices_.free(&slice);
}

}  // namespace sluice::slicer
