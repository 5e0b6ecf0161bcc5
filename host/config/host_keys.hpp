// The one table of the host's own file, /etc/sluice/sluice.toml (interfaces.md, "Host").
#pragma once

#include <span>

#include "host/config/host_config.hpp"
#include "host/config/key_spec.hpp"

namespace sluice::config {

std::span<const BoundKey<HostConfig>> host_keys();

}  // namespace sluice::config
