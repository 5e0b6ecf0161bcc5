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

}  // namespace sluice::job
