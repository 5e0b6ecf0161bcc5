// Copies for people and metrics; nothing here decides anything.
#include <algorithm>

#include "host/slicer/core.hpp"

namespace sluice::slicer {

Snapshot Core::snapshot(Milliseconds now) const {
  Snapshot snapshot;
  snapshot.counts = counts_;
  snapshot.totals = totals_;
  snapshot.stopping = stopping_;
  snapshot.partitions.reserve(partitions_.size());
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    const auto index = static_cast<PartitionIndex>(i);
    snapshot.partitions.push_back(status_of(index, now));
    if (partitions_[i].halted) ++snapshot.halted;
  }
  for (std::size_t slot = 0; slot < workers_.size(); ++slot) {
    const Worker& worker = workers_[slot];
    if (slot >= slots_ && worker.partitions.empty() && worker.incarnation == 0) continue;
    snapshot.slots.push_back({.slot = static_cast<Slot>(slot),
                              .incarnation = worker.incarnation,
                              .partitions = static_cast<std::uint32_t>(worker.partitions.size()),
                              .in_flight = static_cast<std::uint32_t>(worker.flights.size()),
                              .records_in_flight = worker.records_in_flight,
                              .suspects = worker.suspect_partitions});
  }
  return snapshot;
}

PartitionStatus Core::status_of(PartitionIndex index, Milliseconds now) const {
  const Partition& partition = partitions_[index];
  PartitionStatus status;
  status.tp = partition.tp;
  status.lane = partition.lane;
  status.slot = partition.slot;
  status.start_offset = partition.start_offset;
  status.frontier = partition.frontier;
  status.durable_frontier = partition.durable_frontier;
  status.visible_end = partition.end;
  status.lag = std::max<std::int64_t>(0, partition.end - partition.frontier);
  status.in_flight = partition.live;
  status.slices_settled = partition.slices_settled;
  status.totals = partition.totals;
  const Slice* waiting = first_waiting(partition);
  if (waiting != nullptr && waiting->error != nullptr) {
    status.attempt = waiting->attempt;
    status.text = waiting->error->message;
  }
  if (partition.halted) {
    status.state = PartitionState::Halted;
    const auto halt = halts_.find(index);
    if (halt != halts_.end()) {
      status.halted_at = halt->second.offset;
      status.text = halt->second.error.message;
    }
    return status;
  }
  if (partition.finish == Finish::Finished) {
    status.state = PartitionState::Finished;
    return status;
  }
  status.wait = waits_for(index, now);
  if (partition.lineage.unproved && status.text.empty()) {
    status.text =
        "no record is left to compare with: that the topic was deleted and created again since "
        "cannot be excluded";
  }
  if (status.wait == WaitReason::Worker) {
    status.attempt = waits_.at(index).attempt;
    status.text = waits_.at(index).text;
  }
  status.state = status.wait != WaitReason::None ? PartitionState::Waiting
                 : partition.live > 0            ? PartitionState::Running
                                                 : PartitionState::Idle;
  return status;
}

WaitReason Core::waits_for(PartitionIndex index, Milliseconds now) const {
  const Partition& partition = partitions_[index];
  if (partition.lineage.absent) return WaitReason::Absent;
  if (partition.lineage.begins_anew) return WaitReason::Recreated;
  if (partition.lineage.in_flight) return WaitReason::Comparing;
  if (partition.live > 0) return waits_.contains(index) ? WaitReason::Worker : WaitReason::None;
  if (partition.verifying) return WaitReason::Verifying;
  if (partition.beyond_end) return WaitReason::BeyondEnd;
  if (partition.end < 0) return WaitReason::NoEnd;
  if (!has_work(partition, now)) return WaitReason::None;
  const WaitReason reason = blocked(partition, now);
  if (partition.suspects > 0 && (reason == WaitReason::NoWorker || reason == WaitReason::None)) {
    return WaitReason::Suspect;
  }
  return reason == WaitReason::None ? WaitReason::Credit : reason;
}

std::int64_t Core::promised_end(TopicPartition tp) const {
  const PartitionIndex index = index_of(tp);
  if (index == kNoPartition || partitions_[index].lineage.begins_anew) return 0;
  return promised_end(partitions_[index]);
}

bool Core::isolating(Slot slot) const {
  if (slot >= workers_.size() || !workers_[slot].alone_in_flight) return false;
  const auto& flights = workers_[slot].flights;
  return std::any_of(flights.begin(), flights.end(), [](const auto& entry) {
    return entry.second.slice != nullptr && entry.second.slice->part;
  });
}

std::optional<state::SliceRow> Core::flight(Slot slot, std::uint64_t slice_id) const {
  if (slot >= workers_.size()) return std::nullopt;
  for (const auto& [key, flight] : workers_[slot].flights) {
    if (key.slice_id != slice_id || flight.slice == nullptr) continue;
    return row_of(partitions_[flight.partition], *flight.slice);
  }
  return std::nullopt;
}

std::vector<state::SliceRow> Core::open_slices() const {
  std::vector<state::SliceRow> rows;
  for (const Partition& partition : partitions_) {
    for (const Slice* slice = partition.slices.head; slice != nullptr; slice = slice->next) {
      rows.push_back(row_of(partition, *slice));
    }
  }
  return rows;
}

void Core::pause() {
  paused_ = true;
}

void Core::resume(Milliseconds now) {
  paused_ = false;
  for (Partition& partition : partitions_) enqueue(partition, now);
}

void Core::stop(Milliseconds now) {
  static_cast<void>(now);
  stopping_ = true;
}

}  // namespace sluice::slicer
