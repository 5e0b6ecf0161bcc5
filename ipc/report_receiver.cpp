#include "ipc/report_receiver.hpp"

#include <algorithm>

#include "ipc/failure_text.hpp"

namespace sluice::ipc {
namespace {

constexpr int kFailureTextSeparators = 2;

bool carries_failure_text(const Report& report) {
  return report.kind == static_cast<std::uint16_t>(ReportKind::Failed) ||
         report.kind == static_cast<std::uint16_t>(ReportKind::Waiting);
}

}  // namespace

ReportReceiver::ReportReceiver(const WorkerSegment& worker, std::atomic<std::uint64_t>& report_head,
                               std::uint64_t start)
    : arena_{&worker.arena}, ring_{worker.reports, worker.report_tail, report_head, start} {}

Result<std::size_t> ReportReceiver::drain(std::span<ReceivedReport> out) {
  if (violation_) return Error{*violation_};
  std::uint64_t published = 0;
  if (const Rule rule = ring_.available(published); rule != Rule::None) {
    violation_ = ring_.violation(rule);
    return Error{*violation_};
  }
  const std::size_t wanted = std::min({out.size(), kReportsPerDrain, std::size_t{published}});
  std::size_t received = 0;
  while (received < wanted) {
    const Rule rule = receive(out[received]);
    if (rule != Rule::None) {
      violation_ = ring_.violation(rule, out[received].report);
      break;
    }
    ++received;
  }
  if (received == 0 && violation_) return Error{*violation_};
  if (received > 0) ring_.release();
  return received;
}

// Steps 2, 3 and 6 of facts 3.4. After the copy shared memory is not looked at again; the worker
// may change the arena under us, which garbles the text but cannot make it longer or unprintable.
Rule ReportReceiver::receive(ReceivedReport& out) {
  const std::size_t place = ring_.next() & kSlotMask;
  if (const Rule rule = ring_.read(out.report); rule != Rule::None) return rule;
  const Report& report = out.report;
  if (report.kind == 0 || report.kind > kReportKindLast) return Rule::Kind;
  if (report.failure > kFailureClassLast) return Rule::Kind;
  if (report.arena_len > kArenaEntrySize) return Rule::ArenaLength;
  out.text.clear();
  if (report.arena_len > 0) {
    const ArenaText copy = (*arena_)[place].load();
    out.text = sanitized({copy.data(), report.arena_len},
                         carries_failure_text(report) ? kFailureTextSeparators : 0);
  }
  return Rule::None;
}

}  // namespace sluice::ipc
