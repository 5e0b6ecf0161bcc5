#include "host/kafka/admin.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "host/base/assert.hpp"
#include "host/kafka/admin_call.hpp"
#include "host/kafka/deadline.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

namespace {

/// librdkafka looks partitions up in lists: 1,000 cost 6.5 ms, 10,000 in one call 794 (facts 0.8).
constexpr std::size_t kPartitionsPerRequest = 1'000;
constexpr std::uint64_t kEventFdOne = 1;
constexpr std::string_view kMockClusterId = "mockCluster";

using PartitionList = Handle<rd_kafka_topic_partition_list_t>;

PartitionList list_of(std::span<const TopicPartition> partitions) {
  PartitionList list{rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size()))};
  for (const auto& [topic, partition] : partitions) {
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition);
  }
  return list;
}

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

bool is_active_members(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
         error == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
         error == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS ||
         error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
}

CommitOutcome outcome_of(rd_kafka_resp_err_t error) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return CommitOutcome::Committed;
  if (is_active_members(error)) return CommitOutcome::ActiveMembers;
  return error_code_of(error) == ErrorCode::KafkaUnavailable ? CommitOutcome::Unavailable
                                                             : CommitOutcome::Refused;
}

CommitResult commit_result_of(rd_kafka_event_t* event) {
  CommitResult result;
  if (const auto error = rd_kafka_event_error(event); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    result.outcome = outcome_of(error);
    const char* text = rd_kafka_event_error_string(event);
    result.why = text != nullptr ? text : rd_kafka_err2str(error);
    return result;
  }
  std::size_t count = 0;
  const auto** groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
      rd_kafka_event_AlterConsumerGroupOffsets_result(event), &count);
  for (std::size_t g = 0; g < count; ++g) {
    const auto* partitions = rd_kafka_group_result_partitions(groups[g]);
    for (int i = 0; partitions != nullptr && i < partitions->cnt; ++i) {
      const auto& partition = partitions->elems[i];
      if (partition.err == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      // Members in the group concern the whole group: no other partition's reason may hide them.
      if (result.failed.empty() || is_active_members(partition.err)) {
        result.outcome = outcome_of(partition.err);
        result.why = partition_name(partition.topic, partition.partition) + ": " +
                     rd_kafka_err2str(partition.err);
      }
      result.failed.push_back({partition.topic, partition.partition});
    }
  }
  return result;
}

std::string metadata_of(const rd_kafka_topic_partition_t& partition) {
  if (partition.metadata == nullptr) return {};
  return {static_cast<const char*>(partition.metadata), partition.metadata_size};
}

/// The list frees it with rd_free(), which is free().
void set_metadata(rd_kafka_t* client, rd_kafka_topic_partition_t& partition,
                  const std::string& metadata) {
  if (metadata.empty()) return;
  partition.metadata = rd_kafka_mem_malloc(client, metadata.size());
  metadata.copy(static_cast<char*>(partition.metadata), metadata.size());
  partition.metadata_size = metadata.size();
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
  return host;
}

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
  const Deadline deadline{timeout_ms};
  std::vector<CommittedOffset> found;
  found.reserve(partitions.size());
  while (!partitions.empty()) {
    const auto asked = partitions.first(std::min(partitions.size(), kPartitionsPerRequest));
    partitions = partitions.subspan(asked.size());
    SLUICE_TRY(append_committed(group, asked, deadline.remaining_ms(), found));
  }
  return found;
}

Result<> HostClient::append_committed(const std::string& group,
                                      std::span<const TopicPartition> asked, int timeout_ms,
                                      std::vector<CommittedOffset>& found) {
  const auto list = list_of(asked);
  const Owned<rd_kafka_ListConsumerGroupOffsets_t> request{
      rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), list.get())};
  const AdminCall call{client_.get(), RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeout_ms};
  rd_kafka_ListConsumerGroupOffsets_t* requests[] = {request.get()};
  rd_kafka_ListConsumerGroupOffsets(client_.get(), requests, 1, call.options(), call.queue());
  const auto event = call.wait("committed offsets", group);
  if (!event) return event.error();

  std::size_t count = 0;
  const auto** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
      rd_kafka_event_ListConsumerGroupOffsets_result(event->get()), &count);
  if (count != 1) return kafka_error("committed offsets", group, RD_KAFKA_RESP_ERR__BAD_MSG);
  if (const auto* error = rd_kafka_group_result_error(groups[0])) {
    return kafka_error("committed offsets", group, rd_kafka_error_code(error));
  }
  const auto* answers = rd_kafka_group_result_partitions(groups[0]);
  for (const auto& where : asked) {
    CommittedOffset committed{where, std::nullopt, {}};
    const auto* answer =
        rd_kafka_topic_partition_list_find(const_cast<rd_kafka_topic_partition_list_t*>(answers),
                                           where.topic.c_str(), where.partition);
    if (answer == nullptr) {
      return kafka_error("committed offsets", group, RD_KAFKA_RESP_ERR__BAD_MSG);
    }
    if (answer->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return kafka_error("committed offsets",
                         group + ": " + partition_name(where.topic, where.partition), answer->err);
    }
    if (answer->offset >= 0) {
      committed.offset = answer->offset;
      committed.metadata = metadata_of(*answer);
    }
    found.push_back(std::move(committed));
  }
  return {};
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
  timeout_ms = deadline.remaining_ms();
  const AdminCall call{client_.get(), RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeout_ms};
  const char* names[] = {group.c_str()};
  rd_kafka_DescribeConsumerGroups(client_.get(), names, 1, call.options(), call.queue());
  const auto event = call.wait("describe group", group);
  if (!event) return event.error();
  std::size_t count = 0;
  const auto** groups = rd_kafka_DescribeConsumerGroups_result_groups(
      rd_kafka_event_DescribeConsumerGroups_result(event->get()), &count);
  if (count != 1) return kafka_error("describe group", group, RD_KAFKA_RESP_ERR__BAD_MSG);
  if (const auto* error = rd_kafka_ConsumerGroupDescription_error(groups[0])) {
    const auto code = rd_kafka_error_code(error);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_error("describe group", group, code);
  }
  GroupDescription description;
  description.state =
      rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(groups[0]));
  const auto members = rd_kafka_ConsumerGroupDescription_member_count(groups[0]);
  for (std::size_t i = 0; i < members; ++i) {
    const auto* member = rd_kafka_ConsumerGroupDescription_member(groups[0], i);
    description.members.push_back(
        {rd_kafka_MemberDescription_client_id(member), rd_kafka_MemberDescription_host(member)});
  }
  return description;
}

void HostClient::commit(const std::string& group, std::span<const GroupOffset> offsets,
                        int timeout_ms, CommitCallback done) {
  SLUICE_ASSERT(!offsets.empty(), group);
  const PartitionList list{rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size()))};
  for (const auto& offset : offsets) {
    SLUICE_ASSERT(offset.offset >= 0, offset.where.topic, offset.where.partition);
    auto* partition = rd_kafka_topic_partition_list_add(list.get(), offset.where.topic.c_str(),
                                                        offset.where.partition);
    partition->offset = offset.offset;
    set_metadata(client_.get(), *partition, offset.metadata);
  }
  const Owned<rd_kafka_AlterConsumerGroupOffsets_t> request{
      rd_kafka_AlterConsumerGroupOffsets_new(group.c_str(), list.get())};
  const auto options =
      admin_options(client_.get(), RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, timeout_ms);
  const auto token = ++last_commit_;
  rd_kafka_AdminOptions_set_opaque(options.get(), reinterpret_cast<void*>(token));
  commits_.emplace(token, std::move(done));
  rd_kafka_AlterConsumerGroupOffsets_t* requests[] = {request.get()};
  rd_kafka_AlterConsumerGroupOffsets(client_.get(), requests, 1, options.get(), main_queue_.get());
}

void HostClient::poll() {
  event_fd_.clear();
  while (const Owned<rd_kafka_event_t> event{rd_kafka_queue_poll(main_queue_.get(), 0)}) {
    if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT) {
      append_client_event(event.get(), events_);
      continue;
    }
    const auto token = reinterpret_cast<std::uintptr_t>(rd_kafka_event_opaque(event.get()));
    auto commit = commits_.extract(token);
    SLUICE_ASSERT(!commit.empty(), token);
    commit.mapped()(commit_result_of(event.get()));
  }
}

ClientEvents HostClient::take_client_events() {
  return std::exchange(events_, {});
}

}  // namespace sluice::kafka
