// What has changed since the last change set (R3): a list of partitions and slices, so that taking
// a set costs as much as what changed, not as much as what there is. Core turns the lists into
// rows.
//
// Which slices get a row of their own: those with a history (failed, suspect, returned by a death),
// at once; a first attempt only when it is still open one whole change set after it was published.
// So a slice that takes longer than a commit is on record, and the many that are faster cost
// nothing (one row per slice: 15 us each; merged: 0.3 us).
//
// Internal to host/slicer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "host/slicer/partition.hpp"
#include "host/state/rows.hpp"

namespace sluice::slicer {

struct SliceRef {
  Slice* slice = nullptr;
  std::uint64_t id = 0;  ///< the slice may be gone, and its memory be another one's by now

  /// One that is recovered has the id of the one that was parked, and no row that is open.
  bool holds() const { return slice->id == id && !slice->recovered; }
};

class ChangeLog {
 public:
  void partition_changed(Partition& partition, PartitionIndex index) {
    if (!partition.dirty) {
      partition.dirty = true;
      partitions_.push_back(index);
    }
  }
  /// The slice gets (or updates) a row of its own. A probe has none: that of the slice which it is
  /// of stands for it.
  void slice_changed(Slice& slice) {
    if (slice.probe) return;
    if (!slice.row_listed) {
      slice.row_listed = true;
      slices_.push_back({&slice, slice.id});
    }
    slice.has_row = true;
  }
  void slice_published(Slice& slice) { fresh_.push_back({&slice, slice.id}); }
  void add_row(state::SliceRow row) { rows_.push_back(std::move(row)); }
  void add_gap(state::GapRow gap) { gaps_.push_back(std::move(gap)); }
  void add_first_count(state::FirstCountRow row) { first_counts_.push_back(std::move(row)); }
  void delete_row(std::uint64_t slice_id) { deleted_.push_back(slice_id); }

  bool empty() const {
    return partitions_.empty() && slices_.empty() && rows_.empty() && deleted_.empty() &&
           gaps_.empty() && first_counts_.empty();
  }

  /// Slices to write now: changed ones, and first attempts that outlived a whole set.
  std::vector<SliceRef> take_slices() {
    for (const SliceRef& old : aged_) {
      if (old.holds() && old.slice->state == state::SliceState::Dispatched && !old.slice->has_row) {
        slice_changed(*old.slice);
      }
    }
    aged_ = std::exchange(fresh_, {});
    return std::exchange(slices_, {});
  }
  std::vector<PartitionIndex> take_partitions() { return std::exchange(partitions_, {}); }
  std::vector<state::SliceRow> take_rows() { return std::exchange(rows_, {}); }
  std::vector<std::uint64_t> take_deleted() { return std::exchange(deleted_, {}); }
  std::vector<state::GapRow> take_gaps() { return std::exchange(gaps_, {}); }
  std::vector<state::FirstCountRow> take_first_counts() { return std::exchange(first_counts_, {}); }

 private:
  std::vector<PartitionIndex> partitions_;
  std::vector<SliceRef> slices_;
  std::vector<SliceRef> fresh_;  ///< published since the last set
  std::vector<SliceRef> aged_;   ///< published between the last two sets
  std::vector<state::SliceRow> rows_;
  std::vector<std::uint64_t> deleted_;
  std::vector<state::GapRow> gaps_;
  std::vector<state::FirstCountRow> first_counts_;
};

}  // namespace sluice::slicer
