// Retention (slicer.md R3): completed rows beyond the limits become one row per unbroken range of a
// lane. Folding never bridges a hole, a parked or a skipped range, so that every offset stays
// covered by exactly the rows that settled it (R5), and never joins the newest execution with older
// ones. A lane's newest completed row is left alone: the slicer still extends it.
#pragma once

#include <cstdint>

#include "host/state/database.hpp"
#include "host/state/state_store.hpp"

namespace sluice::state {

/// Rows that one call takes away at most, so that the state thread is soon back at commits.
constexpr std::size_t kFoldRowsMax = 20'000;

/// How many rows it took away.
Result<std::uint64_t> fold_completed_slices(Database& database, std::int64_t job_no,
                                            const RetentionLimits& limits, std::int64_t now_ms);

}  // namespace sluice::state
