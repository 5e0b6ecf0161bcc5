// From a job's configuration to what may run: each plugin is found, its keys are checked against
// its own schema (in a worker process, never here), and its file is pinned by digest, so that no
// later copy over it changes what this job runs (sdk.md, "Hot swap semantics").
#pragma once

#include "host/base/error.hpp"
#include "host/config/job_config.hpp"
#include "host/job/job_runtime.hpp"
#include "host/plugin_catalog/plugin_catalog.hpp"

namespace sluice::job {

/// Blocks for some process starts: before the loop runs. A Configuration error holds one line per
/// problem, each at its place in the job's file.
Result<JobPlan> plan_job(config::JobConfig config, catalog::PluginCatalog& catalog);

}  // namespace sluice::job
