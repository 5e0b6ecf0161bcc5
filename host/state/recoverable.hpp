// Which slices recover can run again (slicer.md S6), for the host that runs them and for the status
// that counts them: parked ones, and those that a reset has passed unfinished. Of the topic that is
// there now: what an earlier incarnation held is gone, and so is what was cut off the log (F5).
//
// A slice from before a reset is none any more once every offset of it has a newer row, whichever
// rows these are; they may overlap, where a range was done twice or a record was set aside.
// Isolating: a stable slice itself (its parts have no rows), of any other its parts.
#pragma once

#include <cstdint>
#include <vector>

#include "host/state/database.hpp"
#include "host/state/rows.hpp"

namespace sluice::state {

/// By topic, partition, lane, start.
Result<std::vector<SliceRow>> recoverable_slices(Database& database, std::int64_t job_no);

}  // namespace sluice::state
