// Finds a job's partitions and decides where each starts: metadata, low watermark and end, and the
// group's committed offsets of those not known yet, put to decide_start (start_position.hpp). At a
// job's start all its partitions are new; later calls find partitions and topics that have
// appeared. Nothing is found while others live in the group (S3).
//
// Blocks on Kafka within its timeouts: for the Kafka thread only. Keeps nothing between calls.
// Not here: making the resolved positions durable, which must happen before the first slice (S2).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/base/error.hpp"
#include "host/config/topic_pattern.hpp"
#include "host/job/dead_letter_topic.hpp"
#include "host/job/start_position.hpp"
#include "host/kafka/admin.hpp"

namespace sluice::job {

/// Which partitions of which topics; a bit for each, because a request holds a copy of them all.
class PartitionSet {
 public:
  bool contains(const kafka::TopicPartition& where) const {
    const auto found = topics_.find(where.topic);
    const auto number = static_cast<std::size_t>(where.partition);
    return found != topics_.end() && number < found->second.size() && found->second[number];
  }
  void insert(const kafka::TopicPartition& where) {
    auto& of_topic = topics_[where.topic];
    const auto number = static_cast<std::size_t>(where.partition);
    if (number >= of_topic.size()) of_topic.resize(number + 1);
    if (!of_topic[number]) ++size_;
    of_topic[number] = true;
  }
  std::size_t size() const { return size_; }
  /// With at least one partition.
  std::set<std::string> topics() const {
    std::set<std::string> names;
    for (const auto& [name, partitions] : topics_) names.insert(name);
    return names;
  }

 private:
  std::map<std::string, std::vector<bool>> topics_;
  std::size_t size_ = 0;
};

/// Of a partition's stored row.
struct StoredFrontier {
  std::int64_t frontier = 0;
  std::int64_t lowered_from = 0;  ///< PartitionRow::lowered_from
  bool outdated = false;          ///< of a topic that was recreated since (F5)
};
using Frontiers = std::map<kafka::TopicPartition, StoredFrontier>;

struct DiscoveryRequest {
  std::string job;
  std::string group;     ///< connect-<job>
  std::string store_id;  ///< ours
  std::vector<std::string> topics;
  std::optional<config::TopicPattern> pattern;  ///< topics.regex, instead of `topics`
  std::shared_ptr<const Frontiers> frontiers;   ///< what the state store knows; null: nothing
  PartitionSet resolved;                        ///< found by an earlier call
  ResetPolicy reset = ResetPolicy::Earliest;
  std::optional<std::int64_t> start_timestamp_ms;
  std::optional<StartFrom> from;
  StartQuestion::Appeared appeared = StartQuestion::Appeared::AtFirstStart;
  /// Made ready before anything is decided; once per start.
  std::optional<DeadLetterTopic> dead_letters;
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

/// What the cluster said of a topic; nothing is here of one that could not be read.
struct TopicSighting {
  std::string topic;
  std::optional<std::int32_t> partitions;  ///< none: it does not exist
};

struct Discovery {
  std::vector<FoundPartition> found;
  std::vector<TopicSighting> topics;
  std::vector<TopicProblem> waiting;  ///< missing or unreadable now; ask again later
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  ///< worth a line of level info
  std::optional<Refusal> refusal;  ///< the job must not start; `found` is empty then
  /// Others live in the group (S3), in one sentence: ask again later; nothing has been decided.
  std::string conflict;
};

/// `group connect-J has active members: ...`, at start and at run time (S3).
std::string active_members(const std::string& group);

/// An Error (mostly KafkaUnavailable) is about the moment: ask again. Nothing has been decided
/// then.
Result<Discovery> discover(kafka::HostClient& client, const DiscoveryRequest& request);

}  // namespace sluice::job
