// What a job's configuration says to its slicer. Plain values with the defaults of interfaces.md;
// keys, units and texts are host/config's business. validate() is the last check, for combinations
// that no parser sees, and the place where modes that are not built yet are refused.
#pragma once

#include <cstdint>

#include "host/base/clock.hpp"
#include "host/base/error.hpp"

namespace sluice::slicer {

enum class Mode : std::uint8_t { Persistent, Once };

/// A1, A3, A4. Linear and Any are refused by validate() until they are built.
enum class Assignment : std::uint8_t { Sticky, Linear, Any };

/// What happens to a slice whose attempts are used up. Isolate is refused until it is built (F3).
enum class OnFailure : std::uint8_t { Halt, Isolate, Park };

/// auto.offset.reset, for a position that is no longer in the log.
enum class ExpiredPolicy : std::uint8_t { Earliest, Latest, None };

struct SlicerOptions {
  Mode mode = Mode::Persistent;
  Assignment assignment = Assignment::Sticky;
  OnFailure on_failure = OnFailure::Halt;
  ExpiredPolicy expired = ExpiredPolicy::Earliest;

  std::uint64_t execution = 1;
  std::uint64_t next_slice_id = 1;  ///< JobState::next_slice_id: ids below it were used
  std::uint64_t gaps_before = 0;    ///< gap rows of this execution so far: COMPLETED_WITH_GAPS
  std::uint32_t slots = 1;          ///< tasks.max

  std::int64_t slice_records_max = 10'000;          ///< slice.max.records, in offsets
  std::int64_t slice_bytes_max = 16 * 1024 * 1024;  ///< slice.max.bytes, by estimate
  std::uint32_t attempts_max = 4;                   ///< slice.attempts.max
  std::uint32_t credit_slices = 256;                ///< worker.credit.slices
  std::int64_t credit_records = 80'000;             ///< worker.credit.records
  std::uint32_t slices_per_second_max = 20'000;     ///< this job's share of slices.per.second.max

  Milliseconds retry_delay{100};         ///< first back-off of a failed slice; doubles, jittered
  Milliseconds retry_delay_max{60'000};  ///< errors.retry.delay.max.ms
  Milliseconds sample_interval_min{50};  ///< end offsets of partitions that nobody watches (C2)
  Milliseconds sample_interval_max{2'000};
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

/// Refuses values that no slicer can work with, and modes that are not built yet.
Result<> validate(const SlicerOptions& options);

}  // namespace sluice::slicer
