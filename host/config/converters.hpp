// key.converter, value.converter, header.converter: Sluice hands bytes to plugins, so the converters
// that change no bytes are accepted and the others refused, naming what is missing.
#pragma once

#include "host/config/entries.hpp"

namespace sluice::config {

void check_converters(const Entries& entries, Problems& problems);

}  // namespace sluice::config
