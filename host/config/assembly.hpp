// The last step of loading: from the flat map to a typed configuration, jobs in job_assembly.cpp,
// the host in host_assembly.cpp. What is wrong goes into `problems`; the result is of use only if
// there are none. Inside this folder only: load.hpp is the way in.
#pragma once

#include <string_view>

#include "host/config/entries.hpp"
#include "host/config/load.hpp"

namespace sluice::config {

JobConfig assemble_job(const Entries& entries, const LoadOptions& options, Problems& problems);

/// Relative folders begin at the folder of `origin`.
HostConfig assemble_host(const Entries& entries, const LoadOptions& options,
                         std::string_view origin, Problems& problems);

}  // namespace sluice::config
