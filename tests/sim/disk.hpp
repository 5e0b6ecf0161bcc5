// The state store as the slicer's rules see it: change sets become durable whole, one after the
// other, some time after they were taken. What a host finds here after its predecessor died is what
// it goes on from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "host/state/rows.hpp"

namespace sluice::sim {

struct Disk {
  std::map<std::int32_t, state::PartitionRow> partitions;
  std::map<std::uint64_t, state::SliceRow> slices;
  std::vector<state::GapRow> gaps;
  std::uint64_t next_slice_id = 1;

  void apply(const state::ChangeSet& set) {
    for (const auto& row : set.partitions) partitions[row.partition] = row;
    for (const auto& row : set.slices_upserted) slices[row.id] = row;
    next_slice_id = std::max(next_slice_id, set.next_slice_id);
    for (const std::uint64_t id : set.slices_deleted) slices.erase(id);
    gaps.insert(gaps.end(), set.gaps.begin(), set.gaps.end());
  }

  /// What JobState holds for one partition: not settled, or settled above the frontier.
  std::vector<state::SliceRow> open_rows(std::int32_t partition) const {
    std::vector<state::SliceRow> rows;
    const auto found = partitions.find(partition);
    for (const auto& [id, row] : slices) {
      if (row.partition != partition) continue;
      if (!state::is_settled(row.state) ||
          (found != partitions.end() && row.end > found->second.frontier)) {
        rows.push_back(row);
      }
    }
    return rows;
  }
};

}  // namespace sluice::sim
