#include "host/state/audit.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "host/state/offset_list.hpp"

namespace sluice::state {
namespace {

using LaneKey = std::tuple<std::string, std::int32_t, std::uint16_t>;

template <typename Row>
LaneKey key_of(const Row& row) {
  return {row.topic, row.partition, row.lane};
}

/// A newer record may stand above it: it was not processed the first time (S6).
bool may_be_superseded(SliceState state) {
  return state == SliceState::Parked || state == SliceState::Skipped ||
         state == SliceState::DeadLettered;
}

/// One record, which has a row of its own (F3.4).
bool leaves_out(const SliceRow& row, std::int64_t start, std::int64_t end) {
  if (row.excluded.empty() || end != start + 1) return false;
  const auto excluded = decode_offsets(row.excluded);
  return std::binary_search(excluded.begin(), excluded.end(), start);
}

struct NewestFirst {
  bool operator()(const SliceRow* left, const SliceRow* right) const {
    return left->id > right->id;
  }
};

/// One lane's line of offsets, swept from boundary to boundary.
class LaneSweep {
 public:
  LaneSweep(const AuditLane& lane, std::vector<AuditFinding>& findings)
      : lane_{lane}, findings_{findings} {}

  void sweep(const std::vector<const SliceRow*>& rows) {
    std::multimap<std::int64_t, const SliceRow*> begins;
    std::multimap<std::int64_t, const SliceRow*> ends;
    std::set<std::int64_t> boundaries{lane_.row.start_offset, lane_.row.frontier};
    for (const auto* row : rows) {
      begins.emplace(row->start, row);
      ends.emplace(row->end, row);
      boundaries.insert({row->start, row->end});
    }
    std::set<const SliceRow*, NewestFirst> covering;
    for (auto here = boundaries.begin(); here != boundaries.end(); ++here) {
      const auto [first_end, last_end] = ends.equal_range(*here);
      for (auto at = first_end; at != last_end; ++at) covering.erase(at->second);
      const auto [first_begin, last_begin] = begins.equal_range(*here);
      for (auto at = first_begin; at != last_begin; ++at) covering.insert(at->second);
      const auto next = std::next(here);
      if (next != boundaries.end()) judge(*here, *next, covering);
    }
  }

 private:
  void judge(std::int64_t start, std::int64_t end,
             const std::set<const SliceRow*, NewestFirst>& covering) {
    if (start < lane_.row.start_offset) return;  // an earlier execution's line
    if (covering.empty()) {
      if (end <= lane_.row.frontier) add(AuditFinding::Kind::Hole, start, end, 0, 0);
      return;
    }
    const auto* newest = *covering.begin();
    for (auto at = std::next(covering.begin()); at != covering.end(); ++at) {
      if (may_be_superseded((*at)->state) || leaves_out(**at, start, end)) continue;
      add(AuditFinding::Kind::Overlap, start, end, newest->id, (*at)->id);
    }
  }

  void add(AuditFinding::Kind kind, std::int64_t start, std::int64_t end, std::uint64_t slice_id,
           std::uint64_t other_id) {
    for (auto& known : findings_) {  // the boundary was another row's: one finding
      if (known.kind == kind && known.end == start && known.slice_id == slice_id &&
          known.other_id == other_id && key_of(known) == key_of(lane_.row)) {
        known.end = end;
        return;
      }
    }
    findings_.push_back({kind, lane_.row.topic, lane_.row.partition, lane_.row.lane, start, end,
                         slice_id, other_id});
  }

  const AuditLane& lane_;
  std::vector<AuditFinding>& findings_;
};

bool counts(const SliceRow& row, const AuditLane& lane, std::uint64_t execution) {
  return is_settled(row.state) && row.execution == execution && row.id >= lane.reset_id &&
         row.topic_incarnation == lane.row.topic_incarnation && row.start < row.end;
}

bool ended(ExecutionState state) {
  return state == ExecutionState::Completed || state == ExecutionState::CompletedWithGaps;
}

}  // namespace

std::string_view finding_name(AuditFinding::Kind kind) {
  switch (kind) {
    case AuditFinding::Kind::Hole:
      return "hole";
    case AuditFinding::Kind::Overlap:
      return "overlap";
    case AuditFinding::Kind::Unrecorded:
      return "unrecorded";
    case AuditFinding::Kind::Unfinished:
      return "unfinished";
    case AuditFinding::Kind::FrontierBack:
      return "frontier_back";
  }
  return "unknown";
}

AuditReport audit(AuditRows rows) {
  AuditReport report;
  report.execution = rows.execution.number;
  report.lanes = rows.lanes.size();
  std::map<LaneKey, std::vector<const SliceRow*>> by_lane;
  for (const auto& row : rows.slices) by_lane[key_of(row)].push_back(&row);
  std::set<std::uint64_t> in_ledger;
  for (const auto& gap : rows.gaps) in_ledger.insert(gap.slice_id);

  for (const auto& lane : rows.lanes) {
    const auto& row = lane.row;
    const auto find = [&](AuditFinding::Kind kind, std::int64_t start, std::int64_t end,
                          std::uint64_t id) {
      report.findings.push_back({kind, row.topic, row.partition, row.lane, start, end, id, 0});
    };
    if (row.frontier < row.start_offset) {
      find(AuditFinding::Kind::FrontierBack, row.frontier, row.start_offset, 0);
      continue;
    }
    report.offsets += static_cast<std::uint64_t>(row.frontier - row.start_offset);
    std::vector<const SliceRow*> settled;
    for (const auto* slice : by_lane[key_of(row)]) {
      if (!counts(*slice, lane, report.execution)) continue;
      settled.push_back(slice);
      // Of an earlier execution's line: recover has failed again, and the ledger is that one's.
      if (slice->end <= row.start_offset) continue;
      if (may_be_superseded(slice->state) && !in_ledger.contains(slice->id)) {
        find(AuditFinding::Kind::Unrecorded, slice->start, slice->end, slice->id);
      }
    }
    report.records += settled.size();
    LaneSweep{lane, report.findings}.sweep(settled);
    if (ended(rows.execution.state) && row.once_end && row.frontier < *row.once_end) {
      find(AuditFinding::Kind::Unfinished, row.frontier, *row.once_end, 0);
    }
  }
  return report;
}

}  // namespace sluice::state
