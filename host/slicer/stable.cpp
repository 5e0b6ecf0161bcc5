// Sinks that name their output after the slice (C5, SLUICE_CAP_STABLE_SLICES): a slice's range is
// on disk before anybody can have seen it, and never changes afterwards. So slices are cut a little
// ahead of the workers: while those run what is durable, the next rows are on their way (R3, one
// commit for all of them).
//
// Cut only from the host's own ends: a hint asks for one (sensing.cpp). Where the log loses the
// beginning of an unfinished slice, what is left of it is a new slice with a name of its own: its
// records are gone, and no promise brings them back (failures.cpp, skip_expired).
#include <algorithm>

#include "host/slicer/core.hpp"

namespace sluice::slicer {
namespace {

/// Waiting slices of one partition: as many full ones as a worker runs during a commit.
constexpr std::uint32_t kSlicesAhead = 8;

}  // namespace

/// Requires: it is waiting, and nobody was given it under another range.
void Core::make_stable(Partition& partition, Slice& slice) {
  slice.stable = true;
  slice.row_set = token_ + 1;
  changes_.slice_changed(slice);
  cut_ahead_.push_back(index_of(partition));
}

/// Its row is durable, and the log reaches its end: it is run as it is or not at all.
bool Core::may_publish_stable(const Partition& partition, const Slice& slice) const {
  return slice.row_set <= durable_token_ && slice.end <= readable_end(partition);
}

bool Core::has_stable_work(const Partition& partition) const {
  const Slice* slice = next_waiting(partition);
  const bool ready = slice != nullptr && (slice->stable ? may_publish_stable(partition, *slice)
                                                        : slice->start < readable_end(partition));
  return ready || may_cut_ahead(partition);
}

/// At the tail one at a time, so that the next one holds all that has arrived until then.
bool Core::may_cut_ahead(const Partition& partition) const {
  const std::int64_t left = cut_bound(partition) - partition.cut;
  if (left <= 0) return false;
  std::uint32_t ahead = 0;
  for (const Slice* slice = partition.slices.tail;
       slice != nullptr && slice->state == state::SliceState::Ready && !slice->probe &&
       ahead < kSlicesAhead;
       slice = slice->previous) {
    ++ahead;
  }
  return ahead == 0 || (ahead < kSlicesAhead && left >= slice_limit(partition));
}

void Core::cut_ahead(Partition& partition, Milliseconds now) {
  while (may_cut_ahead(partition)) {
    const std::int64_t left = cut_bound(partition) - partition.cut;
    make_stable(partition, cut_slice(partition, std::min(slice_limit(partition), left), now));
  }
}

/// The set of `token` is durable: what was cut before it was taken may be published.
void Core::publish_cut_ahead(std::uint64_t token, Milliseconds now) {
  durable_token_ = token;
  for (const PartitionIndex index : cut_under_way_) enqueue(partitions_[index], now);
  cut_under_way_.clear();
}

/// A worker sees more than the host has been told: the host asks, but not more often than its
/// shortest interval.
void Core::sample_soon(Partition& partition, Milliseconds now) {
  if (partition.sample_asked || !needs_sampling(partition)) return;
  const Milliseconds at =
      partition.asked_once ? std::max(now, partition.asked_at + sample_interval_min()) : now;
  if (partition.sample_scheduled && partition.sample_at <= at) return;
  schedule_sample(partition, at);
}

}  // namespace sluice::slicer
