// Runs flush groups: sends batches through the chain, flushes, reports what is durable, and when
// the chain fails, resets it and runs the group's slices again, one per group, from the records
// that are still in memory (delivery.md D4, D5), so that one bad slice does not fail its
// neighbours.
//
// It answers the plugins' calls that are about slices and records. It does not decide which
// partition runs, and it does not wait: that is the task loop's. Task thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "host/worker/errant_writer.hpp"
#include "host/worker/flush_group.hpp"
#include "host/worker/outbox.hpp"
#include "host/worker/plugin_chain.hpp"
#include "host/worker/slice_intake.hpp"
#include "host/worker/start_parameters.hpp"
#include "host/worker/task_time.hpp"
#include "ipc/worker_channel.hpp"

namespace sluice::worker {

/// A null sink flushes after every slice and keeps few records; a sink that fsyncs batches: a group
/// also ends when its age is this many times the last flush's duration.
inline constexpr std::int64_t kCheapFlushFactor = 50;

class GroupRunner final : public HostServices {
 public:
  GroupRunner(const StartParameters& parameters, std::vector<ChainLink> links,
              dead_letter::OpenOutlet open_outlet, SliceIntake& intake, Outbox& outbox,
              ipc::WorkerChannel& channel, LogPipe& log, Patience& patience, const TaskTime& time);

  PluginChain& chain() { return chain_; }
  const FlushGroup& group() const { return group_; }
  std::vector<Block>& retired() { return group_.retired(); }
  /// Gives used-up blocks back if nothing can need them.
  void free_unused_blocks();

  /// The batch that the feed offers, of its first slice; true if the chain took it.
  bool run_batch(Assignment& assignment);
  /// The feed's first slice is over; it is reported with the next flush.
  void finish_slice(Assignment& assignment);
  /// Ends the group. Ok: everything in it is durable and reported, or was failed and dealt with.
  /// Interrupted: it is still there. A stable slice that is only half there never becomes durable
  /// (slicer.md C5): then the chain forgets the group, the whole slices in it run again, and the
  /// half one begins anew at its start.
  CallEnd flush();
  /// The bounds of D4, at the end of a slice; inside a slice without the cheap-flush rule.
  bool is_flush_due(bool at_slice_end) const;
  /// Whole slices have waited for the rest of a stable one for a flush interval, and nothing comes.
  bool is_flush_overdue() const;

  /// Slices of a failed group that must run again before anything else.
  bool has_pending() const { return !pending_.empty(); }
  /// Runs the first of them. Requires: the chain is up.
  void rerun_next();
  /// The group cannot be flushed now: forgets what was put; its slices become pending. `lost`: the
  /// stage that has lost its connection.
  void give_up(std::optional<std::size_t> lost = std::nullopt);
  /// Of pending slices: those in closed lanes are released.
  void release_closed_pending();
  /// All pending slices are released.
  void release_pending();
  /// Whether records of the partition are put and not durable.
  bool concerns(const Assignment& assignment) const;
  /// For reports about a call that waits; null while no slice is in hand.
  const SliceWork* slice_in_hand() const;

  /// Fails the slice, closes its lane and returns the rest of it.
  void fail_first_slice(Assignment& assignment, const PluginFailure& failure);
  /// The chain cannot be brought up although everybody was patient: what waits is failed.
  void fail_everything(const PluginFailure& failure);

  sluice_status fail_record(const HostBridge& from, std::uint64_t slice_id, std::int64_t offset,
                            std::string_view why) override;
  const sluice_slice* slice(std::uint64_t slice_id) override;
  sluice_bytes topic(std::uint32_t topic_index) override;

 private:
  CallEnd flush_chain(PhaseTimes& times);
  void settle(const PhaseTimes& group_times);
  void settle(SliceRun& run, const PhaseTimes& group_times, std::uint32_t group_slices);
  void return_settled(SliceRun& run);
  void report_errants(const SliceRun& run);
  CallEnd set_aside(SliceRun& run, std::span<const sluice_record> records, std::uint64_t bytes);
  CallEnd send(SliceRun& run, std::span<const sluice_record> records, std::uint64_t bytes);
  CallEnd run_again(SliceRun& run);
  void end_probe();
  /// Of the last call, or the record that may not fail.
  PluginFailure take_failure();
  void fail_group();
  static void rewind_stable(std::vector<SliceRun>& runs);
  void reconnect_half_slice(std::vector<SliceRun> runs, const PluginFailure& failure);
  void reset_chain(const PluginFailure& failure);
  void forget(std::optional<std::size_t> lost_stage);
  void fail_run(SliceRun run, const PluginFailure& failure);
  void return_lane(Assignment& assignment, const ipc::Command& command);

  const StartParameters& parameters_;
  SliceIntake& intake_;
  Outbox& outbox_;
  ipc::WorkerChannel& channel_;
  LogPipe& log_;
  Patience& patience_;
  const TaskTime& time_;
  BridgeContext context_;
  PluginChain chain_;
  FlushGroup group_;
  ErrantWriter errant_writer_;
  std::deque<SliceRun> pending_;
  Attempts reconnects_;  ///< of the first pending slice
  Attempts rewinds_;     ///< of a stable slice that lost the connection half-way
  std::optional<PluginFailure> errant_failure_;
  std::int64_t last_flush_us_ = 0;
  sluice_slice slice_view_{};
};

}  // namespace sluice::worker
