// Finds a job's partitions and decides where each starts: metadata, low watermark and end, and the
// group's committed offsets of those not known yet, put to decide_start (start_position.hpp). At a
// job's start all its partitions are new; later calls find partitions and topics that have
// appeared.
//
// Blocks on Kafka within its timeouts: for the Kafka thread only. Keeps nothing between calls.
// Not here: making the resolved positions durable, which must happen before the first slice (S2).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/base/error.hpp"
#include "host/job/start_position.hpp"
#include "host/kafka/admin.hpp"

namespace sluice::job {

struct DiscoveryRequest {
  std::string job;
  std::string group;     ///< connect-<job>
  std::string store_id;  ///< ours
  std::vector<std::string> topics;
  std::map<kafka::TopicPartition, std::int64_t> frontiers;  ///< what the state store knows
  std::set<kafka::TopicPartition> resolved;                 ///< found by an earlier call
  ResetPolicy reset = ResetPolicy::Earliest;
  std::optional<std::int64_t> start_timestamp_ms;
  std::optional<StartFrom> from;
  StartQuestion::Appeared appeared = StartQuestion::Appeared::AtFirstStart;
};

struct FoundPartition {
  kafka::TopicPartition where;
  std::int64_t start = 0;
  std::int64_t low = 0;
  std::int64_t end = 0;
  std::string reason;  ///< of StartAt
};

struct TopicProblem {
  std::string topic;
  std::string why;
};

struct Discovery {
  std::vector<FoundPartition> found;
  std::vector<TopicProblem> waiting;  ///< missing or unreadable now; ask again later
  std::vector<std::string> warnings;
  std::optional<Refusal> refusal;  ///< the job must not start; `found` is empty then
};

/// An Error (mostly KafkaUnavailable) is about the moment: ask again. Nothing has been decided
/// then.
Result<Discovery> discover(kafka::HostClient& client, const DiscoveryRequest& request);

}  // namespace sluice::job
