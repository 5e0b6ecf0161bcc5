// Commands to a worker, with what goes beside some of them, in the same order: why a record is set
// aside (ipc/verdict.hpp), and which slice a probe is of (ipc/slice_terms.hpp). What a slicer says
// of a reason is the slice's error; plugin digests are the job's. A death of which nobody knows
// whose it was has neither plugin nor digest. Keeps nothing. Loop thread.
#pragma once

#include <span>
#include <vector>

#include "host/base/error.hpp"
#include "host/job/worker_link.hpp"
#include "host/slicer/actions.hpp"
#include "host/worker/start_parameters.hpp"
#include "ipc/verdict.hpp"

namespace sluice::job {

ipc::Verdict verdict_of(const slicer::DeadLetterReason& reason,
                        const std::vector<worker::PluginInstance>& plugins);

/// All at once while nothing goes beside them. Requires: `actions`, which they are of, has a reason
/// for each dead letter and terms for each slice that needs some.
Result<> publish(WorkerLink& worker, std::span<const ipc::Command> commands,
                 const slicer::Actions& actions,
                 const std::vector<worker::PluginInstance>& plugins);

}  // namespace sluice::job
