#include "host/job/job_status.hpp"

namespace sluice::job {

std::string_view job_state_name(JobState state) {
  switch (state) {
    case JobState::Starting:
      return "STARTING";
    case JobState::Running:
      return "RUNNING";
    case JobState::Stopping:
      return "STOPPING";
    case JobState::Completed:
      return "COMPLETED";
    case JobState::CompletedWithGaps:
      return "COMPLETED_WITH_GAPS";
    case JobState::Failed:
      return "FAILED";
    case JobState::Stopped:
      return "STOPPED";
    case JobState::Paused:
      return "PAUSED";
  }
  return "UNKNOWN";
}

JobState job_state_of(slicer::Outcome outcome) {
  switch (outcome) {
    case slicer::Outcome::Completed:
      return JobState::Completed;
    case slicer::Outcome::CompletedWithGaps:
      return JobState::CompletedWithGaps;
    case slicer::Outcome::Failed:
      return JobState::Failed;
    case slicer::Outcome::Stopped:
      break;
  }
  return JobState::Stopped;
}

JobState job_state_of(state::ExecutionState ended) {
  switch (ended) {
    case state::ExecutionState::Completed:
      return JobState::Completed;
    case state::ExecutionState::CompletedWithGaps:
      return JobState::CompletedWithGaps;
    case state::ExecutionState::Failed:
      return JobState::Failed;
    default:
      return JobState::Stopped;
  }
}

state::ExecutionState execution_state_of(JobState state) {
  switch (state) {
    case JobState::Completed:
      return state::ExecutionState::Completed;
    case JobState::CompletedWithGaps:
      return state::ExecutionState::CompletedWithGaps;
    case JobState::Failed:
      return state::ExecutionState::Failed;
    default:
      return state::ExecutionState::Stopped;
  }
}

std::optional<Milliseconds> stuck_for(const supervisor::SlotStatus& worker, Milliseconds now) {
  if (!worker.still_since || now - *worker.still_since < kStuckAfter) return std::nullopt;
  return now - *worker.still_since;
}

std::string_view worker_state_text(const supervisor::SlotStatus& worker, Milliseconds now) {
  return stuck_for(worker, now) ? "STUCK" : supervisor::worker_state_name(worker.state);
}

}  // namespace sluice::job
