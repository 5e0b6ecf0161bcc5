// Isolate: find the one record that a plugin cannot survive, and set only it aside (slicer.md F3).
//
// The suspect is replaced by parts: around the record that the plugin had in hand where that is
// known, else halves. Each part runs alone, in a fresh process, in order. Parts that complete are
// done; the one that fails is narrowed down further. When the left half has completed the right one
// must hold the culprit and is halved without a run. So n records cost at most log2(n) + 1 deaths,
// usually two.
//
// A single record that fails alone is convicted only if the plugin had completed something else
// between its first failure and this run: else it is the environment (F2) that fails everybody.
// Where nothing else is there to complete, the record that failed alone is put off once, and what
// comes behind it is tried first.
//
// The parts of a stable slice are probes, and the slice itself runs in the end: probes.cpp.
#include <algorithm>
#include <string>
#include <utility>

#include "host/slicer/core.hpp"

namespace sluice::slicer {

/// The record that was in the plugin's hands, if the death names one of this slice.
std::int64_t Core::record_in_hand(const Slice& slice, const Accusation& accusation) {
  const std::int64_t batch = batch_in_hand(accusation);
  if (batch < slice.start) return kNoOffset;
  // A first guess where the log has holes: the worker counts records, not offsets.
  return std::min(batch + accusation.position, slice.end - 1);
}

/// A death or hang of the suspect under `isolate`: no further attempt, F3 starts at once.
/// Requires: the slice is waiting.
void Core::isolate_accused(Slice& slice, bool alone, const Accusation& accusation,
                           std::size_t accused_count, Milliseconds now) {
  Partition& partition = partitions_[slice.partition];
  const std::int64_t record = record_in_hand(slice, accusation);
  // A flush of several slices says nothing about any of them: each of them runs alone first.
  if (!alone && record == kNoOffset && accused_count > 1) return;
  if (alone) ++counts_.charged;
  narrow_down(partition, slice, record, error_of(accusation), now);
}

/// Requires: the slice is waiting and has failed in a way that a record may be to blame for.
void Core::narrow_down(Partition& partition, Slice& slice, std::int64_t record,
                       state::SliceError error, Milliseconds now) {
  if (partition.isolation == nullptr) partition.isolation = std::make_unique<Isolation>();
  set_suspect(partition, slice);
  const bool ran_alone = std::exchange(slice.part, !slice.stable);
  if (record != kNoOffset && !std::exchange(partition.isolation->guess_left, false)) {
    record = kNoOffset;
  }
  if (slice.proofs_before == kNoProofs) slice.proofs_before = proofs_;
  slice.error = std::make_unique<state::SliceError>(error);
  // What was tried in its place fails as well: nothing tells this plugin's records apart.
  if (first_waiting(partition) != &slice && stop_putting_off(partition, now)) return;
  if (slice.stable) return search(partition, slice, record, now);
  if (slice.size() > 1) return split(partition, slice, record, now);
  if (ran_alone) return judge_record(partition, slice, std::move(error), now);
  // Before anything behind it may be tried: nothing may be wrong with it.
  notice(Notice::Kind::Isolating, partition, &slice, error.message);
  changes_.slice_changed(slice);
  retry_later(partition, slice.environment_failures, now);
}

/// What is behind a record without a verdict says nothing about it: it is tried again itself.
bool Core::stop_putting_off(Partition& partition, Milliseconds now) {
  Slice* undecided = first_waiting(partition);
  if (undecided == nullptr || !undecided->put_off) return false;
  undecided->put_off = false;
  retry_later(partition, ++undecided->environment_failures, now);
  return true;
}

/// [start, record), [record, record + 1), [record + 1, end), or halves.
void Core::split(Partition& partition, Slice& slice, std::int64_t record, Milliseconds now) {
  notice(Notice::Kind::Isolating, partition, &slice, slice.error->message);
  std::vector<std::int64_t> borders{slice.start};
  const bool known = record >= slice.start && record < slice.end;
  if (known && record > slice.start) borders.push_back(record);
  if (known && record + 1 < slice.end) borders.push_back(record + 1);
  if (!known && slice.size() > 1) borders.push_back(slice.start + slice.size() / 2);
  borders.push_back(slice.end);

  const bool probe = slice.stable || slice.probe;
  Slice* last = &slice;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    Slice& part = insert_waiting(partition, last, borders[i], borders[i + 1], now);
    part.part = true;
    part.probe = probe;
    // The other half completed: then it is in this one.
    if (!known && !probe && last != &slice) part.follows = last->id;
    // Behind the record that was named nothing has failed yet.
    const bool accused = !known || part.start <= record;
    if (accused) part.proofs_before = slice.proofs_before;
    part.error = std::make_unique<state::SliceError>(*slice.error);
    set_suspect(partition, part);
    changes_.slice_changed(part);
    last = &part;
  }
  replace(partition, slice);
}

/// Its parts are in the list, it goes. Only the slice that was cut from the log keeps a row.
void Core::replace(Partition& partition, Slice& slice) {
  if (slice.stable) return begin_search(partition, slice);
  if (slice.probe) return drop(partition, slice);
  if (within_isolation(partition, slice)) return drop(partition, slice);
  partition.isolation->replaced.push_back({slice.id, slice.start, slice.end});
  state::SliceRow row = row_of(partition, slice);
  row.state = state::SliceState::Isolating;
  changes_.add_row(std::move(row));
  slice.has_row = false;
  drop(partition, slice);
}

/// A part is done. Its right neighbour holds the culprit if the two are the halves of what failed.
void Core::part_completed(Partition& partition, const Slice& part, Milliseconds now) {
  Slice* next = part.next;
  if (next == nullptr || next->follows != part.id) return;
  next->follows = 0;
  if (next->size() > 1) split(partition, *next, kNoOffset, now);
}

/// One record failed, alone and in a fresh process (F3.2).
void Core::judge_record(Partition& partition, Slice& slice, state::SliceError error,
                        Milliseconds now) {
  // What completed while it ran says nothing about how it began: a call may hang in an outage that
  // is over for everybody else.
  if (slice.proofs_at_send > slice.proofs_before) {
    return convict(partition, slice, std::move(error), now);
  }
  if (++slice.environment_failures >= options_.attempts_max) {
    error.message +=
        " (no other slice completed since: not the record's fault as far as can be told)";
    return halt(partition, &slice, std::move(error), now);
  }
  notice(Notice::Kind::Undecided, partition, &slice, error.message);
  slice.put_off = true;
  changes_.slice_changed(slice);
  retry_later(partition, slice.environment_failures, now);
}

void Core::convict(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now) {
  auto& verdicts = verdicts_[index_of(partition)];
  while (!verdicts.empty() && now - verdicts.front() >= kVerdictWindow) verdicts.pop_front();
  if (verdicts.size() >= options_.isolate_max) {
    error.message += " (slice.isolate.max: " + std::to_string(options_.isolate_max) +
                     " records were set aside within an hour)";
    return halt(partition, &slice, std::move(error), now);
  }
  if (slice.probe && is_excluded_full(partition)) {
    error.message += " (more than " + std::to_string(ipc::kExcludedMax) +
                     " records of one slice cannot be left out of it)";
    return halt(partition, &slice, std::move(error), now);
  }
  verdicts.push_back(now);
  ++counts_.isolated;
  if (partition.isolation != nullptr) {
    partition.isolation->guess_left = partition.isolation->is_culprit_found = true;
  }
  // What is left of the slice is innocent until it fails by itself.
  for (Slice* other = first_waiting(partition); other != nullptr; other = other->next) {
    other->proofs_before = kNoProofs;
  }
  notice(Notice::Kind::Isolated, partition, &slice, error.message);
  if (options_.dead_letters == DeadLetters::None) return skip_poison(partition, slice, now);
  // No plugin sees it again, so it needs neither to be alone nor a fresh process.
  clear_suspect(partition, slice);
  slice.part = slice.put_off = false;
  slice.dead_letter = true;
  slice.environment_failures = slice.environment_deaths = 0;
  slice.state = state::SliceState::Ready;
  partition.retry_at = now;
  changes_.slice_changed(slice);
}

void Core::skip_poison(Partition& partition, Slice& slice, Milliseconds now) {
  ++counts_.skipped;
  ++counts_.skipped_records;
  settle_aside(partition, slice, state::SliceState::Skipped, state::Cause::Poison, now);
}

/// The worker has written the dead letter, and the broker has it.
void Core::dead_lettered(Partition& partition, Slice& slice, Milliseconds now) {
  ++counts_.dead_lettered;
  settle_aside(partition, slice, state::SliceState::DeadLettered, state::Cause::DeadLettered, now);
}

/// Set aside, on record, with its error; the lane goes on behind it.
void Core::settle_aside(Partition& partition, Slice& slice, state::SliceState state,
                        state::Cause cause, Milliseconds now) {
  add_settled_row(partition, slice, state, cause, now);
  // What comes behind it may only run when nobody can forget that it was set aside: after a crash
  // of the host it would run again, behind its successors.
  partition.held_until = token_ + 1;
  partition.retry_at = now;
  if (slice.probe) return exclude(partition, slice, state, cause, now);
  settle(partition, slice, state, cause, now);
}

/// Rows of slices that are being isolated come back with the host: what is left of them goes on in
/// parts.
void Core::restore_isolation(Partition& partition, const state::SliceRow& row) {
  if (partition.isolation == nullptr) partition.isolation = std::make_unique<Isolation>();
  partition.isolation->replaced.push_back({row.id, row.start, row.end});
}

bool Core::within_isolation(const Partition& partition, const Slice& slice) const {
  if (partition.isolation == nullptr) return false;
  const auto& replaced = partition.isolation->replaced;
  return std::any_of(replaced.begin(), replaced.end(), [&](const ReplacedSlice& whole) {
    return slice.start >= whole.start && slice.end <= whole.end;
  });
}

/// All parts below the frontier are settled: they stand for the slice now.
void Core::end_isolation(Partition& partition) {
  if (partition.isolation == nullptr) return;
  std::erase_if(partition.isolation->replaced, [&](const ReplacedSlice& whole) {
    if (whole.end > partition.frontier) return false;
    changes_.delete_row(whole.id);
    return true;
  });
  const bool is_over = partition.isolation->replaced.empty() && !is_searched(partition);
  if (is_over && partition.suspects == 0) partition.isolation.reset();
}

}  // namespace sluice::slicer
