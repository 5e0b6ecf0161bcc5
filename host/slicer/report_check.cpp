#include "host/slicer/report_check.hpp"

namespace sluice::slicer {
namespace {

bool next_offset_fits(ipc::ReportKind kind, std::int64_t next, const Flight& flight) {
  switch (kind) {
    case ipc::ReportKind::Done:
      return next == flight.end;
    case ipc::ReportKind::Released:
      return next >= flight.start && next < flight.end;
    default:
      return next >= flight.start && next <= flight.end;
  }
}

}  // namespace

std::optional<Rule> broken_rule(const ipc::Report& report, const Flight& flight) {
  const auto kind = static_cast<ipc::ReportKind>(report.kind);
  if (!next_offset_fits(kind, report.next_offset, flight)) return Rule::NextOutside;
  // Every offset holds at most one record; holes are normal, more than that is not.
  if (std::int64_t{report.records} > flight.end - flight.start) return Rule::CountsTooHigh;
  if (report.filtered > report.records || report.errant > report.records) {
    return Rule::CountsTooHigh;
  }
  if (kind == ipc::ReportKind::Failed &&
      (report.failure == 0 || report.failure > ipc::kFailureClassLast)) {
    return Rule::UnknownFailure;
  }
  return std::nullopt;
}

}  // namespace sluice::slicer
