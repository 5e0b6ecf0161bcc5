#include "host/job/notice_log.hpp"

#include <algorithm>

namespace sluice::job {
namespace {

log::Logger log_of_slice(const log::Logger& log, std::uint64_t slice_id) {
  return slice_id == 0 ? log : log.with_slice(slice_id);
}

std::string name_of(const std::vector<std::string>& topics, slicer::TopicPartition tp) {
  return topics.at(tp.topic) + "-" + std::to_string(tp.partition);
}

std::string text_of(const slicer::Notice& notice) {
  using Kind = slicer::Notice::Kind;
  const auto start = std::to_string(notice.start);
  const auto end = std::to_string(notice.end);
  const auto range = "[" + start + ", " + end + ")";
  switch (notice.kind) {
    case Kind::Moved:
      return " moves from worker " + std::to_string(notice.slot) + " to " +
             std::to_string(notice.other_slot);
    case Kind::Suspected:
      return " " + range + " was in the plugin's hands when worker " + std::to_string(notice.slot) +
             " died; it runs alone now";
    case Kind::Charged:
      return " " + range + " failed, attempt " + std::to_string(notice.attempt);
    case Kind::Restarted:
      return " starts again where it halted";
    case Kind::Isolating:
      return " " + range + " is run in parts, to find the record that does it";
    case Kind::Undecided:
      return ": record " + start +
             " failed alone, but nothing else has completed since; it is tried again";
    case Kind::Isolated:
      return ": record " + start + " is set aside, on record";
    case Kind::Recovered:
      return " " + range + " is recovered";
    case Kind::Unrecovered:
      return " " + range + " failed again and stays parked";
    case Kind::Parked:
      return " " + range + " is parked: `sluice job recover` replays it";
    case Kind::Expired:
      return ": offset " + start + " has expired, " + std::to_string(notice.end - notice.start) +
             " offsets, " + range + ", are skipped on record";
    case Kind::Unconfirmed:
      return ": worker " + std::to_string(notice.slot) + " found " + start +
             " out of range, the brokers do not";
    case Kind::BeyondEnd:
      return ": the log ends at " + end + ", below the position " + start + "; waiting";
    case Kind::Truncated:
      return ": the log was cut off and is the same up to " + start + " only, the position was " +
             end + "; " + range + " is on record, what is there now is delivered";
    case Kind::Recreated:
      return " begins anew at " + start + " (the position was " + end +
             "): the topic was deleted and created again";
    case Kind::Unproved:
      return " goes on at " + start +
             ": no record is left to compare with, so that the topic was deleted and created again "
             "meanwhile cannot be excluded";
    case Kind::StaleReport:
      return ": a late report of an old owner was ignored";
  }
  return "";
}

}  // namespace

void log_notice(const log::Logger& log, const std::vector<std::string>& topics,
                const slicer::Notice& notice) {
  using Kind = slicer::Notice::Kind;
  const auto where = name_of(topics, notice.tp);
  const auto text =
      where + text_of(notice) + (notice.text.empty() ? std::string{} : ": " + notice.text);
  const auto slice_log = log_of_slice(log, notice.slice_id);
  switch (notice.kind) {
    case Kind::Moved:
    case Kind::Recovered:
    case Kind::Restarted:
    case Kind::Unconfirmed:
      return slice_log.info(text);
    case Kind::BeyondEnd:
      return slice_log.limited(log::Level::Warning, "beyond_end." + where, text);
    case Kind::StaleReport:
      return log.limited(log::Level::Info, "stale_report", text);
    default:
      return slice_log.warning(text);
  }
}

void log_halted(const log::Logger& log, const std::vector<std::string>& topics,
                const slicer::Halted& halted) {
  const auto plugin = halted.error.plugin.empty() ? std::string{} : halted.error.plugin + ": ";
  log_of_slice(log, halted.slice_id)
      .error(name_of(topics, halted.tp) + " halted at offset " + std::to_string(halted.offset) +
             ": " + plugin + halted.error.message);
}

// B15: one line names worker, cause, phase, slice and what comes next.
void log_lost(const log::Logger& log, const supervisor::Lost& lost,
              const supervisor::SlotStatus& status, const std::optional<state::SliceRow>& slice,
              Milliseconds now) {
  const auto& why = lost.accusation;
  auto text = "worker is gone: " + why.text + "; cause " +
              std::string{slicer::loss_cause_name(why.cause)} + ", phase " +
              std::string{ipc::phase_name(why.phase)} + ", pid " + std::to_string(lost.pid);
  if (slice) {
    text += ", slice " + slice->topic + "-" + std::to_string(slice->partition) + " [" +
            std::to_string(slice->start) + ", " + std::to_string(slice->end) + ")";
  }
  if (status.respawn_at) {
    const auto delay = std::max(Milliseconds{0}, *status.respawn_at - now);
    text += ", restart " + std::to_string(status.restarts + 1) + " in " +
            std::to_string(delay.count()) + " ms";
  } else {
    text += ", restarts " + std::to_string(status.restarts);
  }
  log_of_slice(log, slice ? slice->id : 0).warning(text);
}

}  // namespace sluice::job
