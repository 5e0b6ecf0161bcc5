// The part of HostClient that speaks to group coordinators, on a librdkafka client of its own.
//
// Of its own, because librdkafka 2.0.2 remembers a group's coordinator for as long as it is asked
// for, even while that broker answers "not coordinator", and forgets it only `metadata.max.age.ms`
// after the last question: a second here, which would be far too short for the client that looks at
// topics. After such an answer nothing is asked until the memory has faded (hold_).
// Timeouts are kept here, not by the library (admin_call.hpp says why): a commit that was given up
// stays with it until the brokers are back, and meanwhile the group's next one is refused at once.
// The library takes no timeout above an hour. So that none of its own ever comes, a client that has
// had such a request for minutes is replaced by a new one; its end answers nothing and is harmless.
// Internal to host/kafka; threads as in admin.hpp: committed(), describe() and commit_and_wait() on
// the Kafka thread, commit() and poll() on the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/kafka/admin.hpp"
#include "host/kafka/event_fd.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

struct GroupPatience {
  int library_ms = 3'600'000;  ///< of every request, inside librdkafka: the most that it accepts
  int renew_ms = 600'000;      ///< from a request that was given up to the client's replacement
};

class GroupClient {
 public:
  /// `wake` must outlive the client; it is written to when poll() has something to do.
  static Result<std::unique_ptr<GroupClient>> create(const Properties& properties,
                                                     const EventFd& wake,
                                                     GroupPatience patience = {});
  ~GroupClient();
  GroupClient(const GroupClient&) = delete;
  GroupClient& operator=(const GroupClient&) = delete;

  Result<std::vector<CommittedOffset>> committed(const std::string& group,
                                                 std::span<const TopicPartition> partitions,
                                                 int timeout_ms);
  Result<GroupDescription> describe(const std::string& group, int timeout_ms);
  CommitResult commit_and_wait(const std::string& group, std::span<const GroupOffset> offsets,
                               int timeout_ms);
  void commit(const std::string& group, std::span<const GroupOffset> offsets, int timeout_ms,
              HostClient::CommitCallback done);
  void poll(ClientEvents& events);

 private:
  GroupClient(Properties properties, const EventFd& wake, GroupPatience patience);

  /// For the Kafka thread: lives as long as it is kept, also when it is replaced meanwhile.
  std::shared_ptr<rd_kafka_t> kept_client() const;
  Result<> connect();
  void renew_if_stuck(ClientEvents& events);
  Result<> append_committed(const std::string& group, std::span<const TopicPartition> asked,
                            int timeout_ms, std::vector<CommittedOffset>& found);
  Result<Owned<rd_kafka_event_t>> ask_committed(const std::string& group,
                                                std::span<const TopicPartition> asked,
                                                int timeout_ms);
  struct Commit {
    std::string group;
    std::int64_t give_up_ms = 0;  ///< steady clock
    /// Empty: `give_up_ms` has passed and the caller was told; the broker may still answer.
    HostClient::CommitCallback done;
  };

  bool is_held() const;
  bool is_unanswered(const std::string& group) const;
  void refuse(HostClient::CommitCallback done, std::string why);
  void give_up_overdue();
  void note_answer(rd_kafka_resp_err_t error);
  void note_given_up();
  void answer(rd_kafka_event_t* event);

  const Properties properties_;
  const EventFd& wake_;
  const GroupPatience patience_;
  mutable std::mutex mutex_;
  std::shared_ptr<EventClient> client_;  ///< replaced by the loop, under the mutex
  std::jthread farewell_;                ///< ends the client before, which may take a second
  std::unordered_map<std::uint64_t, Commit> commits_;  ///< in the library's hands
  /// To be answered as unavailable, with the reason.
  std::vector<std::pair<HostClient::CommitCallback, std::string>> refused_;
  std::uint64_t last_commit_ = 0;
  // Of the steady clock; both threads.
  std::atomic<std::int64_t> hold_until_ms_{0};
  std::atomic<std::int64_t> stuck_since_ms_{0};  ///< 0: no request of client_ was given up
};

}  // namespace sluice::kafka
