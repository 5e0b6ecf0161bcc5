// A job's configuration in the words of the parts that run it: options of the two cores, start
// parameters of a worker, the names under which Kafka knows the job. Pure.
// Requires a validated configuration: nothing here can fail.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/config/job_config.hpp"
#include "host/job/start_position.hpp"
#include "host/kafka/properties.hpp"
#include "host/slicer/options.hpp"
#include "host/supervisor/supervisor.hpp"
#include "host/worker/start_parameters.hpp"

namespace sluice::job {

/// `connect-<job>`: Kafka Connect's name for a sink connector's group, so that a job that moves
/// here goes on where the connector stopped (slicer.md S2).
std::string group_name(const std::string& job);

ResetPolicy reset_policy(const config::JobConfig& job);

/// All but what the stored state says: execution and next_slice_id.
slicer::SlicerOptions slicer_options(const config::JobConfig& job, const Clock& clock);

/// Incarnations of workers count up from the host's own, which is larger than every earlier host's.
supervisor::SupervisorOptions supervisor_options(const config::JobConfig& job,
                                                 std::uint64_t host_incarnation);

worker::StartParameters start_parameters(const config::JobConfig& job,
                                         const std::vector<std::string>& topics,
                                         const std::vector<worker::PluginInstance>& plugins,
                                         const kafka::Properties& host_kafka,
                                         std::uint64_t execution, std::uint32_t slot,
                                         std::uint64_t incarnation);

}  // namespace sluice::job
