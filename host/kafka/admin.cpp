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

constexpr std::uint64_t kEventFdOne = 1;
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
  for (int i = 0; i < topic.partition_cnt; ++i) {
    const auto& found = topic.partitions[i];
    PartitionInfo partition{found.id, std::nullopt};
    if (found.leader >= 0) partition.leader = found.leader;
    info.partitions.push_back(partition);
  }
  std::sort(info.partitions.begin(), info.partitions.end(),
            [](const auto& a, const auto& b) { return a.partition < b.partition; });
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
  auto conf = make_conf(with_overrides(
      properties, {{"isolation.level", committed ? "read_committed" : "read_uncommitted"},
                   {"allow.auto.create.topics", "false"},
                   {"log.queue", "true"}}));
  if (!conf) return conf.error();
  ask_for_events(conf->get());
  auto client = make_client(RD_KAFKA_CONSUMER, std::move(*conf));
  if (!client) return client.error();
  host->client_ = std::move(*client);
  host->main_queue_.reset(rd_kafka_queue_get_main(host->client_.get()));
  SLUICE_TRY(result_of("log queue", "kafka client",
                       rd_kafka_set_log_queue(host->client_.get(), host->main_queue_.get())));
  rd_kafka_queue_io_event_enable(host->main_queue_.get(), host->event_fd(), &kEventFdOne,
                                 sizeof kEventFdOne);
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
  std::vector<TopicInfo> topics;
  topics.reserve(names.size());
  for (const auto& name : names) {
    const Handle<rd_kafka_topic_t> handle{rd_kafka_topic_new(client_.get(), name.c_str(), nullptr)};
    if (!handle) return kafka_error("metadata", name, rd_kafka_last_error());
    const struct rd_kafka_metadata* answer = nullptr;
    const auto error =
        rd_kafka_metadata(client_.get(), 0, handle.get(), &answer, deadline.remaining_ms());
    const Owned<const struct rd_kafka_metadata> metadata{answer};
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_error("metadata", name, error);
    if (answer->topic_cnt != 1) {
      return kafka_error("metadata", name, RD_KAFKA_RESP_ERR__BAD_MSG);
    }
    topics.push_back(topic_info_of(answer->topics[0]));
  }
  return topics;
}

Result<std::vector<TopicInfo>> HostClient::list_topics(int timeout_ms) {
  const struct rd_kafka_metadata* answer = nullptr;
  const auto error = rd_kafka_metadata(client_.get(), 1, nullptr, &answer, timeout_ms);
  const Owned<const struct rd_kafka_metadata> metadata{answer};
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_error("metadata", "all topics", error);
  std::vector<TopicInfo> topics;
  for (int i = 0; i < answer->topic_cnt; ++i) topics.push_back(topic_info_of(answer->topics[i]));
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
