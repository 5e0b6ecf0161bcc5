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

}  // namespace sluice::job
