// The dead letter topic of a job exists before its first slice runs (slicer.md F6). The rule is
// Kafka Connect's: a topic that is there is taken as it is; a missing one is created with one
// partition, the factor of errors.deadletterqueue.topic.replication.factor and the broker's
// defaults. What cannot be is a refusal with a sentence at the start, not a surprise at the first
// bad record.
//
// Blocks on Kafka within its timeouts: for the Kafka thread only. Keeps nothing.
#pragma once

#include <optional>
#include <string>

#include "host/base/error.hpp"
#include "host/config/job_config.hpp"
#include "host/job/start_position.hpp"
#include "host/kafka/admin.hpp"
#include "host/kafka/properties.hpp"

namespace sluice::job {

struct DeadLetterTopic {
  std::string name;
  int replication = 3;
  kafka::Properties kafka;  ///< of the client that creates it
};

/// Nothing for a job without a dead letter queue.
std::optional<DeadLetterTopic> dead_letter_topic(const config::JobConfig& job,
                                                 const kafka::Properties& host_kafka);

struct EnsuredTopic {
  bool is_new = false;
  std::optional<Refusal> refusal;
};

/// An Error is about the moment: ask again.
Result<EnsuredTopic> ensure_topic(kafka::HostClient& client, const DeadLetterTopic& wanted);

}  // namespace sluice::job
