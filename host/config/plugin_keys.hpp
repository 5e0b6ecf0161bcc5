// Splits a job's map into the host's keys and those of each plugin, prefix taken off, with their
// positions. What a plugin's keys mean is not known here: its schema says that, and only a worker
// process reads it (host/plugin_catalog).
#pragma once

#include <string_view>

#include "host/config/entries.hpp"
#include "host/config/job_config.hpp"

namespace sluice::config {

/// Requires: `transforms` and `connector_class` of `config` are read. Fills sink and processors.
void take_plugin_keys(const Entries& entries, JobConfig& config, Problems& problems);

/// What is no exact version (`[1.0,2.0)`), as a Problem.
void check_version(const Entry& entry, Problems& problems);

}  // namespace sluice::config
