// A job's status as JSON: a line of the list, and the whole with partitions and workers.
// Pure; made from the copy that JobRuntime::status() hands out. Member names are API: scripts and
// dashboards read them. Offsets that are not known yet are null, never -1.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "host/job/job_status.hpp"

namespace sluice::rest {

/// Without partitions and workers: what `job list` shows.
boost::json::object summary_json(const job::JobStatus& status);
/// summary_json, counts, totals, `partitions` and `workers`.
boost::json::object status_json(const job::JobStatus& status);
boost::json::array workers_json(const job::JobStatus& status);
/// `partitions` of `job offsets`: where each starts, stands and ends.
boost::json::array offsets_json(const job::JobStatus& status);

}  // namespace sluice::rest
