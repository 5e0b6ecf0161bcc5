// Rows of the state store as JSON, and the words that stand for their enums in answers and queries.
// Pure. Member names are those of the rows (host/state/rows.hpp); times are Unix milliseconds.
// Names are API: the words of one enum only grow.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

#include "host/state/audit.hpp"
#include "host/state/rows.hpp"

namespace sluice::rest {

std::string_view slice_state_name(state::SliceState state);
std::optional<state::SliceState> slice_state_of(std::string_view name);
std::string_view cause_name(state::Cause cause);
std::string_view execution_state_name(state::ExecutionState state);

boost::json::object json_of(const state::Counts& counts);
boost::json::object json_of(const state::SliceRow& row);
boost::json::object json_of(const state::GapRow& row);
boost::json::object json_of(const state::ExecutionRow& row);
boost::json::object json_of(const state::AuditFinding& finding);

}  // namespace sluice::rest
