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
  const Slice* waiting = partition.slices.waiting;
  if (waiting != nullptr && waiting->error != nullptr) {
    status.attempt = waiting->attempt;
    status.text = waiting->error->message;
  }
  if (partition.halted) {
    status.state = PartitionState::Halted;
    const auto halt = halts_.find(index);
    if (halt != halts_.end()) status.text = halt->second.error.message;
    return status;
  }
  if (partition.finish == Finish::Finished) {
    status.state = PartitionState::Finished;
    return status;
  }
  status.wait = waits_for(index, now);
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
  if (partition.live > 0) return waits_.contains(index) ? WaitReason::Worker : WaitReason::None;
  if (partition.verifying) return WaitReason::Verifying;
  if (partition.beyond_end) return WaitReason::BeyondEnd;
  if (partition.end < 0) return WaitReason::NoEnd;
  if (!has_work(partition)) return WaitReason::None;
  const WaitReason reason = blocked(partition, now);
  if (partition.suspects > 0 && (reason == WaitReason::NoWorker || reason == WaitReason::None)) {
    return WaitReason::Suspect;
  }
  return reason == WaitReason::None ? WaitReason::Credit : reason;
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

void Core::stop(Milliseconds now) {
  static_cast<void>(now);
  stopping_ = true;
}

}  // namespace sluice::slicer
