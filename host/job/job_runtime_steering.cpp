// What users ask of a job while it runs, and how it looks when it does not: pause and resume,
// halted partitions, the number of its workers, and the record of what a reset passed over
// (slicer.md S7).
#include <algorithm>
#include <utility>

#include "host/job/job_runtime.hpp"

namespace sluice::job {

/// How it ended is told when its end is durable: then whoever reads it may start it again.
JobState JobRuntime::state() const {
  if (state_ > JobState::Stopping && !over_) return JobState::Stopping;
  return state_ == JobState::Running && paused_ ? JobState::Paused : state_;
}

Result<> JobRuntime::refuse_unless_running(std::string_view what) const {
  if (slicer_ && state_ <= JobState::Running) return {};
  return Error{ErrorCode::Refused, std::string{what} + ": job " + name() + " is " +
                                       std::string{job_state_name(state_)} +
                                       "; only a running job can do that"};
}

Result<> JobRuntime::pause() {
  if (state_ > JobState::Running) return refuse_unless_running("pause");
  pause_said_ = true;
  if (std::exchange(paused_, true)) return {};
  log_.info("paused: what is in flight comes to its end, workers stay");
  if (slicer_) slicer_->pause();
  decide();
  return {};
}

Result<> JobRuntime::resume() {
  if (state_ > JobState::Running) return refuse_unless_running("resume");
  pause_said_ = true;
  if (!std::exchange(paused_, false)) return {};
  log_.info("resumed");
  if (slicer_) slicer_->resume(now());
  decide();
  return {};
}

Result<> JobRuntime::restart_halted() {
  SLUICE_TRY(refuse_unless_running("restart"));
  log_.info("halted partitions are restarted");
  slicer_->restart_halted(now());
  decide();
  return {};
}

bool JobRuntime::has_lost_group() const {
  return committer_ && !committer_->conflict().empty();
}

Result<> JobRuntime::set_tasks(std::uint32_t tasks) {
  SLUICE_TRY(refuse_unless_running("workers"));
  log_.info("tasks.max is " + std::to_string(tasks) + " until the next start");
  const auto slots = tasks + static_cast<std::uint32_t>(plan_.config.worker_standby);
  links_.resize(std::max<std::size_t>(links_.size(), slots));
  slicer_->set_slots(tasks, now());
  std::vector<supervisor::Action> actions;
  supervisor_->set_slots(slots, now(), actions);
  supervise(actions);
  decide();
  return {};
}

/// A start position above the frontier leaves a range that nobody will process (R4).
void JobRuntime::record_passed(const state::PartitionRow& row, std::int64_t start) {
  if (start <= row.frontier) return;
  state::GapRow gap;
  gap.execution = stored_.execution.number;
  gap.topic = row.topic;
  gap.partition = row.partition;
  gap.lane = row.lane;
  gap.topic_incarnation = row.topic_incarnation;
  gap.start = row.frontier;
  gap.end = start;
  gap.cause = state::Cause::ByUser;
  gap.records_max = static_cast<std::uint64_t>(start - row.frontier);
  gap.at_ms = services_.clock.unix_ms();
  gap.detail = "passed by a reset of the job's offsets";
  passed_ranges_.push_back(std::move(gap));
}

/// Of a job that has not been started: where the store says it stands.
std::vector<slicer::PartitionStatus> JobRuntime::stored_partitions() const {
  std::vector<slicer::PartitionStatus> partitions;
  for (const auto& [where, row] : stored_.partitions) {
    if (std::find(topics_.begin(), topics_.end(), where.topic) == topics_.end()) continue;
    slicer::PartitionStatus status;
    status.tp = tp_of(where);
    status.lane = row.lane;
    status.start_offset = row.start_offset;
    status.frontier = status.durable_frontier = row.frontier;
    status.slices_settled = row.slices_settled;
    status.totals = row.totals;
    partitions.push_back(std::move(status));
  }
  return partitions;
}

}  // namespace sluice::job
