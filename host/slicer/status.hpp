// A look at a slicer, for the command line, REST and metrics. A copy: asked for when somebody
// looks, costs one pass over the partitions, and holds nothing that could go stale under the
// reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/clock.hpp"
#include "host/slicer/topic_partition.hpp"
#include "host/state/rows.hpp"

namespace sluice::slicer {

enum class PartitionState : std::uint8_t { Running, Idle, Waiting, Halted, Finished };

/// Why a partition does not move although it has something to do.
enum class WaitReason : std::uint8_t {
  None,
  NotDurable,  ///< its start (S2), or that a slice of it was parked, is not yet on disk
  NoEnd,       ///< nobody has said where its log ends
  NoWorker,    ///< its slot has no running worker
  Suspect,     ///< a slice of it runs alone, or waits for its slot's respawn (F1)
  Moving,      ///< its old owner has not given everything back yet
  Returning,   ///< slices under an older fence have not come back yet
  Retrying,    ///< back-off after a failure
  Verifying,   ///< expired, says the worker; the host is asking
  BeyondEnd,   ///< the log ends below the position (F5)
  Absent,      ///< the topic, or this partition of it, does not exist
  Comparing,   ///< is it still the same log? A worker is looking (F5)
  Recreated,   ///< it is another one: begins anew as soon as nothing is in flight (F5)
  Credit,      ///< its worker has as much as it may have (C1)
  Worker,      ///< the worker itself waits: see text
  Stopping,
  Paused,
};
std::string_view wait_reason_name(WaitReason reason);

struct PartitionStatus {
  TopicPartition tp;
  std::uint16_t lane = kOnlyLane;
  PartitionState state = PartitionState::Idle;
  WaitReason wait = WaitReason::None;
  Slot slot = kNoSlot;
  std::int64_t start_offset = 0;
  std::int64_t frontier = 0;
  std::int64_t durable_frontier = -1;  ///< -1: not even the start is durable yet
  std::int64_t visible_end = -1;       ///< -1: unknown
  std::int64_t halted_at = -1;         ///< the offset that failed, as Halted's; -1: not halted
  std::int64_t lag = 0;                ///< visible end - frontier, never negative
  std::uint32_t in_flight = 0;
  std::uint64_t slices_settled = 0;
  state::Counts totals;
  std::uint32_t attempt =
      0;             ///< of the slice that retries or is halted; calls, if the worker waits
  std::string text;  ///< why halted, or what the worker waits for
};

struct SlotStatus {
  Slot slot = 0;
  std::uint64_t incarnation = 0;  ///< 0: no running worker
  std::uint32_t partitions = 0;
  std::uint32_t in_flight = 0;
  std::int64_t records_in_flight = 0;
  std::uint32_t suspects = 0;
};

struct SlicerCounts {
  std::uint64_t published = 0;
  std::uint64_t completed = 0;
  std::uint64_t released = 0;
  std::uint64_t failed = 0;       ///< FAILED reports
  std::uint64_t redelivered = 0;  ///< returned by a loss, same attempt
  std::uint64_t charged = 0;
  std::uint64_t isolated = 0;       ///< records convicted (F3)
  std::uint64_t dead_lettered = 0;  ///< of them, those written to the dead letter topic
  std::uint64_t parked = 0;
  std::uint64_t recovered = 0;
  std::uint64_t skipped = 0;
  std::uint64_t skipped_records = 0;
  std::uint64_t stale_reports = 0;
  std::uint64_t ignored_hints = 0;
  std::uint64_t violations = 0;
  std::uint64_t moves = 0;
};

struct Snapshot {
  std::vector<PartitionStatus> partitions;
  std::vector<SlotStatus> slots;
  SlicerCounts counts;
  state::Counts totals;
  std::uint32_t halted = 0;
  bool stopping = false;
};

}  // namespace sluice::slicer
