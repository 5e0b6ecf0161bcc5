// The life of a worker's task thread: bring the chain up, say READY, then run whichever open slice
// has records, flush groups, look ahead where nothing is open, sleep; until STOP.
//
// Several partitions are open at once and one without records never blocks another. A slice runs
// until it is over or starved, then the next partition has its turn. REVOKE and STOP take effect
// between two batches: what is done is flushed, the rest is given back (slicer.md C3).
// It is also the Patience of the plugin calls: waiting between retries goes on reading commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/base/random.hpp"
#include "host/worker/group_runner.hpp"
#include "host/worker/outbox.hpp"
#include "host/worker/oversize.hpp"
#include "host/worker/record_source.hpp"
#include "host/worker/slice_intake.hpp"
#include "host/worker/start_parameters.hpp"
#include "host/worker/task_time.hpp"
#include "ipc/worker_channel.hpp"

namespace sluice::worker {

/// A worker's exit codes (sdk.md, supervision design).
inline constexpr int kExitDone = 0;
inline constexpr int kExitInternal = 70;       ///< a bug, or a host that makes no sense
inline constexpr int kExitTryAgain = 75;       ///< restart with back-off
inline constexpr int kExitConfiguration = 78;  ///< the job fails, no restart

class TaskLoop final : public Patience {
 public:
  /// `parameters` and everything else must outlive the loop. Requires: an outlet where
  /// `parameters` name a dead letter topic.
  TaskLoop(const StartParameters& parameters, std::vector<ChainLink> links,
           ipc::WorkerChannel& channel, RecordSource& records, LogPipe& log, TaskTime& time,
           Random random, dead_letter::OpenOutlet open_outlet = {});

  /// Until STOP or a reason to leave; returns the exit code.
  int run();

  Verdict wait(const PluginFailure& failure, Attempts& attempts, std::int64_t timeout_ms) override;
  bool turn() override;

 private:
  enum class Step { Progress, Starved };

  bool must_leave();
  bool is_work_waiting() const;
  bool ensure_chain();
  void leave_because_of(const PluginFailure& failure);

  bool work();
  Step step(Assignment& assignment);
  Step advance(Assignment& assignment);
  Step look_at_record(Assignment& assignment);  // record_look.cpp
  bool ensure_open(Assignment& assignment, std::int64_t now_us);
  void open_in_chain(Assignment& assignment);
  bool must_flush_before(const SliceWork& slice) const;
  bool is_group_alone() const;
  void end_slice(Assignment& assignment);
  bool is_front_after_flush(const Assignment& assignment, std::uint64_t slice_id);
  void end_short(Assignment& assignment, Supply supply);

  void rest();
  void look_around(std::int64_t now_us);
  void look_ahead(std::int64_t now_us);
  void close_quiet();
  Assignment* quietest() const;
  void break_stalls(std::int64_t now_us);
  void fail_oversize(Assignment& assignment);
  void poll_source(std::int64_t now_us);
  void pause();
  std::int64_t pause_us(std::int64_t now_us) const;

  bool must_interrupt() const;
  bool is_grace_over() const;
  void release_bystanders();
  void carry_out_revokes();
  void close(Assignment& assignment, sluice_reason reason);
  void stop();
  std::int64_t retry_delay_us(std::uint32_t attempt, std::int64_t retry_after_ms);

  const StartParameters& parameters_;
  ipc::WorkerChannel& channel_;
  RecordSource& records_;
  LogPipe& log_;
  TaskTime& time_;
  Random random_;
  Outbox outbox_;
  SliceIntake intake_;
  GroupRunner runner_;

  std::uint64_t used_ = 0;  ///< of the assignment that ended a slice last
  std::size_t turn_ = 0;    ///< index of the assignment that runs, or runs next
  std::optional<int> exit_code_;
  /// While revokes or a stop are carried out: until when calls may still be repeated.
  std::optional<std::int64_t> grace_until_us_;
  std::int64_t looked_around_us_ = 0;
  std::int64_t polled_us_ = 0;
  Oversize oversize_;
  std::string source_says_;  ///< the last event of the source: why partitions may be starved
};

}  // namespace sluice::worker
