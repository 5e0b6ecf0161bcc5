// The slicer's notices as log lines: what happened to which offsets of which partition, and why.
// Every kind has its level; what may repeat without end (a late report, a log that ends below the
// position) is limited to one line a minute. And the deaths of workers, with all that is known. Not
// here: status, which shows the same as numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/log/logger.hpp"
#include "host/slicer/actions.hpp"
#include "host/state/rows.hpp"
#include "host/supervisor/supervisor.hpp"

namespace sluice::job {

/// `topics` by topic number, as in the job's topic table.
void log_notice(const log::Logger& log, const std::vector<std::string>& topics,
                const slicer::Notice& notice);
void log_halted(const log::Logger& log, const std::vector<std::string>& topics,
                const slicer::Halted& halted);
/// `log` carries the worker; `status` is its slot's, after the loss; `slice` is what the worker had
/// in hand, if it was in flight there.
void log_lost(const log::Logger& log, const supervisor::Lost& lost,
              const supervisor::SlotStatus& status, const std::optional<state::SliceRow>& slice,
              Milliseconds now);

}  // namespace sluice::job
