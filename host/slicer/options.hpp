// What a job's configuration says to its slicer. Plain values with the defaults of interfaces.md;
// keys, units and texts are host/config's business. validate() is the last check, for combinations
// that no parser sees.
#pragma once

#include <cstdint>

#include "host/base/clock.hpp"
#include "host/base/error.hpp"

namespace sluice::slicer {

enum class Mode : std::uint8_t { Persistent, Once };

/// A1, A3, A4.
enum class Assignment : std::uint8_t { Sticky, Linear, Any };

/// What happens to a slice whose attempts are used up; under Isolate a death does not wait for
/// that.
enum class OnFailure : std::uint8_t { Halt, Isolate, Park };

/// Where a convicted record goes (F3.3): without a dead letter topic it is skipped, on record.
enum class DeadLetters : std::uint8_t { None, Topic };

/// auto.offset.reset, for a position that is no longer in the log.
enum class ExpiredPolicy : std::uint8_t { Earliest, Latest, None };

struct SlicerOptions {
  Mode mode = Mode::Persistent;
  Assignment assignment = Assignment::Sticky;
  OnFailure on_failure = OnFailure::Halt;
  DeadLetters dead_letters = DeadLetters::None;
  ExpiredPolicy expired = ExpiredPolicy::Earliest;

  std::uint64_t execution = 1;
  std::uint64_t next_slice_id = 1;  ///< JobState::next_slice_id: ids below it were used
  std::uint64_t gaps_before = 0;    ///< JobState::gaps: what this execution has skipped so far
  std::uint32_t slots = 1;          ///< tasks.max: how many slots have partitions
  /// linear: how many slots its hashing began with, as the store remembers it; 0: it begins now.
  std::uint32_t workers_first = 0;
  std::uint32_t standby = 0;  ///< worker.standby: slots beyond them, warm and empty (A5)

  /// The sink names its output after the slice (C5): rows are durable before slices are published,
  /// and a redelivery has the same range.
  bool stable_slices = false;

  std::int64_t slice_records_max = 10'000;          ///< slice.max.records, in offsets
  std::int64_t slice_bytes_max = 16 * 1024 * 1024;  ///< slice.max.bytes, by estimate
  std::uint32_t attempts_max = 4;                   ///< slice.attempts.max
  std::uint32_t isolate_max = 3;                    ///< slice.isolate.max: verdicts in an hour
  std::uint32_t credit_slices = 256;                ///< worker.credit.slices
  std::int64_t credit_records = 80'000;             ///< worker.credit.records
  std::uint32_t slices_per_second_max = 20'000;     ///< this job's share of slices.per.second.max

  Milliseconds retry_delay{100};         ///< first back-off of a failed slice; doubles, jittered
  Milliseconds retry_delay_max{60'000};  ///< errors.retry.delay.max.ms
  Milliseconds sample_interval_min{50};  ///< end offsets of partitions that nobody watches (C2)
  Milliseconds sample_interval_max{2'000};
  /// restart.*: a partition that a failing slice has halted is started again by itself (F4).
  Milliseconds restart_backoff{10'000};  ///< doubles, jittered
  Milliseconds restart_backoff_max{600'000};
  Milliseconds restart_reset{600'000};   ///< healthy for that long: the back-off begins anew
  std::int64_t restarts_max = 0;         ///< in a row; -1: no bound
  Milliseconds rebalance_delay{60'000};  ///< worker.rebalance.delay.ms (A2)
  /// A lost slot whose partitions found no other worker keeps them this long: its own respawn
  /// (0.2 s + 10 ms) is nearly always sooner than a second move would be worth.
  Milliseconds orphan_grace{1'000};

  /// Wall clock minus monotonic clock, milliseconds: turns `now` into the times of rows.
  std::int64_t unix_ms_at_zero = 0;
};

/// A ring holds 1,024 commands; a quarter of it stays free for revokes and later kinds, so that a
/// full command ring always means a worker that does not read (ipc facts 3.7).
inline constexpr std::uint32_t kCreditSlicesMax = 768;

/// Processes of one job: far above what a machine carries, far below where sums overflow.
inline constexpr std::uint32_t kSlotsMax = 100'000;

/// Refuses values that no slicer can work with.
Result<> validate(const SlicerOptions& options);

}  // namespace sluice::slicer
