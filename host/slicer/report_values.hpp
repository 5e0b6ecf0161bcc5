// What a report says in the words of rows: counts, times, the error. Pure conversions; whether it
// is believed is report_check's and reports.cpp's business.
//
// Internal to host/slicer.
#pragma once

#include <string_view>

#include "host/state/rows.hpp"
#include "ipc/slice_report.hpp"

namespace sluice::slicer {

state::Counts counts_of(const ipc::Report& report);
state::PhaseTimes times_of(const ipc::Report& report);
void add(state::Counts& sum, const state::Counts& more);
/// `text` is the report's arena entry: stage, plugin and message (ipc/failure_text.hpp).
state::SliceError error_of(const ipc::Report& report, std::string_view text);

}  // namespace sluice::slicer
