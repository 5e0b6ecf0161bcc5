// Properties of Kafka clients that a user writes: `consumer.override.*` of a job and [kafka] of the
// host. librdkafka's names pass; Java's names that have an exact equivalent are translated; Java's
// names that have none, and what the host decides itself, are refused with the way to say it here.
// Whether librdkafka knows a name is librdkafka's to say: host/kafka asks it.
#pragma once

#include <string>
#include <string_view>

namespace sluice::config {

struct PropertyVerdict {
  std::string name;     ///< librdkafka's; empty: refused
  std::string refusal;  ///< why, and what to do
};

enum class KafkaClient {
  Host,  ///< [kafka]: every client of the host and of its workers
  Job,   ///< consumer.override.*: the workers of one job
};

PropertyVerdict judge_property(KafkaClient client, std::string_view name);

}  // namespace sluice::config
