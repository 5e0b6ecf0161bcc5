// The one table of the host's own file, /etc/sluice/sluice.toml (interfaces.md, "Host"), as
// job_keys.hpp is of a job's. Rows of [kafka] are documentation: any property of librdkafka may
// stand there, and host_assembly.cpp takes them.
#pragma once

#include <span>

#include "host/config/host_config.hpp"
#include "host/config/key_spec.hpp"

namespace sluice::config {

std::span<const BoundKey<HostConfig>> host_keys();

}  // namespace sluice::config
