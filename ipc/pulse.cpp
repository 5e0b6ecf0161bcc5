#include "ipc/pulse.hpp"

namespace sluice::ipc {

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::Idle:
      return "idle";
    case Phase::Start:
      return "start";
    case Phase::Fetch:
      return "fetch";
    case Phase::Wait:
      return "wait";
    case Phase::Process:
      return "process";
    case Phase::Put:
      return "put";
    case Phase::Flush:
      return "flush";
    case Phase::State:
      return "state";
    case Phase::Stop:
      return "stop";
  }
  return "unknown";
}

}  // namespace sluice::ipc
