#include "host/kafka/admin.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "host/base/assert.hpp"
#include "host/kafka/deadline.hpp"
#include "host/kafka/group_client.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

namespace {

constexpr std::size_t kManyPartitions = 200;
/// A partition in the list of all topics costs about so many times less than one behind a handle.
constexpr std::size_t kListAdvantage = 10;
constexpr std::string_view kMockClusterId = "mockCluster";

TopicInfo topic_info_of(const rd_kafka_metadata_topic& topic) {
  TopicInfo info;
  info.name = topic.topic;
  if (topic.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
    info.state = TopicState::Missing;
  } else if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR &&
             topic.err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) {
    info.state = TopicState::Unreadable;
    info.why = rd_kafka_err2str(topic.err);
  }
  info.partitions.reserve(static_cast<std::size_t>(topic.partition_cnt));
  for (int i = 0; i < topic.partition_cnt; ++i) {
    const auto& found = topic.partitions[i];
    PartitionInfo partition{found.id, std::nullopt};
    if (found.leader >= 0) partition.leader = found.leader;
    info.partitions.push_back(partition);
  }
  // librdkafka 2.0 has them in order: nothing is sorted then.
  const auto by_number = [](const auto& a, const auto& b) { return a.partition < b.partition; };
  if (!std::is_sorted(info.partitions.begin(), info.partitions.end(), by_number)) {
    std::sort(info.partitions.begin(), info.partitions.end(), by_number);
  }
  return info;
}

}  // namespace

LogPoint LogPoint::earliest() {
  return LogPoint{RD_KAFKA_OFFSET_BEGINNING};
}
LogPoint LogPoint::latest() {
  return LogPoint{RD_KAFKA_OFFSET_END};
}
LogPoint LogPoint::timestamp(std::int64_t unix_ms) {
  SLUICE_ASSERT(unix_ms >= 0, unix_ms);
  return LogPoint{unix_ms};
}

Result<std::unique_ptr<HostClient>> HostClient::create(const Properties& properties,
                                                       IsolationLevel isolation) {
  std::unique_ptr<HostClient> host{new HostClient};
  auto event_fd = EventFd::create();
  if (!event_fd) return event_fd.error();
  host->event_fd_ = std::move(*event_fd);
  const bool committed = isolation == IsolationLevel::ReadCommitted;
  const auto overridden = with_overrides(
      properties, {{"isolation.level", committed ? "read_committed" : "read_uncommitted"},
                   {"allow.auto.create.topics", "false"}});
  auto made = make_event_client(overridden, host->event_fd());
  if (!made) return made.error();
  host->client_ = std::move(made->client);
  host->main_queue_ = std::move(made->main_queue);
  auto groups = GroupClient::create(properties, host->event_fd_);
  if (!groups) return groups.error();
  host->groups_ = std::move(*groups);
  return host;
}

HostClient::HostClient() = default;
HostClient::~HostClient() = default;

// ------------------------------------------------------------------------------- topics

Result<std::vector<TopicInfo>> HostClient::describe_topics(std::span<const std::string> names,
                                                           int timeout_ms) {
  const Deadline deadline{timeout_ms};
  std::vector<TopicInfo> listed;
  if (is_list_cheaper(names)) {
    auto all = list_topics(deadline.remaining_ms());
    if (!all) return all;
    listed = *std::move(all);
  }
  std::vector<TopicInfo> topics;
  topics.reserve(names.size());
  for (const auto& name : names) {
    const auto found = std::lower_bound(
        listed.begin(), listed.end(), name,
        [](const TopicInfo& topic, const std::string& wanted) { return topic.name < wanted; });
    if (found != listed.end() && found->name == name) {
      topics.push_back(std::move(*found));
    } else {
      auto topic = describe_topic(name, deadline.remaining_ms());
      if (!topic) return topic.error();
      topics.push_back(*std::move(topic));
    }
    partitions_of_[name] = topics.back().partitions.size();
  }
  return topics;
}

/// What has once been asked about through a handle, librdkafka 2.0.2 keeps for as long as the
/// client lives: 1.4 KB a partition. An entry of the list of all topics is 100 bytes, but there may
/// be very many. So the list comes first, which shows how large the cluster is; after it, where the
/// topics are large, as last described, and large beside the cluster.
bool HostClient::is_list_cheaper(std::span<const std::string> names) const {
  if (!partitions_of_cluster_) return true;
  std::size_t partitions = 0;
  for (const auto& name : names) {
    const auto known = partitions_of_.find(name);
    if (known != partitions_of_.end()) partitions += known->second;
  }
  return partitions >= kManyPartitions && partitions >= *partitions_of_cluster_ / kListAdvantage;
}

Result<TopicInfo> HostClient::describe_topic(const std::string& name, int timeout_ms) {
  const Handle<rd_kafka_topic_t> handle{rd_kafka_topic_new(client_.get(), name.c_str(), nullptr)};
  if (!handle) return kafka_error("metadata", name, rd_kafka_last_error());
  const struct rd_kafka_metadata* answer = nullptr;
  const auto error = rd_kafka_metadata(client_.get(), 0, handle.get(), &answer, timeout_ms);
  const Owned<const struct rd_kafka_metadata> metadata{answer};
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_error("metadata", name, error);
  if (answer->topic_cnt != 1) return kafka_error("metadata", name, RD_KAFKA_RESP_ERR__BAD_MSG);
  brokers_ = answer->broker_cnt;
  return topic_info_of(answer->topics[0]);
}

/// All brokers come with any answer. There is no question about them alone: the library would ask
/// for the topics that it remembers, and create those that have been deleted.
Result<int> HostClient::broker_count(int timeout_ms) {
  if (!brokers_) {
    const auto listed = list_topics(timeout_ms);
    if (!listed) return listed.error();
  }
  return *brokers_;
}

Result<std::vector<TopicInfo>> HostClient::list_topics(int timeout_ms) {
  const struct rd_kafka_metadata* answer = nullptr;
  const auto error = rd_kafka_metadata(client_.get(), 1, nullptr, &answer, timeout_ms);
  const Owned<const struct rd_kafka_metadata> metadata{answer};
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_error("metadata", "all topics", error);
  std::vector<TopicInfo> topics;
  std::size_t partitions = 0;
  for (int i = 0; i < answer->topic_cnt; ++i) {
    topics.push_back(topic_info_of(answer->topics[i]));
    partitions += topics.back().partitions.size();
  }
  partitions_of_cluster_ = partitions;
  brokers_ = answer->broker_cnt;
  std::sort(topics.begin(), topics.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return topics;
}

Result<std::string> HostClient::cluster_id(int timeout_ms) {
  char* id = rd_kafka_clusterid(client_.get(), timeout_ms);
  if (id == nullptr) {
    return kafka_error("cluster id", "metadata", RD_KAFKA_RESP_ERR__TIMED_OUT);
  }
  std::string copied{id};
  rd_kafka_mem_free(client_.get(), id);
  return copied;
}

// ------------------------------------------------------------------------------- groups

Result<std::vector<CommittedOffset>> HostClient::committed(
    const std::string& group, std::span<const TopicPartition> partitions, int timeout_ms) {
  return groups_->committed(group, partitions, timeout_ms);
}

// librdkafka 2.0.2 locks a freed mutex, and its main thread never comes back, when a broker does
// not offer an administrative request. Real brokers have had this one since 0.9; its own mock
// cluster has not.
Result<> HostClient::check_describes_groups(int timeout_ms) {
  const auto id = cluster_id(timeout_ms);
  if (!id) return id.error();
  if (!id->starts_with(kMockClusterId)) return {};
  return Error{ErrorCode::Incompatible, "describe group: this broker cannot describe groups"};
}

Result<GroupDescription> HostClient::describe_group(const std::string& group, int timeout_ms) {
  const Deadline deadline{timeout_ms};
  SLUICE_TRY(check_describes_groups(timeout_ms));
  return groups_->describe(group, deadline.remaining_ms());
}

CommitResult HostClient::commit_and_wait(const std::string& group,
                                         std::span<const GroupOffset> offsets, int timeout_ms) {
  return groups_->commit_and_wait(group, offsets, timeout_ms);
}

void HostClient::commit(const std::string& group, std::span<const GroupOffset> offsets,
                        int timeout_ms, CommitCallback done) {
  groups_->commit(group, offsets, timeout_ms, std::move(done));
}

void HostClient::poll() {
  event_fd_.clear();
  groups_->poll(events_);
  while (const Owned<rd_kafka_event_t> event{rd_kafka_queue_poll(main_queue_.get(), 0)}) {
    append_client_event(event.get(), events_);
  }
}

ClientEvents HostClient::take_client_events() {
  return std::exchange(events_, {});
}

}  // namespace sluice::kafka
