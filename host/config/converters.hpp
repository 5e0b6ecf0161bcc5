// key.converter, value.converter and header.converter: Sluice hands bytes to plugins, so converters
// that change no bytes are accepted and the others refused, naming what is missing. Nothing of them
// reaches a JobConfig.
#pragma once

#include "host/config/entries.hpp"

namespace sluice::config {

void check_converters(const Entries& entries, Problems& problems);

}  // namespace sluice::config
