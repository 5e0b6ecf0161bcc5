// Which plugin of a job's chain a death happened in: what its dead letters and its halt name. The
// phase decides where it can: only the sink puts. Else the place that the worker's last words give,
// if it fits the phase; a worker that has gone wrong may have written anything there. Pure.
#pragma once

#include <string>
#include <vector>

#include "host/slicer/accusation.hpp"
#include "host/worker/start_parameters.hpp"

namespace sluice::job {

/// Its alias; empty where no plugin ran, or nobody can tell which. Requires: a sink, at the end of
/// `plugins`.
std::string accused_plugin(const slicer::Accusation& accusation,
                           const std::vector<worker::PluginInstance>& plugins);

}  // namespace sluice::job
