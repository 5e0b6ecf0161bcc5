// What the host has given this worker: partitions, their slices in order, and which of them are to
// be returned. Reads the command ring; runs nothing.
//
// Fences (delivery.md D5): after FAILED, EXPIRED or RELEASED of a slice its lane is closed: every
// slice of it with that fence or a lower one is RELEASED at once, also what still arrives, until
// the host sends a higher fence. Reports of a lane leave in offset order; whoever closes a lane has
// reported everything of it that was put before.
// Task thread only. Partitions are never forgotten: a closed one is a few words.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/worker/outbox.hpp"
#include "host/worker/partition_feed.hpp"
#include "host/worker/slice_work.hpp"
#include "host/worker/start_parameters.hpp"
#include "ipc/worker_channel.hpp"

namespace sluice::worker {

struct Assignment {
  Assignment(std::uint16_t topic, std::string topic_name, std::int32_t partition)
      : feed{topic, std::move(topic_name), partition} {}

  struct ClosedLane {
    std::uint16_t lane = 0;
    std::uint32_t fence = 0;
  };

  PartitionFeed feed;
  bool is_open_in_chain = false;
  std::vector<ClosedLane> closed_lanes;        ///< the highest fence that was closed, per lane
  std::optional<std::uint32_t> revoked_fence;  ///< the same for all lanes, by REVOKE
  std::optional<std::uint32_t> to_revoke;      ///< REVOKE came and is not carried out yet
  std::int64_t told_end = -1;                  ///< the host knows that the log reaches to here
  std::int64_t told_us = 0;
  std::uint64_t used = 0;  ///< counts up: when a slice of it ended last
  bool is_awake = false;
};

class SliceIntake {
 public:
  SliceIntake(const StartParameters& parameters, ipc::WorkerChannel& channel, Outbox& outbox);

  /// Takes every command that is there.
  void take();

  /// Those that are awake: they have had a slice or a revoke, and were not put to rest since.
  const std::vector<Assignment*>& assignments() const { return awake_; }
  /// Nothing is to be done with it until its next slice or revoke. Requires: awake, closed at its
  /// source, without slices and revoke. Not while assignments() is walked through.
  void put_to_rest(Assignment& assignment);
  /// Requires: the topic was announced.
  const TopicName& topic(std::uint32_t index) const { return topics_[index]; }
  bool knows_topic(std::uint32_t index) const {
    return index < topics_.size() && !topics_[index].name.empty();
  }

  bool is_stop_requested() const { return is_stop_requested_; }
  bool is_revoke_pending() const { return revokes_pending_ > 0; }
  void revoke_is_done(Assignment& assignment);
  /// What the host sent makes no sense; empty if all is well. The worker must leave.
  const std::string& nonsense() const { return nonsense_; }

  /// Slices of the lane with the fence of `command` are returned from now on, as they arrive; those
  /// that wait with the next release_closed(), so that earlier ones can be reported before.
  void close_lane(Assignment& assignment, const ipc::Command& command);
  /// The same for all lanes of the partition.
  void close_up_to(Assignment& assignment, std::uint32_t fence);
  /// Releases what waits in closed lanes.
  void release_closed(Assignment& assignment);
  static bool is_closed(const Assignment& assignment, const ipc::Command& command);
  /// Requires: its topic is known.
  Assignment& assignment_of(const ipc::Command& command);

  /// After its last report.
  void free(SliceWork* slice);

 private:
  void take(const ipc::Command& command);
  void take_topic(const ipc::Command& command);
  void take_slice(const ipc::Command& command);
  void take_revoke(const ipc::Command& command);
  /// Null where the command has none, or they make no sense.
  std::unique_ptr<ipc::SliceTerms> take_terms(const ipc::Command& command);
  Assignment* find(std::uint16_t topic, std::int32_t partition);
  void wake(Assignment& assignment);
  SliceWork* make(const ipc::Command& command);

  std::deque<TopicName> topics_;  ///< plugins keep views of the names: never moved, never changed
  bool has_dead_letters_;         ///< the job has a dead letter topic
  ipc::WorkerChannel& channel_;
  Outbox& outbox_;
  /// By topic and partition: a worker may have 10,000, of which it works on a few.
  boost::unordered_flat_map<std::uint64_t, std::unique_ptr<Assignment>> assignments_;
  std::vector<Assignment*> awake_;
  std::vector<std::unique_ptr<SliceWork>> slices_;  ///< all that were ever needed at a time
  std::vector<SliceWork*> free_slices_;
  std::size_t revokes_pending_ = 0;
  bool is_stop_requested_ = false;
  std::string nonsense_;
};

}  // namespace sluice::worker
