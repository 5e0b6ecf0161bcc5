// What a failure costs whom (slicer.md section 4): attempts and back-off, halt and park, positions
// that are no longer in the log. Isolating is isolation.cpp's.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "host/slicer/core.hpp"

namespace sluice::slicer {

void Core::notice(Notice::Kind kind, const Partition& partition, const Slice* slice,
                  std::string text) {
  Notice& added = pending_.notices.emplace_back();
  added.kind = kind;
  added.tp = partition.tp;
  added.slot = slice != nullptr && slice->worker.pid != 0 ? slice->worker.slot : partition.slot;
  added.text = std::move(text);
  if (slice == nullptr) return;
  added.slice_id = slice->id;
  added.attempt = slice->attempt;
  added.start = slice->start;
  added.end = slice->end;
}

/// The slice itself failed, alone: one attempt is used. Requires: it is waiting again.
void Core::charge(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now) {
  ++counts_.charged;
  notice(Notice::Kind::Charged, partition, &slice, error.message);
  // A part of an isolated slice has no attempts of its own.
  if (slice.part) return narrow_down(partition, slice, kNoOffset, std::move(error), now);
  slice.environment_failures = slice.environment_deaths = 0;
  if (slice.attempt >= options_.attempts_max) {
    switch (options_.on_failure) {
      case OnFailure::Park:
        return park(partition, slice, std::move(error), now);
      case OnFailure::Isolate:
        return narrow_down(partition, slice, kNoOffset, std::move(error), now);
      case OnFailure::Halt:
        return halt(partition, &slice, std::move(error), now);
    }
  }
  slice.state = state::SliceState::Retrying;
  slice.error = std::make_unique<state::SliceError>(std::move(error));
  changes_.slice_changed(slice);
  retry_later(partition, slice.attempt, now);
}

/// F2: not the slice's fault, so no attempt is used and nothing is ever set aside. Kafka's troubles
/// end by themselves; what else lasts for slice.attempts.max reports in a row stops the partition.
void Core::environment_failure(Partition& partition, Slice& slice, ipc::FailureClass failure,
                               state::SliceError error, Milliseconds now) {
  ++slice.environment_failures;
  if (failure != ipc::FailureClass::Kafka && slice.environment_failures >= options_.attempts_max) {
    return halt(partition, &slice, std::move(error), now);
  }
  slice.error = std::make_unique<state::SliceError>(std::move(error));
  changes_.slice_changed(slice);
  retry_later(partition, slice.environment_failures, now);
}

/// Doubling, the upper half of it by chance: partitions that failed together do not come back
/// together.
Milliseconds Core::jittered(Milliseconds first, Milliseconds most, std::uint32_t doublings) {
  const std::int64_t full =
      std::min<std::int64_t>(first.count() << std::min<std::uint32_t>(doublings, 20), most.count());
  const std::int64_t half = full / 2;
  const auto chance =
      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(half) + 1));
  return Milliseconds{full - half + chance};
}

void Core::retry_later(Partition& partition, std::uint32_t failures, Milliseconds now) {
  partition.retry_at = now + jittered(options_.retry_delay, options_.retry_delay_max,
                                      failures > 0 ? failures - 1 : 0);
  deadlines_.add({partition.retry_at, DeadlineKind::Retry, index_of(partition)});
}

void Core::quarantine_changed(Partition& partition, int by) {
  if (partition.slot == kNoSlot) return;
  worker_of(partition).suspect_partitions += static_cast<std::uint32_t>(by);
}

/// Of a probe nobody has a record: then it is the slice that it is of.
void Core::halt(Partition& partition, Slice* slice, state::SliceError error, Milliseconds now) {
  if (slice != nullptr && slice->probe) {
    const std::int64_t failed_at = slice->start;
    slice = partition.isolation->whole;
    slice->failed_at = failed_at;
    end_search(partition);
  }
  if (slice != nullptr) {
    slice->state = state::SliceState::Retrying;
    slice->halted = true;
    slice->error = std::make_unique<state::SliceError>(error);
    changes_.slice_changed(*slice);
  }
  // A second slice of the lane: a worker that answers out of order. It is said once.
  if (std::exchange(partition.halted, true)) return;
  if (partition.suspects > 0) quarantine_changed(partition, -1);
  Halted& halted = pending_.halted.emplace_back();
  halted.tp = partition.tp;
  halted.offset = partition.frontier;
  halted.slot = partition.slot;
  halted.error = error;
  if (slice != nullptr) {
    halted.slice_id = slice->id;
    halted.attempts = slice->attempt;
    if (any_worker()) halted.slot = slice->worker.slot;
    if (slice->failed_at >= slice->start && slice->failed_at < slice->end) {
      halted.offset = slice->failed_at;
    }
  }
  halts_[index_of(partition)] = {halted.slice_id, halted.offset, std::move(error)};
  update_finish(partition);
  if (slice != nullptr) schedule_restart(partition, now);
}

/// F4: the back-off doubles with every restart that did not last. Only what a slice has halted:
/// an expired offset under policy none is still expired later. A once execution ends instead (S1).
void Core::schedule_restart(Partition& partition, Milliseconds now) {
  if (options_.mode == Mode::Once) return;
  if (now - partition.restart_at >= options_.restart_reset) partition.restarts = 0;
  if (options_.restarts_max >= 0 && partition.restarts >= options_.restarts_max) return;
  const Milliseconds delay =
      jittered(options_.restart_backoff, options_.restart_backoff_max, partition.restarts);
  ++partition.restarts;
  partition.restart_at = now + delay;
  deadlines_.add({partition.restart_at, DeadlineKind::Restart, index_of(partition)});
}

void Core::restart_due(Partition& partition, Milliseconds now) {
  if (stopping_ || all_halted_) return;
  if (partition.halted && partition.restart_at <= now) restart(partition, now);
}

void Core::halt_all(const state::SliceError& why, Milliseconds now) {
  all_halted_ = true;
  for (Partition& partition : partitions_) {
    if (partition.halted || partition.finish == Finish::Finished) continue;
    halt(partition, nullptr, why, now);
    // One that moves has been asked back already, and nobody gets it while it is halted.
    if (partition.slot == kNoSlot || partition.moving_to != kNoSlot) continue;
    revoke(partition);
    new_fence(partition);
  }
  if (any_worker()) ask_back_all();
}

/// Set aside, on record; the lane goes on behind it. recover replays it (S6).
void Core::park(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now) {
  ++counts_.parked;
  slice.error = std::make_unique<state::SliceError>(std::move(error));
  notice(Notice::Kind::Parked, partition, &slice, slice.error->message);
  settle_aside(partition, slice, state::SliceState::Parked, state::Cause::Parked, now);
}

void Core::restart(Partition& partition, Milliseconds now) {
  const HaltedAt at = halts_[index_of(partition)];
  halts_.erase(index_of(partition));
  partition.halted = false;
  partition.retry_at = now;
  notice(Notice::Kind::Restarted, partition, nullptr, at.error.message);
  if (partition.suspects > 0) quarantine_changed(partition, 1);
  for (Slice* slice = first_waiting(partition); slice != nullptr; slice = slice->next) {
    if (!slice->halted) continue;
    slice->halted = false;
    slice->state = state::SliceState::Ready;
    slice->attempt = 1;
    slice->environment_failures = slice->environment_deaths = 0;
    slice->put_off = slice->searched = false;
    changes_.slice_changed(*slice);
  }
  if (at.slice_id == 0 && !partition.lineage.due) partition.verifying = true;
  if (partition.verifying) verify_expired(partition);
  ended_said_ = false;
  update_finish(partition);
  enqueue(partition, now);
}

void Core::restart_halted(Milliseconds now) {
  all_halted_ = false;
  std::vector<PartitionIndex> halted;
  for (const auto& [index, at] : halts_) halted.push_back(index);
  for (const PartitionIndex index : halted) restart(partitions_[index], now);
}

void Core::restart_halted(TopicPartition tp, Milliseconds now) {
  Partition* partition = find(tp);
  if (partition != nullptr && partition->halted) restart(*partition, now);
}

void Core::verify_expired(Partition& partition) {
  if (partition.low_asked || partition.live > 0) return;
  partition.low_asked = true;
  // The look that comes is newer than what workers have seen: the log may end lower now (F5).
  partition.hint = partition.hint_when_asked = kNoOffset;
  pending_.sample_lows.push_back(partition.tp);
}

void Core::low_observed(TopicPartition tp, std::int64_t low, std::int64_t end, Milliseconds now) {
  Partition* partition = find(tp);
  if (partition == nullptr) return;
  partition->low_asked = false;
  if (partition->lineage.begins_anew && partition->live == 0) end_search(*partition);
  if (took_new_low(*partition, low, end, now)) return;
  if (partition->halted || partition->live > 0) return;
  const bool was_verifying = std::exchange(partition->verifying, false);
  if (low > partition->frontier) {
    const std::string log = "the log is " + std::to_string(low) + ".." + std::to_string(end);
    switch (options_.expired) {
      case ExpiredPolicy::Earliest:
        skip_expired(*partition, low, log + ", auto.offset.reset = earliest", now);
        break;
      case ExpiredPolicy::Latest:
        skip_expired(*partition, std::max(low, end), log + ", auto.offset.reset = latest", now);
        break;
      case ExpiredPolicy::None:
        halt(*partition, nullptr,
             {.stage = "FETCH",
              .plugin = {},
              .code = 0,
              .message = "offset " + std::to_string(partition->frontier) + " has expired: " + log +
                         ", " + std::to_string(low - partition->frontier) +
                         " offsets are gone; auto.offset.reset = none"},
             now);
        break;
    }
  } else if (was_verifying && (end < 0 || end >= partition->frontier)) {
    notice(Notice::Kind::Unconfirmed, *partition, nullptr);
    may_have_been_cut(*partition);
    Slice* slice = first_waiting(*partition);
    const std::uint32_t failures = slice != nullptr ? ++slice->environment_failures : 1;
    retry_later(*partition, failures, now);
  }
  if (end >= 0) host_end(*partition, end, now);
  enqueue(*partition, now);
}

/// What of [frontier, to) is not settled is lost, on record (R4). What was cut inside it goes; a
/// slice that reaches beyond is cut anew there. Requires: nothing of the partition is in flight.
void Core::skip_expired(Partition& partition, std::int64_t to, const std::string& why,
                        Milliseconds now) {
  if (options_.mode == Mode::Once && partition.once_end) to = std::min(to, *partition.once_end);
  if (to <= partition.frontier) return;
  end_search(partition);
  cut_restored(partition, to, now);
  std::vector<std::int64_t> excluded;
  std::vector<Slice*> lost;
  Slice* last = nullptr;
  std::int64_t from = partition.frontier;
  std::int64_t reached = partition.frontier;
  for (Slice* slice = partition.slices.head; slice != nullptr && slice->start < to;) {
    Slice* const next = slice->next;
    reached = slice->end;
    if (!state::is_settled(slice->state)) {
      if (slice->excluded != nullptr) excluded = *slice->excluded;
      for (const std::int64_t offset : excluded) {  // settled by rows of their own
        if (offset < from || offset >= std::min(slice->end, to)) continue;
        if (from < offset) {
          lost.push_back(last = &insert_waiting(partition, last, from, offset, now));
        }
        from = offset + 1;
      }
      drop(partition, *slice);
    } else {
      if (from < slice->start) {
        lost.push_back(&insert_waiting(partition, last, from, slice->start, now));
      }
      from = slice->end;
      last = slice;
    }
    slice = next;
  }
  if (from < to) lost.push_back(last = &insert_waiting(partition, last, from, to, now));
  if (reached > std::max(from, to)) {
    Slice& rest = insert_waiting(partition, last, to, reached, now);
    inherit_excluded(rest, excluded);
    if (options_.stable_slices) make_stable(partition, rest);
  } else if (last == nullptr || last->next == nullptr) {
    partition.cut = std::max(partition.cut, to);
  }
  forget_below(partition.lineage.fingerprints, to);
  partition.lineage.vouched = std::max(partition.lineage.vouched, to);
  partition.retry_at = now;
  for (Slice* skipped : lost) record_expired(partition, *skipped, why, now);
  if (lost.empty()) advance_frontier(partition, now);
}

void Core::record_expired(Partition& partition, Slice& skipped, const std::string& why,
                          Milliseconds now) {
  add_settled_row(partition, skipped, state::SliceState::Skipped, state::Cause::Expired, now);
  ++counts_.skipped;
  counts_.skipped_records += static_cast<std::uint64_t>(skipped.size());
  notice(Notice::Kind::Expired, partition, &skipped, why);
  settle(partition, skipped, state::SliceState::Skipped, state::Cause::Expired, now);
}

/// What was restored below `to`, and what lies between, is in the list then.
void Core::cut_restored(Partition& partition, std::int64_t to, Milliseconds now) {
  const PartitionIndex index = index_of(partition);
  for (auto found = restored_.find(index); found != restored_.end();
       found = restored_.find(index)) {
    const std::int64_t start = found->second.front().start;
    if (start >= to) return;
    if (start > partition.cut) {
      insert_waiting(partition, partition.slices.tail, partition.cut, start, now);
      partition.cut = start;
    }
    join_restored(partition, now);
  }
}

}  // namespace sluice::slicer
