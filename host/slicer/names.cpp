#include "host/slicer/accusation.hpp"
#include "host/slicer/actions.hpp"
#include "host/slicer/status.hpp"

// The words that logs, status and metric labels show. Changing one breaks somebody's dashboard.
namespace sluice::slicer {

std::string_view loss_cause_name(LossCause cause) {
  switch (cause) {
    case LossCause::Crash:
      return "crash";
    case LossCause::Hang:
      return "hang";
    case LossCause::Killed:
      return "killed";
    case LossCause::Memory:
      return "memory";
    case LossCause::Violation:
      return "violation";
    case LossCause::StopTimeout:
      return "stop_timeout";
    case LossCause::Exit:
      return "exit";
    case LossCause::SpawnFailed:
      return "spawn_failed";
    case LossCause::Stopped:
      return "stopped";
  }
  return "unknown";
}

std::string_view rule_name(Rule rule) {
  switch (rule) {
    case Rule::UnknownSlice:
      return "unknown_slice";
    case Rule::WrongPartition:
      return "wrong_partition";
    case Rule::WrongFence:
      return "wrong_fence";
    case Rule::NextOutside:
      return "next_outside";
    case Rule::CountsTooHigh:
      return "counts_too_high";
    case Rule::SettledOutOfOrder:
      return "settled_out_of_order";
    case Rule::UnknownFailure:
      return "unknown_failure";
    case Rule::ProbeConfused:
      return "probe_confused";
    case Rule::LastOutside:
      return "last_outside";
    case Rule::HintBeyondEnd:
      return "hint_beyond_end";
  }
  return "unknown";
}

std::string_view wait_reason_name(WaitReason reason) {
  switch (reason) {
    case WaitReason::None:
      return "none";
    case WaitReason::NotDurable:
      return "not_durable";
    case WaitReason::NoEnd:
      return "no_end";
    case WaitReason::NoWorker:
      return "no_worker";
    case WaitReason::Suspect:
      return "suspect";
    case WaitReason::Moving:
      return "moving";
    case WaitReason::Returning:
      return "returning";
    case WaitReason::Retrying:
      return "retrying";
    case WaitReason::Verifying:
      return "verifying";
    case WaitReason::BeyondEnd:
      return "beyond_end";
    case WaitReason::Absent:
      return "absent";
    case WaitReason::Comparing:
      return "comparing";
    case WaitReason::Recreated:
      return "recreated";
    case WaitReason::Credit:
      return "credit";
    case WaitReason::Worker:
      return "worker";
    case WaitReason::Stopping:
      return "stopping";
    case WaitReason::Paused:
      return "paused";
  }
  return "unknown";
}

}  // namespace sluice::slicer
