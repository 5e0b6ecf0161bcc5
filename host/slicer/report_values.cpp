#include "host/slicer/report_values.hpp"

#include <utility>

#include "ipc/failure_text.hpp"

namespace sluice::slicer {

state::Counts counts_of(const ipc::Report& report) {
  return {.in = report.records,
          .out = report.out,
          .filtered = report.filtered,
          .errant = report.errant,
          .bytes = report.bytes};
}

state::PhaseTimes times_of(const ipc::Report& report) {
  return {.fetch_us = report.fetch_us,
          .process_us = report.process_us,
          .put_us = report.put_us,
          .flush_us = report.flush_us,
          .state_us = report.state_us,
          .wait_us = report.wait_us};
}

void add(state::Counts& sum, const state::Counts& more) {
  sum.in += more.in;
  sum.out += more.out;
  sum.filtered += more.filtered;
  sum.errant += more.errant;
  sum.bytes += more.bytes;
}

state::SliceError error_of(const ipc::Report& report, std::string_view text) {
  ipc::FailureText parts = ipc::decode_failure_text(text);
  return {.stage = std::move(parts.stage),
          .plugin = std::move(parts.plugin),
          .code = report.failure,
          .message = std::move(parts.message)};
}

}  // namespace sluice::slicer
