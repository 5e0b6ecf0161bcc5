// The slicer's state and its rules; Slicer is the door to it. One class, because every rule looks
// at partitions, slices and workers together; one .cpp for each concern, named beside its
// functions.
//
// Internal to host/slicer. Invariants:
//  1. A slice is dispatched exactly when a flight that is not stale points to it.
//  2. A partition's flights are all in its slot's worker (a move waits for the last of them).
//  3. frontier = start of the first slice in the list that is not settled, or cut.
//  4. A partition is in a queue of its slot's worker only if `queued`; being there proves nothing:
//     it is judged again when its turn comes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/random.hpp"
#include "host/slicer/change_log.hpp"
#include "host/slicer/cut_rate.hpp"
#include "host/slicer/deadlines.hpp"
#include "host/slicer/partition.hpp"
#include "host/slicer/slicer.hpp"
#include "host/slicer/worker_table.hpp"

namespace sluice::slicer {

class Core {
 public:
  Core(const SlicerOptions& options, Random random);

  // partitions.cpp: discovery, restoring, the way to the end
  void add_topic(std::uint16_t topic, std::string name, std::uint32_t incarnation);
  void partition_found(FoundPartition found, Milliseconds now);
  void discovery_done(Milliseconds now);

  // sensing.cpp: where logs end (C2), what expired
  void end_observed(TopicPartition tp, std::int64_t end, LeaderChange leader, Milliseconds now);
  void low_observed(TopicPartition tp, std::int64_t low, std::int64_t end, Milliseconds now);
  void sample_failed(TopicPartition tp, Milliseconds now);

  // reports.cpp
  void report(Slot slot, std::uint64_t incarnation, const ipc::Report& report,
              std::string_view text, Milliseconds now);

  // losses.cpp: workers come and go (F1, F2)
  void worker_ready(Slot slot, WorkerIdentity identity, Milliseconds now);
  void worker_lost(Slot slot, std::uint64_t incarnation, const Accusation& accusation,
                   Milliseconds now);

  // moves.cpp: which slot has which partition (A1, A2)
  void set_slots(std::uint32_t slots, Milliseconds now);

  // failures.cpp
  void restart_halted(Milliseconds now);
  void restart_halted(TopicPartition tp, Milliseconds now);

  void stop(Milliseconds now);
  void set_slices_per_second_max(std::uint32_t slices) { rate_.set(slices); }
  void step(Milliseconds now, Actions& actions);
  std::optional<Milliseconds> next_deadline() const;

  // durability.cpp
  bool has_changes() const { return !changes_.empty() || ids_run_low(); }
  state::ChangeSet take_changes(Milliseconds now);
  std::vector<FrontierCommit> persisted(std::uint64_t token, Milliseconds now);

  // core_status.cpp
  Snapshot snapshot(Milliseconds now) const;
  const SlicerCounts& counts() const { return counts_; }
  std::size_t in_flight(Slot slot) const {
    return slot < workers_.size() ? workers_[slot].flights.size() : 0;
  }
  std::vector<state::SliceRow> open_slices() const;

 private:
  static constexpr std::uint64_t kIdsAheadMin = 1'024;

  struct Topic {
    std::string name;
    std::uint32_t incarnation = 1;
    std::vector<PartitionIndex> partitions;  ///< by partition number
    float bytes_per_offset = 0;              ///< of the last partition that was measured
  };
  struct HaltedAt {
    std::uint64_t slice_id = 0;
    state::SliceError error;
  };
  struct WaitingWorker {
    std::uint32_t attempt = 0;
    std::string text;
  };
  /// A flight that a report named and the checks passed.
  struct Answer {
    const ipc::Report& report;
    std::string_view text;
    Slot slot;
  };

  SlicerOptions options_;
  Random random_;
  std::vector<Topic> topics_;
  std::deque<Partition> partitions_;  ///< stable addresses
  std::vector<Worker> workers_;       ///< by slot; slots that were taken away stay until empty
  SliceStore slices_;
  std::map<PartitionIndex, std::deque<state::SliceRow>> restored_;  ///< rows beyond `cut`
  std::map<PartitionIndex, HaltedAt> halts_;
  std::map<PartitionIndex, WaitingWorker> waits_;
  Deadlines deadlines_;
  CutRate rate_;
  ChangeLog changes_;
  Actions pending_;  ///< filled by events, handed out by step()
  std::vector<std::vector<ipc::Command>> spare_commands_;
  SlicerCounts counts_;
  state::Counts totals_;
  std::uint64_t next_slice_id_;
  std::uint64_t ids_durable_ = 0;    ///< ids below it may be published: no later host uses them
  std::uint64_t ids_under_way_ = 0;  ///< ... once the set under way is durable
  std::uint64_t ids_ahead_;          ///< how many are reserved with each set
  std::uint64_t id_at_last_set_;
  std::uint64_t next_order_ = 1;
  std::uint32_t slots_;
  Slot first_turn_ = 0;  ///< which slot's queue is served first in the next step
  std::uint64_t flights_ = 0;
  std::uint32_t finished_ = 0;
  std::uint32_t stuck_ = 0;
  bool discovered_ = false;
  bool stopping_ = false;
  bool ended_said_ = false;
  bool gaps_ = false;
  bool rebalance_scheduled_ = false;
  std::uint64_t token_ = 0;
  std::vector<std::pair<PartitionIndex, std::int64_t>> under_way_;  ///< frontiers in the set
  bool set_under_way_ = false;

  // --- Look-ups
  PartitionIndex index_of(TopicPartition tp) const;
  PartitionIndex index_of(const Partition& partition) const;
  Partition* find(TopicPartition tp);
  Worker& worker_of(const Partition& partition) { return workers_[partition.slot]; }

  // --- partitions.cpp
  void restore(Partition& partition, FoundPartition& found);
  void join_restored(Partition& partition, Milliseconds now);
  /// The first offset that may not be cut: visible end, once end, or a restored row's start.
  std::int64_t cut_bound(const Partition& partition) const;
  std::int64_t readable_end(const Partition& partition) const;
  void update_finish(Partition& partition);
  void changed(Partition& partition);
  void say_ended();

  // --- dispatch.cpp: cutting, credits, turns (C1)
  void dispatch(Slot slot, Milliseconds now);
  void dispatch_suspects(Slot slot, Milliseconds now);
  enum class Published : std::uint8_t { Yes, NothingToDo, NoCredit };
  Published publish_next(Partition& partition, Milliseconds now);
  void publish(Partition& partition, Slice& slice, Milliseconds now);
  Slice& cut_slice(Partition& partition, std::int64_t records, Milliseconds now);
  std::int64_t slice_limit(const Partition& partition) const;
  WaitReason blocked(const Partition& partition, Milliseconds now) const;
  bool has_work(const Partition& partition) const;
  void enqueue(Partition& partition, Milliseconds now);
  std::vector<ipc::Command>& commands_for(Slot slot);

  // --- reports.cpp
  void hint(Partition& partition, Slot slot, std::int64_t end, Milliseconds now);
  void settle_report(Slot slot, const ipc::Report& report, std::string_view text, Milliseconds now);
  void answered(Worker& worker, Partition& partition, const Flight& flight, std::uint32_t fence);
  void done(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now);
  void released(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now);
  void failed(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now);
  void expired(Partition& partition, Slice& slice);
  void complete(Partition& partition, Slice& slice, const ipc::Report& report, Milliseconds now);
  void measure(Partition& partition, const Slice& slice, std::uint64_t bytes);
  void violate(Slot slot, Rule rule, std::uint64_t slice_id);
  void notice_late(const Partition& partition, Slot slot, const ipc::Report& report);
  bool first_in_flight(const Partition& partition, const Slice& slice) const;

  // --- lanes.cpp: slices go back to waiting, ranges are uncut, the frontier moves
  void give_back(Partition& partition, Slice* from);
  void new_fence(Partition& partition);
  void uncut_tail(Partition& partition);
  void advance_frontier(Partition& partition, Milliseconds now);
  void settle(Partition& partition, Slice& slice, state::SliceState state, state::Cause cause,
              Milliseconds now);
  void drop(Partition& partition, Slice& slice);
  Slice& insert_waiting(Partition& partition, Slice* after, std::int64_t start, std::int64_t end,
                        Milliseconds now);
  void set_suspect(Partition& partition, Slice& slice);
  void clear_suspect(Partition& partition, Slice& slice);

  // --- failures.cpp: attempts, back-off, halt, park, expired
  void charge(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now);
  void environment_failure(Partition& partition, Slice& slice, ipc::FailureClass failure,
                           state::SliceError error, Milliseconds now);
  void retry_later(Partition& partition, std::uint32_t failures, Milliseconds now);
  void halt(Partition& partition, Slice* slice, state::SliceError error);
  void park(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now);
  void restart(Partition& partition, Milliseconds now);
  void verify_expired(Partition& partition);
  void skip_expired(Partition& partition, std::int64_t to, Milliseconds now);
  void skip_restored(Partition& partition, std::int64_t to);
  void quarantine_changed(Partition& partition, int by);
  void notice(Notice::Kind kind, const Partition& partition, const Slice* slice,
              std::string text = {});

  // --- losses.cpp
  std::vector<Slice*> accused(const Worker& worker, const Accusation& accusation) const;
  void blame_record(Slice& slice, bool alone, const Accusation& accusation, Milliseconds now);
  void blame_environment(const std::vector<Slice*>& in_flight, const Accusation& accusation,
                         Milliseconds now);

  // --- moves.cpp
  void own(Partition& partition, Slot slot);
  void disown(Partition& partition);
  void place(Partition& partition, Milliseconds now);
  bool takes_partitions(Slot slot) const;
  Slot emptiest_worker(Slot except) const;
  void begin_move(Partition& partition, Slot to, Milliseconds now);
  void finish_move(Partition& partition, Milliseconds now);
  void move_all_from(Slot slot, Milliseconds now);
  void take_over(Slot slot, Milliseconds now);
  void fill_added(Slot slot, Milliseconds now);
  Slot fullest_worker() const;
  PartitionIndex movable_from(Slot from, Slot to) const;
  void schedule_takeover(Slot slot, Milliseconds at);
  void schedule_rebalance(Milliseconds at);
  void rebalance(Milliseconds now);

  // --- sensing.cpp
  void schedule_sample(Partition& partition, Milliseconds at);
  void ask_end(Partition& partition);
  bool needs_sampling(const Partition& partition) const;
  void judge_hint(Partition& partition, std::int64_t end, LeaderChange leader);
  void host_end(Partition& partition, std::int64_t end, Milliseconds now);
  void due(const Deadline& deadline, Milliseconds now);

  // --- core_status.cpp
  PartitionStatus status_of(PartitionIndex index, Milliseconds now) const;
  WaitReason waits_for(PartitionIndex index, Milliseconds now) const;

  // --- durability.cpp
  state::PartitionRow row_of(const Partition& partition) const;
  state::SliceRow row_of(const Partition& partition, const Slice& slice) const;
  state::SliceRow row_of(const Partition& partition, const CompletedRun& run) const;
  void extend_run(Partition& partition, const Slice& slice, const state::Counts& counts,
                  const state::PhaseTimes& times, Milliseconds now);
  void close_run(Partition& partition);
  bool ids_run_low() const { return next_slice_id_ + ids_ahead_ / 2 > ids_durable_; }
  std::uint64_t reserve_ids();
  void add_gap(const Partition& partition, const Slice& slice, state::Cause cause,
               Milliseconds now);
  std::int64_t unix_ms(Milliseconds now) const { return options_.unix_ms_at_zero + now.count(); }
};

}  // namespace sluice::slicer
