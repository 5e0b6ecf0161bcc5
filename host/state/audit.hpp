// The audit (slicer.md R5): proves from the store's rows alone that every offset of every lane,
// from where its execution began to its frontier, is settled exactly once, by the newest record
// that covers it; else it lists every hole, every overlap, and what else does not fit together.
//
// A record that was parked, skipped or dead-lettered may be superseded by a newer one (recovered);
// a completed one may not. Merged rows count as their range. Isolating rows are replaced by their
// parts and settle nothing. What a reset left behind is history.
// Pure. Not here: reading the rows (store_reader.hpp), in one transaction of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/state/rows.hpp"

namespace sluice::state {

struct AuditLane {
  PartitionRow row;
  std::uint64_t reset_id = 0;  ///< settled slices with a lower id are from before the last reset
};

/// Of one execution, the newest.
struct AuditRows {
  ExecutionRow execution;
  std::vector<AuditLane> lanes;
  std::vector<SliceRow> slices;
  std::vector<GapRow> gaps;
};

struct AuditFinding {
  enum class Kind : std::uint8_t {
    Hole,         ///< below the frontier, and no record settles it
    Overlap,      ///< settled twice
    Unrecorded,   ///< not processed, and the gap ledger does not say so (R4)
    Unfinished,   ///< the execution says completed, the lane is not at its end
    FrontierBack  ///< the frontier is below where the execution began
  };
  Kind kind = Kind::Hole;
  std::string topic;
  std::int32_t partition = 0;
  std::uint16_t lane = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint64_t slice_id = 0;  ///< Overlap: the newer one
  std::uint64_t other_id = 0;  ///< Overlap: the older one

  bool operator==(const AuditFinding&) const = default;
};
std::string_view finding_name(AuditFinding::Kind kind);

struct AuditReport {
  std::uint64_t execution = 0;
  std::size_t lanes = 0;
  std::uint64_t offsets = 0;  ///< from the starts to the frontiers
  std::uint64_t records = 0;  ///< slice records that were looked at
  std::vector<AuditFinding> findings;

  bool holds() const { return findings.empty(); }
};

AuditReport audit(AuditRows rows);

}  // namespace sluice::state
