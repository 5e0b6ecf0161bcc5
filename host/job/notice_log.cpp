#include "host/job/notice_log.hpp"

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
    case Kind::Parked:
      return " " + range + " is parked: `sluice job recover` replays it";
    case Kind::Expired:
      return ": offsets " + range + " are not in the log any more, " +
             std::to_string(notice.end - notice.start) + " are skipped on record";
    case Kind::Unconfirmed:
      return ": worker " + std::to_string(notice.slot) + " found " + start +
             " out of range, the brokers do not";
    case Kind::BeyondEnd:
      return ": the log ends at " + end + ", below the position " + start + "; waiting";
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

}  // namespace sluice::job
