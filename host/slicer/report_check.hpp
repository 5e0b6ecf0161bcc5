// Rule 5 of ipc facts 3.4: what a report about a slice may say, given what was published. A pure
// function over the report and the host's own flight; whether that flight exists at all (rule 4) is
// looked up by the caller. A broken rule kills the worker: nothing is repaired or clamped.
#pragma once

#include <optional>

#include "host/slicer/actions.hpp"
#include "host/slicer/worker_table.hpp"
#include "ipc/slice_report.hpp"

namespace sluice::slicer {

/// The first rule that `report` breaks. Requires: a report about a slice (Done, Released, Failed or
/// Expired) whose flight is `flight`.
std::optional<Rule> broken_rule(const ipc::Report& report, const Flight& flight);

}  // namespace sluice::slicer
