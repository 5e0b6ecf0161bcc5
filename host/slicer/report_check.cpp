#include "host/slicer/report_check.hpp"

namespace sluice::slicer {
namespace {

bool next_offset_fits(ipc::ReportKind kind, std::int64_t next, const Flight& flight) {
  switch (kind) {
    case ipc::ReportKind::Done:
    case ipc::ReportKind::Survived:
      return next == flight.end;
    case ipc::ReportKind::Released:
      if (flight.stable) return next == flight.start;
      return next >= flight.start && next < flight.end;
    default:
      return next >= flight.start && next <= flight.end;
  }
}

}  // namespace

std::optional<Rule> broken_rule(const ipc::Report& report, const Flight& flight) {
  const auto kind = static_cast<ipc::ReportKind>(report.kind);
  const bool claims_other =
      kind == (flight.probe ? ipc::ReportKind::Done : ipc::ReportKind::Survived);
  if (claims_other) return Rule::ProbeConfused;
  if (!next_offset_fits(kind, report.next_offset, flight)) return Rule::NextOutside;
  // Every offset holds at most one record; holes are normal, more than that is not.
  if (std::int64_t{report.records} > flight.end - flight.start) return Rule::CountsTooHigh;
  if (report.filtered > report.records || report.errant > report.records) {
    return Rule::CountsTooHigh;
  }
  const bool named_one = report.last_offset != -1;
  if (named_one &&
      (report.last_offset < flight.start || report.last_offset >= report.next_offset)) {
    return Rule::LastOutside;
  }
  if (kind == ipc::ReportKind::Failed &&
      (report.failure == 0 || report.failure > ipc::kFailureClassLast)) {
    return Rule::UnknownFailure;
  }
  return std::nullopt;
}

}  // namespace sluice::slicer
