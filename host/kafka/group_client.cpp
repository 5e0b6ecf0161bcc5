#include "host/kafka/group_client.hpp"

#include <algorithm>
#include <chrono>

#include "host/base/assert.hpp"
#include "host/base/blocked_signals.hpp"
#include "host/kafka/admin_call.hpp"
#include "host/kafka/deadline.hpp"

namespace sluice::kafka {

namespace {

/// librdkafka looks partitions up in lists: 1,000 cost 6.5 ms, 10,000 in one call 794 (facts 0.8).
constexpr std::size_t kPartitionsPerRequest = 1'000;
/// Without a group of its own 2.0.2 dies of a null pointer when the coordinator of another group
/// answers an OffsetFetch with an error.
constexpr const char* kOwnGroup = "sluice";
constexpr const char* kCoordinatorMemoryMs = "1000";
/// The memory, the library's timer that looks at it once a second, and a margin.
constexpr std::int64_t kHoldMs = 2'500;

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

using PartitionList = Handle<rd_kafka_topic_partition_list_t>;

PartitionList list_of(std::span<const TopicPartition> partitions) {
  PartitionList list{rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size()))};
  for (const auto& [topic, partition] : partitions) {
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition);
  }
  return list;
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

/// `first_error` is the one that `outcome` was made from.
CommitResult commit_result_of(rd_kafka_event_t* event, rd_kafka_resp_err_t& first_error) {
  CommitResult result;
  if (const auto error = rd_kafka_event_error(event); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    first_error = error;
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
        first_error = partition.err;
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

Owned<rd_kafka_AlterConsumerGroupOffsets_t> commit_request(rd_kafka_t* client,
                                                           const std::string& group,
                                                           std::span<const GroupOffset> offsets) {
  SLUICE_ASSERT(!offsets.empty(), group);
  const PartitionList list{rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size()))};
  for (const auto& offset : offsets) {
    SLUICE_ASSERT(offset.offset >= 0, offset.where.topic, offset.where.partition);
    auto* partition = rd_kafka_topic_partition_list_add(list.get(), offset.where.topic.c_str(),
                                                        offset.where.partition);
    partition->offset = offset.offset;
    set_metadata(client, *partition, offset.metadata);
  }
  return Owned<rd_kafka_AlterConsumerGroupOffsets_t>{
      rd_kafka_AlterConsumerGroupOffsets_new(group.c_str(), list.get())};
}

CommitResult coordinator_is_looked_up() {
  return {
      CommitOutcome::Unavailable, "the group's coordinator has moved; it is looked up again", {}};
}

}  // namespace

Result<std::unique_ptr<GroupClient>> GroupClient::create(const Properties& properties,
                                                         const EventFd& wake,
                                                         GroupPatience patience) {
  const auto overridden = with_overrides(
      properties, {{"group.id", kOwnGroup}, {"metadata.max.age.ms", kCoordinatorMemoryMs}});
  std::unique_ptr<GroupClient> groups{new GroupClient{overridden, wake, patience}};
  SLUICE_TRY(groups->connect());
  return groups;
}

GroupClient::GroupClient(Properties properties, const EventFd& wake, GroupPatience patience)
    : properties_{std::move(properties)}, wake_{wake}, patience_{patience} {}

GroupClient::~GroupClient() = default;

std::shared_ptr<rd_kafka_t> GroupClient::kept_client() const {
  const std::lock_guard lock{mutex_};
  return {client_, client_->client.get()};
}

Result<> GroupClient::connect() {
  auto made = make_event_client(properties_, wake_.fd());
  if (!made) return made.error();
  auto other = std::make_shared<EventClient>(*std::move(made));
  {
    const std::lock_guard lock{mutex_};
    client_.swap(other);
  }
  const BlockedSignals blocked;
  if (other) farewell_ = std::jthread{[old = std::move(other)]() mutable { old.reset(); }};
  return {};
}

// Not while a commit is awaited: its answer would never come. That is soon, because where brokers
// are down every group has one that was given up, and sends no other.
void GroupClient::renew_if_stuck(ClientEvents& events) {
  const auto since = stuck_since_ms_.load();
  if (since == 0 || steady_ms() < since + patience_.renew_ms) return;
  const bool is_awaited = std::any_of(commits_.begin(), commits_.end(), [](const auto& entry) {
    return static_cast<bool>(entry.second.done);
  });
  if (is_awaited) return;
  // Before the exchange: what the Kafka thread gives up meanwhile may be of the new client.
  stuck_since_ms_ = 0;
  if (const auto connected = connect(); !connected) {
    note_given_up();
    events.push_back({ClientEventKind::Other, connected.error().message()});
    return;
  }
  commits_.clear();
}

bool GroupClient::is_held() const {
  return steady_ms() < hold_until_ms_.load();
}

void GroupClient::note_answer(rd_kafka_resp_err_t error) {
  if (error == RD_KAFKA_RESP_ERR_NOT_COORDINATOR) hold_until_ms_ = steady_ms() + kHoldMs;
  if (error == RD_KAFKA_RESP_ERR__TIMED_OUT) note_given_up();
}

void GroupClient::note_given_up() {
  std::int64_t nothing = 0;
  stuck_since_ms_.compare_exchange_strong(nothing, steady_ms());
}

Result<std::vector<CommittedOffset>> GroupClient::committed(
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

Result<Owned<rd_kafka_event_t>> GroupClient::ask_committed(const std::string& group,
                                                           std::span<const TopicPartition> asked,
                                                           int timeout_ms) {
  const auto list = list_of(asked);
  const Owned<rd_kafka_ListConsumerGroupOffsets_t> request{
      rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), list.get())};
  const auto client = kept_client();
  AdminCall call{client.get(), RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeout_ms,
                 patience_.library_ms};
  rd_kafka_ListConsumerGroupOffsets_t* requests[] = {request.get()};
  rd_kafka_ListConsumerGroupOffsets(client.get(), requests, 1, call.options(), call.queue());
  auto event = call.wait("committed offsets", group);
  note_answer(call.error());
  return event;
}

Result<> GroupClient::append_committed(const std::string& group,
                                       std::span<const TopicPartition> asked, int timeout_ms,
                                       std::vector<CommittedOffset>& found) {
  if (is_held()) return kafka_error("committed offsets", group, RD_KAFKA_RESP_ERR__WAIT_COORD);
  const auto event = ask_committed(group, asked, timeout_ms);
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

Result<GroupDescription> GroupClient::describe(const std::string& group, int timeout_ms) {
  const auto client = kept_client();
  AdminCall call{client.get(), RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeout_ms,
                 patience_.library_ms};
  const char* names[] = {group.c_str()};
  rd_kafka_DescribeConsumerGroups(client.get(), names, 1, call.options(), call.queue());
  const auto event = call.wait("describe group", group);
  note_answer(call.error());
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

CommitResult GroupClient::commit_and_wait(const std::string& group,
                                          std::span<const GroupOffset> offsets, int timeout_ms) {
  if (is_held()) return coordinator_is_looked_up();
  const auto client = kept_client();
  const auto request = commit_request(client.get(), group, offsets);
  AdminCall call{client.get(), RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, timeout_ms,
                 patience_.library_ms};
  rd_kafka_AlterConsumerGroupOffsets_t* requests[] = {request.get()};
  rd_kafka_AlterConsumerGroupOffsets(client.get(), requests, 1, call.options(), call.queue());
  const auto event = call.wait("commit", group);
  rd_kafka_resp_err_t first_error = call.error();
  if (!event) {
    note_answer(first_error);
    return {outcome_of(first_error), event.error().message(), {}};
  }
  const auto result = commit_result_of(event->get(), first_error);
  note_answer(first_error);
  return result;
}

void GroupClient::commit(const std::string& group, std::span<const GroupOffset> offsets,
                         int timeout_ms, HostClient::CommitCallback done) {
  if (is_held()) {
    return refuse(std::move(done), coordinator_is_looked_up().why);
  }
  if (is_unanswered(group)) {
    return refuse(std::move(done), "the commit before has not been answered yet");
  }
  rd_kafka_t* const client = client_->client.get();
  const auto request = commit_request(client, group, offsets);
  const auto options =
      admin_options(client, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, patience_.library_ms);
  const auto token = ++last_commit_;
  rd_kafka_AdminOptions_set_opaque(options.get(), reinterpret_cast<void*>(token));
  commits_.emplace(token, Commit{group, steady_ms() + timeout_ms, std::move(done)});
  rd_kafka_AlterConsumerGroupOffsets_t* requests[] = {request.get()};
  rd_kafka_AlterConsumerGroupOffsets(client, requests, 1, options.get(), client_->main_queue.get());
}

void GroupClient::answer(rd_kafka_event_t* event) {
  const auto token = reinterpret_cast<std::uintptr_t>(rd_kafka_event_opaque(event));
  auto commit = commits_.extract(token);
  SLUICE_ASSERT(!commit.empty(), token);
  rd_kafka_resp_err_t first_error = RD_KAFKA_RESP_ERR_NO_ERROR;
  const auto result = commit_result_of(event, first_error);
  note_answer(first_error);
  if (const auto& done = commit.mapped().done) done(result);
}

bool GroupClient::is_unanswered(const std::string& group) const {
  return std::any_of(commits_.begin(), commits_.end(),
                     [&](const auto& entry) { return entry.second.group == group; });
}

void GroupClient::refuse(HostClient::CommitCallback done, std::string why) {
  refused_.emplace_back(std::move(done), std::move(why));
  wake_.signal();
}

void GroupClient::give_up_overdue() {
  const auto now = steady_ms();
  for (auto& [token, commit] : commits_) {
    if (!commit.done || now < commit.give_up_ms) continue;
    refused_.emplace_back(std::exchange(commit.done, {}), "no answer from the brokers in time");
    note_given_up();
  }
}

void GroupClient::poll(ClientEvents& events) {
  give_up_overdue();
  for (const auto& [done, why] : std::exchange(refused_, {})) {
    done({CommitOutcome::Unavailable, why, {}});
  }
  renew_if_stuck(events);
  while (const Owned<rd_kafka_event_t> event{rd_kafka_queue_poll(client_->main_queue.get(), 0)}) {
    if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT) {
      answer(event.get());
    } else {
      append_client_event(event.get(), events);
    }
  }
}

}  // namespace sluice::kafka
