#include "ipc/counters.hpp"

namespace sluice::ipc {

std::string_view counter_name(Counter counter) {
  switch (counter) {
    case Counter::Records:
      return "records";
    case Counter::Bytes:
      return "bytes";
    case Counter::Out:
      return "out";
    case Counter::Filtered:
      return "filtered";
    case Counter::Errant:
      return "errant";
    case Counter::Batches:
      return "batches";
    case Counter::Slices:
      return "slices";
    case Counter::FlushGroups:
      return "flush_groups";
    case Counter::Retries:
      return "retries";
    case Counter::Resets:
      return "resets";
    case Counter::Refetches:
      return "refetches";
    case Counter::Nudges:
      return "nudges";
    case Counter::Sleeps:
      return "sleeps";
    case Counter::ReportStalls:
      return "report_stalls";
    case Counter::LogLinesLost:
      return "log_lines_lost";
    case Counter::DeadLetters:
      return "dead_letters";
    case Counter::DeadLetterFailures:
      return "dead_letter_failures";
    case Counter::Last_:
      break;
  }
  return "unknown";
}

}  // namespace sluice::ipc
