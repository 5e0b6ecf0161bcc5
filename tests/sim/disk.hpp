// The state store as the slicer's rules see it: change sets become durable whole, one after the
// other, some time after they were taken. What a host finds here after its predecessor died is what
// it goes on from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/state/rows.hpp"

namespace sluice::sim {

struct Disk {
  std::map<std::int32_t, state::PartitionRow> partitions;
  std::map<std::uint64_t, state::SliceRow> slices;
  std::vector<state::GapRow> gaps;
  std::uint64_t next_slice_id = 1;
  std::map<std::int32_t, std::uint64_t> reset_ids;  ///< settled rows with a lower id are history
  /// By topic (empty: the workers) and its incarnation.
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> first_counts;

  std::uint32_t first_count(const std::string& topic, std::uint32_t incarnation) const {
    const auto found = first_counts.find({topic, incarnation});
    return found == first_counts.end() ? 0 : found->second;
  }

  std::uint32_t topic_incarnation(std::int32_t partition) const {
    const auto found = partitions.find(partition);
    return found == partitions.end() ? 0 : found->second.topic_incarnation;
  }

  void apply(const state::ChangeSet& set) {
    for (const auto& row : set.partitions) {
      const auto before = partitions.find(row.partition);
      if (before != partitions.end() && (row.reset || row.frontier < before->second.frontier)) {
        reset_ids[row.partition] = next_slice_id;
      }
      partitions[row.partition] = row;
    }
    for (const auto& row : set.slices_upserted) slices[row.id] = row;
    next_slice_id = std::max(next_slice_id, set.next_slice_id);
    for (const std::uint64_t id : set.slices_deleted) slices.erase(id);
    gaps.insert(gaps.end(), set.gaps.begin(), set.gaps.end());
    for (const auto& row : set.first_counts) {
      first_counts.emplace(std::pair{row.topic, row.topic_incarnation}, row.count);
    }
  }

  /// JobState::gaps.
  std::uint64_t gaps_left() const {
    return static_cast<std::uint64_t>(
        std::count_if(gaps.begin(), gaps.end(), [this](const state::GapRow& gap) {
          if (gap.records_max == 0) return false;
          if (gap.cause != state::Cause::Parked) return state::leaves_gap(gap.cause);
          const auto row = slices.find(gap.slice_id);
          return row != slices.end() && row->second.state == state::SliceState::Parked;
        }));
  }

  /// Of an earlier incarnation of the topic, or settled before a reset.
  bool is_history(const state::SliceRow& row) const {
    const auto found = partitions.find(row.partition);
    if (found == partitions.end()) return false;
    if (row.topic_incarnation != found->second.topic_incarnation) return true;
    const auto reset = reset_ids.find(row.partition);
    return reset != reset_ids.end() && state::is_settled(row.state) && row.id < reset->second;
  }

  /// StateStore::recoverable.
  std::vector<state::SliceRow> parked_rows(std::int32_t partition) const {
    std::vector<state::SliceRow> rows;
    for (const auto& [id, row] : slices) {
      const bool is_parked = row.partition == partition && row.state == state::SliceState::Parked &&
                             row.topic_incarnation == topic_incarnation(partition);
      const bool was_cut_off = std::any_of(gaps.begin(), gaps.end(), [&](const auto& gap) {
        return gap.cause == state::Cause::Truncated && gap.partition == partition &&
               gap.topic_incarnation == row.topic_incarnation && gap.slice_id > id &&
               gap.start < row.end;
      });
      if (is_parked && !was_cut_off) rows.push_back(row);
    }
    return rows;
  }

  /// What JobState holds for one partition: not settled, or settled above the frontier.
  std::vector<state::SliceRow> open_rows(std::int32_t partition) const {
    std::vector<state::SliceRow> rows;
    const auto found = partitions.find(partition);
    for (const auto& [id, row] : slices) {
      if (row.partition != partition || is_history(row)) continue;
      if (!state::is_settled(row.state) ||
          (found != partitions.end() && row.end > found->second.frontier)) {
        rows.push_back(row);
      }
    }
    return rows;
  }
};

}  // namespace sluice::sim
