// Tells the Kafka group `connect-<job>` how far the job is, so that every lag tool sees it
// (slicer.md S4, R2). Only offsets that are durable in the state store come in here. One commit is
// under way at a time and the newest offset of a partition wins; what fails is sent again. Idle
// frontiers are sent again hourly, because groups without commits expire. Once somebody else lives
// in the group (S3) nothing is sent any more: its offsets are theirs.
//
// Loop thread. Never waits; idle() tells when the group knows everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "host/base/clock.hpp"
#include "host/job/background_call.hpp"
#include "host/job/partition_offsets.hpp"
#include "host/kafka/admin.hpp"
#include "host/log/logger.hpp"

namespace sluice::job {

class GroupCommitter {
 public:
  GroupCommitter(kafka::HostClient& client, const Clock& clock, log::Logger log, std::string group,
                 std::string metadata);

  /// Called once, when conflict() is first there.
  void when_conflict(std::function<void()> conflict) { when_conflict_ = std::move(conflict); }

  /// `offset` is durable for `where`. Sent with the next flush().
  void advance(const kafka::TopicPartition& where, std::int64_t offset);
  /// It was durable before this committer: repeated hourly with the others (S4), and until then
  /// what the group says stays.
  void know(const kafka::TopicPartition& where, std::int64_t offset);
  /// Sends what has not been sent, unless a commit is under way (then right after it).
  void flush();
  /// Nothing to send and nothing under way.
  bool idle() const { return waiting_.empty() && under_way_.empty(); }
  /// Called once, as soon as idle() holds.
  void when_idle(std::function<void()> idle);
  /// For a timer: repeats failed commits and, hourly, those of quiet partitions.
  void tick();
  /// Other consumers live in our group (S3): the sentence; empty when not.
  const std::string& conflict() const { return conflict_; }

 private:
  void committed(const kafka::CommitResult& result);
  void add_to_waiting(const PartitionOffsets& offsets);
  void give_up();

  kafka::HostClient& client_;
  const Clock& clock_;
  log::Logger log_;
  std::string group_;
  std::string metadata_;
  PartitionOffsets known_;      ///< the newest durable offset of every partition
  PartitionOffsets waiting_;    ///< not sent yet
  PartitionOffsets under_way_;  ///< sent, not answered
  std::function<void()> when_idle_;
  std::function<void()> when_conflict_;
  Milliseconds retry_at_{0};
  Milliseconds repeat_at_;
  std::string conflict_;
  Lifetime lifetime_;
};

}  // namespace sluice::job
