#include "host/supervisor/stall.hpp"
#include "host/supervisor/supervisor.hpp"

namespace sluice::supervisor {

// The words that status, logs and metric labels show.
std::string_view worker_state_name(WorkerState state) {
  switch (state) {
    case WorkerState::Empty:
      return "EMPTY";
    case WorkerState::Waiting:
      return "WAITING";
    case WorkerState::Spawning:
      return "SPAWNING";
    case WorkerState::Loading:
      return "LOADING";
    case WorkerState::Ready:
      return "READY";
    case WorkerState::Running:
      return "RUNNING";
    case WorkerState::Draining:
      return "DRAINING";
    case WorkerState::Crashed:
      return "CRASHED";
    case WorkerState::Hung:
      return "HUNG";
    case WorkerState::Killed:
      return "KILLED";
    case WorkerState::Blocked:
      return "BLOCKED";
  }
  return "UNKNOWN";
}

std::string_view stall_name(Stall stall) {
  switch (stall) {
    case Stall::Spinning:
      return "spinning";
    case Stall::Blocked:
      return "blocked";
    case Stall::Stopped:
      return "stopped";
    case Stall::Uninterruptible:
      return "uninterruptible";
    case Stall::Ended:
      return "ended";
  }
  return "unknown";
}

}  // namespace sluice::supervisor
