// A worker with the null sink on a topic of the real broker, driven by hand: the product's reads
// without slicer and host around them.
#pragma once

#include <string>

#include "broker/real_kafka.hpp"
#include "rig/running_worker.hpp"

namespace sluice::tests {

/// `more`: librdkafka properties over the worker's own.
inline worker::StartParameters null_worker(const RealKafka& kafka, const std::string& topic,
                                           const kafka::Properties& more = {}) {
  worker::StartParameters parameters;
  parameters.job = "gate";
  parameters.topics = {{topic, 0}};
  parameters.plugins = {rig::plugin_of(worker::PluginKind::Sink, "null", "null_sink.so")};
  parameters.consumer = kafka.properties(more);
  return parameters;
}

inline void await(rig::RunningWorker& worker, ipc::ReportKind kind, std::size_t times = 1) {
  INFO(worker.log << worker.output);
  REQUIRE(worker.wait_until([&] { return worker.count(kind) >= times; }));
}

}  // namespace sluice::tests
