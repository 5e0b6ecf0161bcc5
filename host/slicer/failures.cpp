// What a failure costs whom (slicer.md section 4): attempts and back-off, halt and park, positions
// that are no longer in the log. Isolate (F3) gets its place where attempts are used up.
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
  added.slot = partition.slot;
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
  slice.environment_failures = slice.environment_deaths = 0;
  if (slice.attempt >= options_.attempts_max) {
    if (options_.on_failure == OnFailure::Park)
      return park(partition, slice, std::move(error), now);
    // OnFailure::Isolate would split the slice here (F3); validate() refuses it until it exists.
    return halt(partition, &slice, std::move(error));
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
    return halt(partition, &slice, std::move(error));
  }
  slice.error = std::make_unique<state::SliceError>(std::move(error));
  changes_.slice_changed(slice);
  retry_later(partition, slice.environment_failures, now);
}

/// Doubling from retry_delay, the upper half of it by chance: partitions that failed together do
/// not come back together.
void Core::retry_later(Partition& partition, std::uint32_t failures, Milliseconds now) {
  const std::uint32_t doublings = std::min<std::uint32_t>(failures > 0 ? failures - 1 : 0, 20);
  const std::int64_t full = std::min<std::int64_t>(options_.retry_delay.count() << doublings,
                                                   options_.retry_delay_max.count());
  const std::int64_t half = full / 2;
  const auto chance =
      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(half) + 1));
  partition.retry_at = now + Milliseconds{full - half + chance};
  deadlines_.add({partition.retry_at, DeadlineKind::Retry, index_of(partition)});
}

void Core::quarantine_changed(Partition& partition, int by) {
  if (partition.slot == kNoSlot) return;
  worker_of(partition).suspect_partitions += static_cast<std::uint32_t>(by);
}

void Core::halt(Partition& partition, Slice* slice, state::SliceError error) {
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
    if (slice->failed_at >= slice->start && slice->failed_at < slice->end) {
      halted.offset = slice->failed_at;
    }
  }
  halts_[index_of(partition)] = {halted.slice_id, std::move(error)};
  update_finish(partition);
}

/// Set aside, on record; the lane goes on behind it. recover replays it (S6).
void Core::park(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now) {
  ++counts_.parked;
  slice.error = std::make_unique<state::SliceError>(std::move(error));
  state::SliceRow row = row_of(partition, slice);
  row.state = state::SliceState::Parked;
  row.cause = state::Cause::Parked;
  row.settled_ms = unix_ms(now);
  changes_.add_row(std::move(row));
  notice(Notice::Kind::Parked, partition, &slice, slice.error->message);
  // What comes behind it may only run when nobody can forget that it was parked: after a crash of
  // the host it would run again, behind its successors.
  partition.held_until = token_ + 1;
  settle(partition, slice, state::SliceState::Parked, state::Cause::Parked, now);
}

void Core::restart(Partition& partition, Milliseconds now) {
  const HaltedAt at = halts_[index_of(partition)];
  halts_.erase(index_of(partition));
  partition.halted = false;
  partition.retry_at = now;
  if (partition.suspects > 0) quarantine_changed(partition, 1);
  for (Slice* slice = partition.slices.waiting; slice != nullptr; slice = slice->next) {
    if (!slice->halted) continue;
    slice->halted = false;
    slice->state = state::SliceState::Ready;
    slice->attempt = 1;
    slice->environment_failures = slice->environment_deaths = 0;
    changes_.slice_changed(*slice);
  }
  if (at.slice_id == 0) partition.verifying = true;
  if (partition.verifying) verify_expired(partition);
  ended_said_ = false;
  update_finish(partition);
  enqueue(partition, now);
}

void Core::restart_halted(Milliseconds now) {
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
  pending_.sample_lows.push_back(partition.tp);
}

void Core::low_observed(TopicPartition tp, std::int64_t low, std::int64_t end, Milliseconds now) {
  Partition* partition = find(tp);
  if (partition == nullptr) return;
  partition->low_asked = false;
  if (partition->halted || partition->live > 0) return;
  const bool was_verifying = std::exchange(partition->verifying, false);
  if (low > partition->frontier) {
    switch (options_.expired) {
      case ExpiredPolicy::Earliest:
        skip_expired(*partition, low, now);
        break;
      case ExpiredPolicy::Latest:
        skip_expired(*partition, std::max(low, end), now);
        break;
      case ExpiredPolicy::None:
        halt(*partition, nullptr,
             {.stage = "FETCH",
              .plugin = {},
              .code = 0,
              .message = "offset " + std::to_string(partition->frontier) +
                         " has expired: the log begins at " + std::to_string(low) +
                         "; auto.offset.reset = none"});
        break;
    }
  } else if (was_verifying) {
    notice(Notice::Kind::Unconfirmed, *partition, nullptr);
    Slice* slice = partition->slices.waiting;
    const std::uint32_t failures = slice != nullptr ? ++slice->environment_failures : 1;
    retry_later(*partition, failures, now);
  }
  if (end >= 0) host_end(*partition, end, now);
  enqueue(*partition, now);
}

/// [frontier, to) is lost, on record (R4). What was cut inside it goes; a slice that reaches beyond
/// is cut anew there. Requires: nothing of the partition is in flight.
void Core::skip_expired(Partition& partition, std::int64_t to, Milliseconds now) {
  if (options_.mode == Mode::Once && partition.once_end) to = std::min(to, *partition.once_end);
  if (to <= partition.frontier) return;
  std::int64_t reached = partition.frontier;
  while (!partition.slices.empty() && partition.slices.head->start < to) {
    Slice* head = partition.slices.head;
    reached = head->end;
    if (!state::is_settled(head->state)) {
      drop(partition, *head);
    } else {
      unlink(partition.slices, head);
      slices_.free(head);
    }
  }
  if (reached > to) {
    insert_waiting(partition, nullptr, to, reached, now);
  } else if (partition.slices.empty()) {
    partition.cut = std::max(partition.cut, to);
    skip_restored(partition, to);
  }
  Slice& skipped = insert_waiting(partition, nullptr, partition.frontier, to, now);
  state::SliceRow row = row_of(partition, skipped);
  row.state = state::SliceState::Skipped;
  row.cause = state::Cause::Expired;
  row.settled_ms = unix_ms(now);
  changes_.add_row(std::move(row));
  ++counts_.skipped;
  counts_.skipped_records += static_cast<std::uint64_t>(skipped.size());
  notice(Notice::Kind::Expired, partition, &skipped);
  partition.retry_at = now;
  settle(partition, skipped, state::SliceState::Skipped, state::Cause::Expired, now);
}

/// Restored rows that the log no longer holds: gone, or what is left of them.
void Core::skip_restored(Partition& partition, std::int64_t to) {
  const auto found = restored_.find(index_of(partition));
  if (found == restored_.end()) return;
  auto& rows = found->second;
  while (!rows.empty() && rows.front().start < to) {
    if (rows.front().end > to) {
      rows.front().start = to;
      break;
    }
    changes_.delete_row(rows.front().id);
    rows.pop_front();
  }
  if (rows.empty()) restored_.erase(found);
}

}  // namespace sluice::slicer
