// What a worker answers: one 128-byte slot of the report ring (two lines: counts and timings of a
// slice do not fit in one), plus up to 1 KiB of text in the slot's arena entry. Plain integers
// only, as in slice_descriptor.hpp. The writer's end fills seq, arena_len and crc32c.
//
// The host believes nothing here before the checks of ipc facts 3.4: layout, sequence, checksum,
// kind and text length by HostChannel::drain; slice id, fence and ranges by the slicer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace sluice::ipc {

/// The values are part of the layout: append only. What each kind uses is said beside it.
enum class ReportKind : std::uint16_t {
  Ready = 1,  ///< plugins started; slices are welcome
  Done,       ///< slice_id is durable up to its end: next_offset == end
  Released,   ///< slice_id is durable up to next_offset, the rest is given back
  Failed,     ///< slice_id failed; `failure` says how, next_offset where, the text why
  Expired,    ///< slice_id's position next_offset is not in the log any more
  Seen,       ///< topic/partition is visible up to next_offset (exclusive): a hint for the slicer
  Opened,     ///< topic/partition is open at next_offset
  Waiting,    ///< slice_id waits for `attempt` tries and wait_us; the text says why
  LogLost,    ///< `records` log lines did not fit into the log pipe
  Survived,   ///< slice_id is a probe whose plugins took all of it, up to its end; nothing of it is
              ///< durable
};
inline constexpr std::uint16_t kReportKindLast = static_cast<std::uint16_t>(ReportKind::Survived);

/// How a slice failed; the slicer decides from it (slicer.md F2). Append only.
enum class FailureClass : std::uint16_t {
  None,
  PluginFail,     ///< a plugin returned FAIL
  RetryUsedUp,    ///< RETRY until its timeout
  NotConnected,   ///< a plugin lost its outside system
  Configuration,  ///< a plugin refused its configuration: the job fails
  Errant,         ///< a record failed and errors.tolerance is none
  Kafka,          ///< the worker's reader failed for good
};
inline constexpr std::uint16_t kFailureClassLast = static_cast<std::uint16_t>(FailureClass::Kafka);

struct Report {
  std::uint64_t seq = 0;
  std::uint64_t slice_id = 0;
  std::uint32_t fence = 0;  ///< the command's
  std::uint16_t kind = 0;   ///< ReportKind
  std::uint16_t topic = 0;
  std::int32_t partition = 0;
  std::uint16_t failure = 0;    ///< FailureClass
  std::uint16_t arena_len = 0;  ///< bytes of text in this slot's arena entry
  std::int64_t next_offset = 0;
  std::uint64_t bytes = 0;     ///< keys and values read
  std::uint32_t records = 0;   ///< read
  std::uint32_t out = 0;       ///< put into the sink
  std::uint32_t filtered = 0;  ///< records without an output
  std::uint32_t errant = 0;
  std::uint32_t fetch_us = 0;
  std::uint32_t process_us = 0;
  std::uint32_t put_us = 0;
  std::uint32_t flush_us = 0;
  std::uint32_t state_us = 0;
  std::uint32_t wait_us = 0;
  std::uint64_t out_bytes = 0;
  std::uint32_t attempt = 0;       ///< Waiting: calls tried so far
  std::uint32_t group_slices = 0;  ///< slices in the flush group that this one was part of
  // Done, Released: the last record that was read below next_offset, without its content.
  std::int64_t last_offset = -1;  ///< -1: there was none
  std::int64_t last_timestamp = 0;
  std::uint32_t last_digest = 0;  ///< of key, value and headers
  std::uint32_t crc32c = 0;
};

static_assert(sizeof(Report) == 128 && offsetof(Report, crc32c) == 124);
static_assert(offsetof(Report, kind) == 20 && offsetof(Report, next_offset) == 32);
static_assert(offsetof(Report, records) == 48 && offsetof(Report, out_bytes) == 88);
static_assert(offsetof(Report, last_offset) == 104 && offsetof(Report, last_digest) == 120);
static_assert(std::is_trivially_copyable_v<Report> && std::is_standard_layout_v<Report>);

/// A report that passed the layout checks, and its text: valid UTF-8 without control characters,
/// except for the two NULs that separate the parts of a failure text (failure_text.hpp).
struct ReceivedReport {
  Report report;
  std::string text;
};

}  // namespace sluice::ipc
