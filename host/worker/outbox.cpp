#include "host/worker/outbox.hpp"

#include <algorithm>
#include <limits>

namespace sluice::worker {

using ipc::Report;
using ipc::ReportKind;

namespace {

std::uint32_t saturated(std::uint64_t value) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

Report report_of(ReportKind kind) {
  Report report;
  report.kind = static_cast<std::uint16_t>(kind);
  return report;
}

Report report_of(ReportKind kind, const SliceWork& slice, std::int64_t next_offset) {
  Report report = report_of(kind);
  report.slice_id = slice.command.slice_id;
  report.fence = slice.command.fence;
  report.topic = slice.command.topic;
  report.partition = slice.command.partition;
  report.next_offset = next_offset;
  report.bytes = slice.counts.bytes;
  report.records = slice.counts.records;
  report.out = slice.counts.out;
  report.filtered = slice.counts.filtered;
  report.errant = slice.counts.errant;
  report.out_bytes = slice.counts.out_bytes;
  if (slice.last.offset >= 0 && slice.last.offset < next_offset) {
    report.last_offset = slice.last.offset;
    report.last_timestamp = slice.last.timestamp;
    report.last_digest = slice.last.digest;
  }
  report.fetch_us = saturated(slice.times.fetch_us);
  report.process_us = saturated(slice.times.process_us);
  report.put_us = saturated(slice.times.put_us);
  report.flush_us = saturated(slice.times.flush_us);
  report.wait_us = saturated(slice.times.wait_us);
  return report;
}

Report report_of(ReportKind kind, std::uint16_t topic, std::int32_t partition,
                 std::int64_t next_offset) {
  Report report = report_of(kind);
  report.topic = topic;
  report.partition = partition;
  report.next_offset = next_offset;
  return report;
}

}  // namespace

void Outbox::send(const Report& report, std::string_view text) {
  if (is_broken_) return;
  if (!channel_.report(report, text)) is_broken_ = true;
}

void Outbox::ready() {
  send(report_of(ReportKind::Ready));
}

void Outbox::done(const SliceWork& slice, std::uint32_t group_slices) {
  Report report = report_of(ReportKind::Done, slice, slice.command.end);
  report.group_slices = group_slices;
  send(report);
}

void Outbox::released(const SliceWork& slice) {
  if (slice.durable >= slice.command.end) return done(slice, 1);  // nothing is left to give back
  // A stable slice runs as it is or not at all (slicer.md C3).
  const std::int64_t next = slice.is_indivisible() ? slice.command.start : slice.durable;
  send(report_of(ReportKind::Released, slice, next));
}

void Outbox::survived(const SliceWork& slice) {
  send(report_of(ReportKind::Survived, slice, slice.command.end));
}

void Outbox::failed(const SliceWork& slice, const PluginFailure& failure) {
  Report report = report_of(ReportKind::Failed, slice, slice.durable);
  report.failure = static_cast<std::uint16_t>(failure.failure_class);
  send(report, ipc::encode_failure_text(failure.text));
}

void Outbox::chain_failed(const PluginFailure& failure) {
  Report report = report_of(ReportKind::Failed);
  report.failure = static_cast<std::uint16_t>(failure.failure_class);
  send(report, ipc::encode_failure_text(failure.text));
}

void Outbox::expired(const SliceWork& slice, std::int64_t position) {
  send(report_of(ReportKind::Expired, slice, position));
}

void Outbox::waiting(const SliceWork* slice, ipc::FailureClass failure_class, std::uint32_t attempt,
                     std::int64_t waited_us, const ipc::FailureText& text) {
  Report report = slice == nullptr ? report_of(ReportKind::Waiting)
                                   : report_of(ReportKind::Waiting, *slice, slice->durable);
  report.failure = static_cast<std::uint16_t>(failure_class);
  report.attempt = attempt;
  report.wait_us = saturated(static_cast<std::uint64_t>(std::max<std::int64_t>(waited_us, 0)));
  send(report, ipc::encode_failure_text(text));
}

void Outbox::opened(std::uint16_t topic, std::int32_t partition, std::int64_t position) {
  send(report_of(ReportKind::Opened, topic, partition, position));
}

void Outbox::seen(std::uint16_t topic, std::int32_t partition, std::int64_t visible_end) {
  send(report_of(ReportKind::Seen, topic, partition, visible_end));
}

void Outbox::log_lost(std::uint32_t lines) {
  Report report = report_of(ReportKind::LogLost);
  report.records = lines;
  send(report);
}

}  // namespace sluice::worker
