// The host's client: topics, ends, group offsets. It never reads a record and joins no group; two
// instances may exist, one per isolation level (the level decides what Latest means: the last
// stable offset or the high watermark).
//
// Calls marked [kafka thread] block, never longer than their timeout also while every broker is
// down (cases/open.md B07: the watermark query does not keep its timeout, so it is not used), and
// are made by one thread at a time. commit(), poll(), event_fd() and take_client_events() belong to
// the loop and never block. The two sides share only librdkafka's own, thread-safe handle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"
#include "host/kafka/client_event.hpp"
#include "host/kafka/event_fd.hpp"
#include "host/kafka/handles.hpp"
#include "host/kafka/properties.hpp"

namespace sluice::kafka {

enum class IsolationLevel { ReadCommitted, ReadUncommitted };

struct TopicPartition {
  std::string topic;
  std::int32_t partition = 0;
  friend bool operator==(const TopicPartition&, const TopicPartition&) = default;
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

struct PartitionInfo {
  std::int32_t partition = 0;
  std::optional<std::int32_t> leader;  ///< none: no leader now; the partition exists all the same
};

enum class TopicState {
  Present,
  Missing,     ///< the cluster says that it does not exist
  Unreadable,  ///< the cluster answered with an error for it (rights, a name it refuses)
};

struct TopicInfo {
  std::string name;
  TopicState state = TopicState::Present;
  std::string why;                        ///< for Unreadable
  std::vector<PartitionInfo> partitions;  ///< by number, from 0
};

/// A place in a log that only the broker can resolve.
class LogPoint {
 public:
  static LogPoint earliest();
  static LogPoint latest();
  /// The first record with this timestamp or a later one.
  static LogPoint timestamp(std::int64_t unix_ms);

 private:
  friend class HostClient;
  explicit LogPoint(std::int64_t code) : code_{code} {}
  std::int64_t code_;  ///< as ListOffsets says it: -2, -1, or a timestamp
};

struct ResolvedOffset {
  TopicPartition where;
  /// Set unless `error` is. For a timestamp after every record: nothing either, and no error.
  std::optional<std::int64_t> offset;
  std::optional<Error> error;
};

struct GroupOffset {
  TopicPartition where;
  std::int64_t offset = 0;
  std::string metadata;
};

struct CommittedOffset {
  TopicPartition where;
  std::optional<std::int64_t> offset;  ///< none: the group has none for this partition
  std::string metadata;
};

enum class CommitOutcome {
  Committed,
  ActiveMembers,  ///< UNKNOWN_MEMBER_ID and the like: somebody else lives in this group (slicer.md
                  ///< S3)
  Unavailable,    ///< no broker, no coordinator, a timeout: the same commit may succeed later
  Refused,        ///< anything else; `why` says it
};

struct CommitResult {
  CommitOutcome outcome = CommitOutcome::Committed;
  std::string why;
  std::vector<TopicPartition>
      failed;  ///< partitions that did not commit, where the broker named them
};

struct GroupMember {
  std::string client_id;
  std::string host;
};

struct GroupDescription {
  std::string state;  ///< as Kafka names it: Stable, Empty, Dead, ...
  std::vector<GroupMember> members;
};

class GroupClient;

class HostClient {
 public:
  using CommitCallback = std::function<void(const CommitResult&)>;

  static Result<std::unique_ptr<HostClient>> create(const Properties& properties,
                                                    IsolationLevel isolation);
  ~HostClient();
  HostClient(const HostClient&) = delete;
  HostClient& operator=(const HostClient&) = delete;

  /// [kafka thread] One TopicInfo per name, in order. Never creates a topic.
  Result<std::vector<TopicInfo>> describe_topics(std::span<const std::string> names,
                                                 int timeout_ms);
  /// [kafka thread] Brokers that the cluster named when its topics were last asked about.
  Result<int> broker_count(int timeout_ms);
  /// [kafka thread] Every topic of the cluster, by name, internal ones (__...) included.
  Result<std::vector<TopicInfo>> list_topics(int timeout_ms);
  /// [kafka thread] One ResolvedOffset per partition, in order. A partition that cannot be resolved
  /// carries its own error and does not spoil the others.
  std::vector<ResolvedOffset> offsets(std::span<const TopicPartition> partitions, LogPoint point,
                                      int timeout_ms);
  /// [kafka thread] In the order of `partitions`. KafkaUnavailable also while a coordinator that
  /// has moved is being looked up (some seconds): ask again.
  Result<std::vector<CommittedOffset>> committed(const std::string& group,
                                                 std::span<const TopicPartition> partitions,
                                                 int timeout_ms);
  /// [kafka thread] Error Incompatible where the broker cannot describe groups.
  Result<GroupDescription> describe_group(const std::string& group, int timeout_ms);
  /// [kafka thread] The same as commit(), answered at once. Requires: no commit() to this group is
  /// under way.
  CommitResult commit_and_wait(const std::string& group, std::span<const GroupOffset> offsets,
                               int timeout_ms);
  /// [kafka thread]
  Result<std::string> cluster_id(int timeout_ms);

  /// Sends offsets to the group's coordinator; `done` is called from poll(), once, unless the
  /// client is destroyed first. One group's commits are applied in the order they are answered: the
  /// caller sends the next one when the last is done. The timeout is noticed by poll(), which is
  /// also to be called now and then without its descriptor; what was sent may be applied later.
  void commit(const std::string& group, std::span<const GroupOffset> offsets, int timeout_ms,
              CommitCallback done);
  /// An eventfd: readable when poll() has something to do.
  int event_fd() const { return event_fd_.fd(); }
  void poll();
  ClientEvents take_client_events();

 private:
  HostClient();

  bool is_list_cheaper(std::span<const std::string> names) const;
  Result<TopicInfo> describe_topic(const std::string& name, int timeout_ms);
  Result<> check_describes_groups(int timeout_ms);
  void resolve_by_leader(std::span<ResolvedOffset* const> wanted, LogPoint point, int timeout_ms);

  EventFd event_fd_;  ///< outlives the queues that write to it
  Handle<rd_kafka_t> client_;
  Handle<rd_kafka_queue_t> main_queue_;
  std::unique_ptr<GroupClient> groups_;
  ClientEvents events_;
  std::map<std::string, std::size_t> partitions_of_;  ///< [kafka thread] topics as last described
  std::optional<std::size_t> partitions_of_cluster_;  ///< [kafka thread] as last listed
  std::optional<int> brokers_;                        ///< [kafka thread] as last named
  bool offsets_by_leader_ = false;  ///< [kafka thread] offsets.cpp: the last round had a failure
};

}  // namespace sluice::kafka
