// What workers say, judged before it is believed (ipc facts 3.4 rules 4 and 5, slicer.md C3, C4).
#include <algorithm>
#include <optional>
#include <utility>

#include "host/base/assert.hpp"
#include "host/slicer/core.hpp"
#include "host/slicer/report_check.hpp"
#include "host/slicer/report_values.hpp"

namespace sluice::slicer {
void Core::violate(Slot slot, Rule rule, std::uint64_t slice_id) {
  Worker& worker = workers_[slot];
  ++counts_.violations;
  worker.condemned = true;
  pending_.violations.push_back({slot, worker.incarnation, rule, slice_id});
}

void Core::report(Slot slot, std::uint64_t incarnation, const ipc::Report& report,
                  std::string_view text, Milliseconds now) {
  SLUICE_ASSERT(slot < workers_.size(), slot);
  Worker& worker = workers_[slot];
  if (worker.incarnation != incarnation || worker.condemned) {
    ++counts_.stale_reports;
    const Partition* late = find({report.topic, report.partition});
    if (late != nullptr) notice_late(*late, slot, report);
    return;
  }
  const auto kind = static_cast<ipc::ReportKind>(report.kind);
  if (kind == ipc::ReportKind::Ready || kind == ipc::ReportKind::LogLost) return;
  Partition* partition = find({report.topic, report.partition});
  if (partition == nullptr) return violate(slot, Rule::WrongPartition, report.slice_id);
  switch (kind) {
    case ipc::ReportKind::Seen:
    case ipc::ReportKind::Opened:
      if (report.next_offset < 0) return violate(slot, Rule::NextOutside, 0);
      if (kind == ipc::ReportKind::Seen) return hint(*partition, slot, report.next_offset, now);
      partition->opened = partition->opened || (partition->slot == slot && !any_worker());
      return;
    case ipc::ReportKind::Waiting:
      if (partition->slot == slot || any_worker()) {
        state::SliceError why = error_of(report, text);
        if (!why.plugin.empty()) why.message = why.plugin + ": " + why.message;
        waits_[index_of(*partition)] = {report.attempt, std::move(why.message)};
      }
      return;
    default:
      return settle_report(slot, report, text, now);
  }
}

void Core::settle_report(Slot slot, const ipc::Report& report, std::string_view text,
                         Milliseconds now) {
  Worker& worker = workers_[slot];
  const auto found = worker.flights.find({report.slice_id, report.fence});
  if (found == worker.flights.end()) {
    const bool other_fence =
        std::any_of(worker.flights.begin(), worker.flights.end(),
                    [&](const auto& entry) { return entry.first.slice_id == report.slice_id; });
    return violate(slot, other_fence ? Rule::WrongFence : Rule::UnknownSlice, report.slice_id);
  }
  const Flight flight = found->second;
  Partition& partition = partitions_[flight.partition];
  if (partition.tp != TopicPartition{report.topic, report.partition}) {
    return violate(slot, Rule::WrongPartition, report.slice_id);
  }
  if (const auto rule = broken_rule(report, flight)) return violate(slot, *rule, report.slice_id);
  const auto kind = static_cast<ipc::ReportKind>(report.kind);
  const bool claims_work = kind == ipc::ReportKind::Done || kind == ipc::ReportKind::Survived ||
                           (kind == ipc::ReportKind::Released && report.next_offset > flight.start);
  const bool in_line = flight.slice != nullptr && !flight.slice->recovered &&
                       !flight.slice->compare && !any_worker();
  if (in_line && claims_work && !first_in_flight(partition, *flight.slice)) {
    return violate(slot, Rule::SettledOutOfOrder, report.slice_id);
  }
  worker.flights.erase(found);
  answered(slot, partition, flight, report.fence);
  if (flight.slice == nullptr) {
    ++counts_.stale_reports;
    // Returned is what was asked for; anything else is an old owner that goes on (B17).
    if (kind != ipc::ReportKind::Released) notice_late(partition, slot, report);
  } else if (flight.slice->compare) {
    answer_comparison(partition, *flight.slice, {report, text, slot}, now);
  } else if (flight.slice->recovered) {
    answer_recovered(partition, *flight.slice, {report, text, slot}, now);
  } else {
    const Answer answer{report, text, slot};
    switch (kind) {
      case ipc::ReportKind::Done:
        done(partition, *flight.slice, answer, now);
        break;
      case ipc::ReportKind::Survived:
        survived(partition, *flight.slice, report, now);
        break;
      case ipc::ReportKind::Released:
        released(partition, *flight.slice, answer, now);
        break;
      case ipc::ReportKind::Failed:
        failed(partition, *flight.slice, answer, now);
        break;
      default:
        expired(partition, *flight.slice);
        break;
    }
  }
  if (partition.verifying && partition.live == 0) verify_expired(partition);
  if (partition.moving_to != kNoSlot && partition.flights == 0) finish_move(partition, now);
  update_finish(partition);
  enqueue(partition, now);
}

void Core::notice_late(const Partition& partition, Slot slot, const ipc::Report& report) {
  notice(Notice::Kind::StaleReport, partition, nullptr);
  pending_.notices.back().slot = slot;
  pending_.notices.back().slice_id = report.slice_id;
}

bool Core::first_in_flight(const Partition& partition, const Slice& slice) const {
  for (const Slice* earlier = slice.previous; earlier != nullptr; earlier = earlier->previous) {
    if (!state::is_settled(earlier->state) && !earlier->put_off) return false;
  }
  return partition.slot != kNoSlot;
}

/// The flight is over, whatever it brought: its credit is free again (C1, ipc facts 3.2).
void Core::answered(Slot slot, Partition& partition, const Flight& flight, std::uint32_t fence) {
  Worker& worker = workers_[slot];
  worker.records_in_flight -= flight.end - flight.start;
  if (flight.alone) worker.alone_in_flight = false;
  --partition.flights;
  --flights_;
  if (flight.slice == nullptr) return;
  --partition.live;
  if (any_worker()) {
    any_reads_ahead_.push_back({index_of(partition), slot, fence});
  } else {
    if (fence != partition.fence) --partition.live_older;
    partition.opened = true;
  }
  if (!waits_.empty()) waits_.erase(flight.partition);
}

void Core::done(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now) {
  if (slice.dead_letter) return dead_lettered(partition, slice, now);
  if (slice.part) part_completed(partition, slice, now);
  complete(partition, slice, answer.report, now);
}

/// Everything from next_offset on is given back (C3): uncut again where nobody has a claim on it.
/// What was published after it comes back under the old fence.
void Core::released(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now) {
  ++counts_.released;
  const std::int64_t next = answer.report.next_offset;
  const std::int64_t old_end = slice.end;
  give_back(partition, &slice);
  new_fence(partition);
  if (next > slice.start) {
    // The rest keeps what the slice owes: its attempts, and that it is a suspect.
    Slice& rest = insert_waiting(partition, &slice, next, old_end, now);
    rest.attempt = slice.attempt;
    rest.part = slice.part;
    rest.proofs_before = slice.proofs_before;
    if (slice.suspect) set_suspect(partition, rest);
    if (slice.has_row && rest.attempt > 1) changes_.slice_changed(rest);
    slice.end = next;
    if (partition.slices.waiting == &slice) partition.slices.waiting = &rest;
    complete(partition, slice, answer.report, now);
  }
  uncut_tail(partition);
  // The worker was at the end of the log, or was asked to give it back. Only the latter leaves
  // `end` alone; else it is not believed until somebody says again that there is more.
  const bool asked_back = partition.moving_to != kNoSlot || partition.halted || stopping_ ||
                          partition.lineage.due || partition.lineage.begins_anew;
  if (!asked_back && next < partition.end) {
    partition.end = next;
    partition.hint = -1;
    partition.sample_interval = sample_interval_min();
    sample_later(partition, now);
  }
}

void Core::failed(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now) {
  ++counts_.failed;
  give_back(partition, &slice);
  new_fence(partition);
  slice.failed_at = answer.report.next_offset;
  state::SliceError error = error_of(answer.report, answer.text);
  const auto failure = static_cast<ipc::FailureClass>(answer.report.failure);
  switch (failure) {
    case ipc::FailureClass::PluginFail:
    case ipc::FailureClass::Errant:
      charge(partition, slice, std::move(error), now);
      break;
    case ipc::FailureClass::Configuration:
      pending_.job_failure = JobFailure{error};
      environment_failure(partition, slice, failure, std::move(error), now);
      break;
    default:
      environment_failure(partition, slice, failure, std::move(error), now);
      break;
  }
  uncut_tail(partition);
}

/// Only a worker's word so far: the host asks Kafka before anything is skipped (C3).
void Core::expired(Partition& partition, Slice& slice) {
  give_back(partition, &slice);
  new_fence(partition);
  uncut_tail(partition);
  partition.verifying = true;
}

void Core::complete(Partition& partition, Slice& slice, const ipc::Report& report,
                    Milliseconds now) {
  const state::Counts counts = counts_of(report);
  const state::PhaseTimes times = times_of(report);
  add(partition.totals, counts);
  add(totals_, counts);
  ++counts_.completed;
  if (counts.in > 0) ++proofs_;
  if (report.last_offset >= 0 && !partition.lineage.cut_seen) {
    remember(partition.lineage.fingerprints,
             {report.last_offset, report.last_timestamp, report.last_digest},
             partition.lineage.vouched);
    partition.lineage.unproved = false;
  }
  measure(partition, slice, report.bytes);
  if (slice.attempt == 1 && !slice.suspect && !slice.stable) {
    extend_run(partition, slice, counts, times, now);
  } else {
    state::SliceRow row = row_of(partition, slice);
    row.state = state::SliceState::Completed;
    row.counts = counts;
    row.times = times;
    row.settled_ms = unix_ms(now);
    changes_.add_row(std::move(row));
  }
  settle(partition, slice, state::SliceState::Completed, state::Cause::None, now);
}

/// Bytes per offset, not per record: slices are cut in offsets, and holes weigh nothing.
void Core::measure(Partition& partition, const Slice& slice, std::uint64_t bytes) {
  const float now = static_cast<float>(bytes) / static_cast<float>(slice.size());
  float& mean = partition.bytes_per_offset;
  mean = mean <= 0 ? now : 0.75F * mean + 0.25F * now;
  topics_[partition.tp.topic].bytes_per_offset = mean;
}

}  // namespace sluice::slicer
