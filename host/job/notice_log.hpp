// The slicer's notices as log lines: what happened to which offsets of which partition, and why.
// Every kind has its level; what may repeat without end (a late report, a log that ends below the
// position) is limited to one line a minute. Not here: status, which shows the same as numbers.
#pragma once

#include <string>
#include <vector>

#include "host/log/logger.hpp"
#include "host/slicer/actions.hpp"

namespace sluice::job {

/// `topics` by topic number, as in the job's topic table.
void log_notice(const log::Logger& log, const std::vector<std::string>& topics,
                const slicer::Notice& notice);
void log_halted(const log::Logger& log, const std::vector<std::string>& topics,
                const slicer::Halted& halted);

}  // namespace sluice::job
