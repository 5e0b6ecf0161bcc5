// What is durable about a job, as plain structs: the slicer fills them, the state store keeps them,
// status and audit show them. No SQLite here, and no rule: which rows exist when is slicer.md
// R1-R4.
//
// A partition's key is (topic, partition, lane); a slice's key is its id, which the slicer counts
// up inside one job and never uses twice (JobState::next_slice_id). Offsets are Kafka's: `end` and
// `frontier` are exclusive. Times are Unix milliseconds, 0 = has not happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::state {

/// slicer.md R1. Stored by number: append only.
enum class SliceState : std::uint8_t {
  Ready = 0,
  Dispatched = 1,
  Completed = 2,
  Retrying = 3,
  Isolating = 4,  ///< replaced by its parts
  Parked = 5,
  DeadLettered = 6,
  Skipped = 7,
};

/// Settled = counted into the frontier (slicer.md R2).
constexpr bool is_settled(SliceState state) {
  return state == SliceState::Completed || state == SliceState::Parked ||
         state == SliceState::DeadLettered || state == SliceState::Skipped;
}

/// Why a slice is not a plain completion, or why a range stands in the gap ledger (R1, R4, D3).
/// Stored by number: append only.
enum class Cause : std::uint8_t {
  None = 0,
  Expired = 1,    ///< below the low watermark before it was read
  Truncated = 2,  ///< beyond the end of a log that was cut (F5)
  Poison = 3,     ///< one record no plugin survives, and no dead letter topic
  ByUser = 4,     ///< passed by a reset
  Parked = 5,
  DeadLettered = 6,
  ReleasedGate = 7,   ///< an operator opened a gate (expansion.md E8)
  OrderUnproved = 8,  ///< cut before a partition count was known (expansion.md E5)
  ProvedByState = 9,  ///< completed: the keyed state's position says so (D3)
  ProvedBySink = 10,  ///< completed: the sink's own position says so (D3)
  Recreated = 11,     ///< went with a topic that was deleted and created again (F5)
};

/// Whether a range of this cause was parked or skipped: a once execution then ends
/// CompletedWithGaps (S1). Dead letters alone do not count.
constexpr bool leaves_gap(Cause cause) {
  switch (cause) {
    case Cause::Expired:
    case Cause::Truncated:
    case Cause::Recreated:
    case Cause::Poison:
    case Cause::ByUser:
    case Cause::Parked:
      return true;
    default:
      return false;
  }
}

/// Sums over slices; a merged row holds those of all its slices.
struct Counts {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t filtered = 0;
  std::uint64_t errant = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Counts&) const = default;
};

/// Where a worker's time went, microseconds (the phases of interfaces.md, "Metrics").
struct PhaseTimes {
  std::uint64_t fetch_us = 0;
  std::uint64_t process_us = 0;
  std::uint64_t put_us = 0;
  std::uint64_t flush_us = 0;
  std::uint64_t state_us = 0;
  std::uint64_t wait_us = 0;

  bool operator==(const PhaseTimes&) const = default;
};

/// The worker that ran, or runs, a slice: pid 0 = none yet.
struct WorkerStamp {
  std::uint32_t slot = 0;
  std::int32_t pid = 0;
  std::uint64_t incarnation = 0;

  bool operator==(const WorkerStamp&) const = default;
};

struct SliceError {
  std::string stage;  ///< Connect's stage, or CRASH, HANG
  std::string plugin;
  std::int32_t code = 0;
  std::string message;

  bool operator==(const SliceError&) const = default;
};

/// Where a partition's lane stands. `frontier` is the end of what is settled without a hole.
struct PartitionRow {
  std::string topic;
  std::int32_t partition = 0;
  std::uint16_t lane = 0;
  std::uint32_t topic_incarnation = 1;  ///< + 1 when the topic was recreated (F5)
  std::uint32_t epoch = 0;
  std::int64_t start_offset = 0;  ///< where this execution began (S2); durable before slice one
  std::int64_t frontier = 0;
  std::uint32_t worker_slot = 0;         ///< sticky assignment, remembered across restarts (A1)
  std::optional<std::int64_t> once_end;  ///< mode once: the end that was taken at the start
  std::uint64_t slices_settled = 0;      ///< since this execution's start
  Counts totals;                         ///< since this execution's start
  /// Of records that were processed, newest first, as slicer/fingerprint.hpp writes them (F5).
  std::string fingerprints;
  /// Where the frontier stood before it was lowered because the log was (F5); the Kafka group may
  /// still say so. 0: it was not, or has passed that place since.
  std::int64_t lowered_from = 0;
  /// No column, only said with a change: what was settled before it does not count any more, also
  /// where the stored frontier is not above this one.
  bool reset = false;

  bool operator==(const PartitionRow&) const = default;
};

/// One slice, or a run of clean first-attempt completions of one worker and lane (R3).
struct SliceRow {
  std::uint64_t id = 0;
  std::uint64_t execution = 0;
  std::string topic;
  std::int32_t partition = 0;
  std::uint16_t lane = 0;
  std::uint32_t topic_incarnation = 1;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t epoch = 0;
  std::uint32_t attempt = 1;
  WorkerStamp worker;
  SliceState state = SliceState::Ready;
  bool halted = false;  ///< Retrying, attempts used up, on.failure = halt: waits for a restart
  bool stable = false;  ///< its range is part of the output's name (C5): never cut again
  std::uint32_t slice_count = 1;  ///< > 1: merged
  Counts counts;
  PhaseTimes times;
  std::int64_t created_ms = 0;
  std::int64_t dispatched_ms = 0;  ///< the last time, or the first of a merged row
  std::int64_t settled_ms = 0;     ///< of a merged row: the last one's
  Cause cause = Cause::None;
  /// Records of it that no plugin sees, and that are set aside by rows of their own (F3.4), as
  /// offset_list.hpp writes them.
  std::string excluded;
  std::optional<SliceError> error;  ///< of the last attempt that failed

  bool operator==(const SliceRow&) const = default;
};

/// A range that was not processed, or with a weaker guarantee (R4). Never deleted, only added.
struct GapRow {
  std::uint64_t execution = 0;
  std::string topic;
  std::int32_t partition = 0;
  std::uint16_t lane = 0;
  std::uint32_t topic_incarnation = 1;
  std::int64_t start = 0;
  std::int64_t end = 0;
  Cause cause = Cause::None;
  std::uint64_t records_max = 0;  ///< an upper bound: offsets of the range, or less if known
  std::uint64_t slice_id = 0;     ///< 0: no slice was cut for it
  std::int64_t at_ms = 0;
  std::string detail;

  bool operator==(const GapRow&) const = default;
};

/// What linear assignment hashes with (A3). The oldest row of a key stays for good.
struct FirstCountRow {
  std::string topic;  ///< empty: the job's workers
  std::uint32_t topic_incarnation = 1;
  std::uint32_t count = 0;  ///< partitions, or workers, when they were first seen

  bool operator==(const FirstCountRow&) const = default;
};

/// What must become durable together. `token` comes back when it is: only then may the frontiers
/// in it be committed to the group, and only then may stable slices in it be published.
///
/// A frontier that is lower than the stored one is a reset, as is a row that says so: what was
/// settled before it no longer counts, and stays as history.
struct ChangeSet {
  std::uint64_t token = 0;
  /// The number of the next slice: merged rows hide the numbers of the slices in them. 0: one above
  /// the rows of this set.
  std::uint64_t next_slice_id = 0;
  std::vector<PartitionRow> partitions;  ///< upserts
  std::vector<SliceRow> slices_upserted;
  std::vector<std::uint64_t> slices_deleted;  ///< rows merged into another, or released unused (C3)
  std::vector<GapRow> gaps;
  std::vector<FirstCountRow> first_counts;  ///< those that are stored already change nothing

  bool empty() const {
    return partitions.empty() && slices_upserted.empty() && slices_deleted.empty() &&
           gaps.empty() && first_counts.empty();
  }
};

/// Stored by number: append only.
enum class ExecutionState : std::uint8_t {
  Running = 0,
  Completed = 1,
  CompletedWithGaps = 2,
  Failed = 3,
  Stopped = 4,  ///< by a user or a host's end; the next start goes on with it (S5)
};

enum class ExecutionMode : std::uint8_t { Persistent = 0, Once = 1 };

struct ExecutionRow {
  std::uint64_t number = 0;  ///< counts from 1 inside one job
  ExecutionMode mode = ExecutionMode::Persistent;
  ExecutionState state = ExecutionState::Running;
  std::int64_t started_ms = 0;
  std::int64_t ended_ms = 0;
  std::string reason;  ///< why it failed or stopped, for people

  bool operator==(const ExecutionRow&) const = default;
};

/// Everything a slicer needs to go on. A job that was never seen: no execution, no rows.
struct JobState {
  std::optional<ExecutionRow> execution;  ///< the newest one
  std::vector<PartitionRow> partitions;   ///< ordered by topic, partition, lane
  /// Not settled; settled above the frontier since the last reset; each lane's last completed row.
  std::vector<SliceRow> slices;
  std::uint64_t next_slice_id = 1;
  /// Ranges of the newest execution that leave a gap (leaves_gap); recovered ones count no more.
  std::uint64_t gaps = 0;
  std::vector<FirstCountRow> first_counts;
};

}  // namespace sluice::state
