// The prefetch stall of librdkafka 2.0 and 2.1, and its cure, in one place (facts 4.2).
//
// When every partition's queue of a broker is full, the broker thread sleeps up to one second and
// nothing wakes it when the application drains the queue: a worker that needs 1.5 us per record got
// 21,000 records/s of 590,000. Replacing the SASL credentials wakes all broker threads and does
// nothing else, so that is the nudge; 2.2.0 brought fetch.queue.backoff.ms instead. tests/bench
// holds the gate that fails when the stall is back. Internal to host/kafka.
#pragma once

#include <string>

#include "host/kafka/handles.hpp"
#include "host/kafka/properties.hpp"

namespace sluice::kafka {

/// True for the library versions that have the stall and not the property.
bool needs_nudge();
/// What cures it by configuration, where the library has it; empty otherwise.
Properties nudge_properties();

struct SaslCredentials {
  std::string user;
  std::string password;
};

/// Wakes every broker thread. `credentials` must be the ones in use.
void nudge_fetch(rd_kafka_t* client, const SaslCredentials& credentials);

}  // namespace sluice::kafka
