// Tells the Kafka group `connect-<job>` how far the job is, so that every lag tool sees it
// (slicer.md S4, R2). Only offsets that are durable in the state store come in here. One commit is
// under way at a time and the newest offset of a partition wins; what fails is sent again. Idle
// frontiers are sent again hourly, because groups without commits expire.
//
// Loop thread. Never waits; idle() tells when the group knows everything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/job/background_call.hpp"
#include "host/job/event_loop.hpp"
#include "host/kafka/admin.hpp"
#include "host/log/logger.hpp"

namespace sluice::job {

class GroupCommitter {
 public:
  GroupCommitter(kafka::HostClient& client, const Clock& clock, log::Logger log, std::string group,
                 std::string metadata);

  /// `offset` is durable for `where`. Sent with the next flush().
  void advance(const kafka::TopicPartition& where, std::int64_t offset);
  /// Sends what has not been sent, unless a commit is under way (then right after it).
  void flush();
  /// Nothing to send and nothing under way.
  bool idle() const { return waiting_.empty() && under_way_.empty(); }
  /// Called once, as soon as idle() holds.
  void when_idle(std::function<void()> idle);
  /// For a timer: repeats failed commits and, hourly, those of quiet partitions.
  void tick();
  /// Other consumers live in our group (S3); empty when not.
  const std::string& conflict() const { return conflict_; }

 private:
  using Offsets = std::map<kafka::TopicPartition, std::int64_t>;

  void committed(const kafka::CommitResult& result);
  void take_back_unsent();

  kafka::HostClient& client_;
  const Clock& clock_;
  log::Logger log_;
  std::string group_;
  std::string metadata_;
  Offsets known_;      ///< the newest durable offset of every partition
  Offsets waiting_;    ///< not sent yet
  Offsets under_way_;  ///< sent, not answered
  std::function<void()> when_idle_;
  Milliseconds retry_at_{0};
  Milliseconds repeat_at_;
  std::string conflict_;
  Lifetime lifetime_;
};

}  // namespace sluice::job
