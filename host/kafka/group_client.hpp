// The part of HostClient that speaks to group coordinators, on a librdkafka client of its own.
//
// Of its own, because librdkafka 2.0.2 remembers a group's coordinator for as long as it is asked
// for, even while that broker answers "not coordinator", and forgets it only `metadata.max.age.ms`
// after the last question: a second here, which would be far too short for the client that looks at
// topics. After such an answer nothing is asked until the memory has faded (hold_). Internal to
// host/kafka; threads as in admin.hpp: committed() and describe() on the Kafka thread, commit() and
// poll() on the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/kafka/admin.hpp"
#include "host/kafka/event_fd.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

class GroupClient {
 public:
  /// `wake` must outlive the client; it is written to when poll() has something to do.
  static Result<std::unique_ptr<GroupClient>> create(const Properties& properties,
                                                     const EventFd& wake);
  ~GroupClient();
  GroupClient(const GroupClient&) = delete;
  GroupClient& operator=(const GroupClient&) = delete;

  Result<std::vector<CommittedOffset>> committed(const std::string& group,
                                                 std::span<const TopicPartition> partitions,
                                                 int timeout_ms);
  Result<GroupDescription> describe(const std::string& group, int timeout_ms);
  void commit(const std::string& group, std::span<const GroupOffset> offsets, int timeout_ms,
              HostClient::CommitCallback done);
  void poll(ClientEvents& events);

 private:
  explicit GroupClient(const EventFd& wake) : wake_{wake} {}

  Result<> append_committed(const std::string& group, std::span<const TopicPartition> asked,
                            int timeout_ms, std::vector<CommittedOffset>& found);
  Result<Owned<rd_kafka_event_t>> ask_committed(const std::string& group,
                                                std::span<const TopicPartition> asked,
                                                int timeout_ms);
  bool is_held() const;
  void note_answer(rd_kafka_resp_err_t error);
  void answer(rd_kafka_event_t* event);

  const EventFd& wake_;
  Handle<rd_kafka_t> client_;
  Handle<rd_kafka_queue_t> queue_;
  std::unordered_map<std::uint64_t, HostClient::CommitCallback> commits_;
  std::vector<HostClient::CommitCallback> held_;  ///< to be answered as unavailable
  std::uint64_t last_commit_ = 0;
  std::atomic<std::int64_t> hold_until_ms_{0};  ///< of the steady clock; both threads
};

}  // namespace sluice::kafka
