// Dead letters into a Kafka topic: an idempotent producer with acks=all that never gives a letter
// up by itself, so that no letter is written twice within its life. Whoever waits for it decides
// how long; destroying it drops what is under way. It creates no topic. One thread.
#pragma once

#include <memory>
#include <string>

#include "host/dead_letter/outlet.hpp"
#include "host/kafka/properties.hpp"

namespace sluice::dead_letter {

/// `properties` with placeholders resolved: how to reach the cluster.
Result<std::unique_ptr<Outlet>> open_kafka_outlet(const kafka::Properties& properties,
                                                  std::string topic);

}  // namespace sluice::dead_letter
