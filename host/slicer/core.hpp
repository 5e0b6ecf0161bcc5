// The slicer's state and its rules; Slicer is the door to it. One class, because every rule looks
// at partitions, slices and workers together; one .cpp for each concern, named beside its
// functions.
//
// Internal to host/slicer. Invariants:
//  1. A slice is dispatched exactly when a flight that is not stale points to it.
//  2. A partition's flights are all in its slot's worker (a move waits for the last of them); with
//     assignment any it has no slot, and its flights are anywhere.
//  3. frontier = start of the first slice in the list that is not settled, or cut. Parts of a
//     stable slice are not, whatever became of them, until it is.
//  4. A partition is in a queue of its slot's worker only if `queued`; being there proves nothing:
//     it is judged again when its turn comes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
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

/// First offset of the batch that the plugin had in its hands; kNoOffset where it was no one batch.
std::int64_t batch_in_hand(const Accusation& accusation);
/// A death or hang in the words of rows.
state::SliceError error_of(const Accusation& accusation);

class Core {
 public:
  Core(const SlicerOptions& options, Random random);

  // partitions.cpp: discovery, restoring, the way to the end
  void add_topic(std::uint16_t topic, std::string name, std::uint32_t incarnation,
                 std::int32_t partitions_known, std::uint32_t partitions_first);
  void partition_found(FoundPartition found, Milliseconds now);
  void discovery_done(Milliseconds now);

  // sensing.cpp: where logs end (C2), what expired
  void end_observed(TopicPartition tp, std::int64_t end, LeaderChange leader, Milliseconds now);
  void low_observed(TopicPartition tp, std::int64_t low, std::int64_t end, Milliseconds now);
  void sample_failed(TopicPartition tp, Milliseconds now);

  // beyond_end.cpp: topics that vanish and come back (F5)
  void topic_absent(std::uint16_t topic);
  void topic_present(std::uint16_t topic, std::int32_t count, Milliseconds now);

  // reports.cpp
  void report(Slot slot, std::uint64_t incarnation, const ipc::Report& report,
              std::string_view text, Milliseconds now);

  // losses.cpp: workers come and go (F1, F2)
  void worker_ready(Slot slot, WorkerIdentity identity, Milliseconds now);
  void worker_lost(Slot slot, std::uint64_t incarnation, const Accusation& accusation,
                   Milliseconds now);

  // moves.cpp: which slot has which partition (A1, A2)
  void set_slots(std::uint32_t tasks, Milliseconds now);

  // recovery.cpp (S6)
  RecoveryStart recover(TopicPartition tp, const std::vector<state::SliceRow>& rows,
                        Milliseconds now);

  // failures.cpp
  void halt_all(const state::SliceError& why, Milliseconds now);
  void restart_halted(Milliseconds now);
  void restart_halted(TopicPartition tp, Milliseconds now);

  void pause();
  void resume(Milliseconds now);
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
  std::int64_t promised_end(TopicPartition tp) const;
  std::size_t in_flight(Slot slot) const {
    return slot < workers_.size() ? workers_[slot].flights.size() : 0;
  }
  bool isolating(Slot slot) const;
  std::optional<state::SliceRow> flight(Slot slot, std::uint64_t slice_id) const;
  std::vector<state::SliceRow> open_slices() const;

 private:
  static constexpr std::uint64_t kIdsAheadMin = 1'024;
  static constexpr std::size_t kSamplesPerMs = 20;

  struct Topic {
    std::string name;
    std::uint32_t incarnation = 1;
    std::uint32_t partitions_first = 0;      ///< how many it had when it was first seen (A3)
    bool first_remembered = false;           ///< ... that is on its way to the store
    std::vector<PartitionIndex> partitions;  ///< by partition number
    std::int32_t partitions_known = 0;       ///< how many this incarnation has had
    std::string recreated_because;
    float bytes_per_offset = 0;  ///< of the last partition that was measured
  };
  struct HaltedAt {
    std::uint64_t slice_id = 0;
    std::int64_t offset = 0;  ///< as Halted's
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
  std::deque<PartitionIndex> any_ready_;     ///< assignment any: have something to publish
  std::deque<PartitionIndex> any_suspects_;  ///< ... but only alone
  /// Assignment any: a worker has done all it had of a partition, and still reads ahead in it.
  struct ReadsAhead {
    PartitionIndex partition;
    Slot slot;
    std::uint32_t fence;
  };
  std::vector<ReadsAhead> any_reads_ahead_;
  int any_passed_over_ = 0;  ///< slices published since the first of any_ready_ should have been
  std::map<PartitionIndex, HaltedAt> halts_;
  std::map<PartitionIndex, WaitingWorker> waits_;
  std::map<std::uint32_t, std::vector<PartitionIndex>> families_;  ///< by ancestor (A3)
  Deadlines deadlines_;
  CutRate rate_;
  ChangeLog changes_;
  Actions pending_;  ///< filled by events, handed out by step()
  std::vector<std::vector<ipc::Command>> spare_commands_;
  SlicerCounts counts_;
  std::map<PartitionIndex, std::deque<Milliseconds>> verdicts_;  ///< of the last hour (F3)
  std::uint64_t proofs_ = 0;  ///< slices with records that the plugins completed
  state::Counts totals_;
  std::uint64_t next_slice_id_;
  std::uint64_t ids_durable_ = 0;    ///< ids below it may be published: no later host uses them
  std::uint64_t ids_under_way_ = 0;  ///< ... once the set under way is durable
  std::uint64_t ids_ahead_;          ///< how many are reserved with each set
  std::uint64_t id_at_last_set_;
  std::uint64_t next_order_ = 1;
  std::uint32_t tasks_;  ///< slots that may have partitions at a time; the others stand by (A5)
  std::uint32_t slots_;  ///< all of them
  std::uint32_t workers_first_;  ///< tasks when linear hashing began (A3)
  Slot first_turn_ = 0;          ///< which slot's queue is served first in the next step
  std::uint64_t flights_ = 0;
  std::set<std::uint64_t> recovering_;             ///< ids that no recover may take on again (S6)
  std::vector<std::uint64_t> recovery_over_;       ///< of them, those to leave with the next set
  std::vector<std::uint64_t> recovery_under_way_;  ///< ... and with the set under way
  std::uint64_t gaps_ = 0;  ///< ranges parked or skipped in this execution (S1)
  std::uint32_t finished_ = 0;
  std::uint32_t stuck_ = 0;
  bool discovered_ = false;
  bool stopping_ = false;
  bool paused_ = false;
  bool all_halted_ = false;  ///< halt_all(): restart.policy starts nothing again
  bool ended_said_ = false;
  bool rebalance_scheduled_ = false;
  std::uint64_t token_ = 0;
  std::vector<std::pair<PartitionIndex, std::int64_t>> under_way_;  ///< frontiers in the set
  bool set_under_way_ = false;
  std::uint64_t durable_token_ = 0;            ///< the last set that is on disk
  std::vector<PartitionIndex> cut_ahead_;      ///< have stable slices for the next set (C5)
  std::vector<PartitionIndex> cut_under_way_;  ///< ... and for the set under way

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
  void place_all(Milliseconds now);
  bool is_at_once_end(const Partition& partition) const;
  void update_finish(Partition& partition);
  void changed(Partition& partition);
  void say_ended();

  // --- dispatch.cpp: cutting, credits, turns (C1)
  void dispatch(Slot slot, Milliseconds now);
  void dispatch_suspects(Slot slot, Milliseconds now);
  enum class Published : std::uint8_t { Yes, NothingToDo, NoCredit };
  Published publish_next(Partition& partition, Slot slot, Milliseconds now);
  Published publish_beside_others(Partition& partition, Slot slot, Milliseconds now);
  void publish(Partition& partition, Slice& slice, Slot slot, Milliseconds now);
  void send(Partition& partition, Slice& slice, Slot slot, Milliseconds now);
  bool has_credit(const Worker& worker, std::int64_t records) const;
  Slice* next_waiting(const Partition& partition) const;
  bool needs_fresh_worker(const Partition& partition, Slot slot) const;
  void ask_fresh_worker(Slot slot);
  Slice& cut_slice(Partition& partition, std::int64_t records, Milliseconds now);
  std::int64_t slice_limit(const Partition& partition) const;
  WaitReason blocked(const Partition& partition, Milliseconds now) const;
  bool has_work(const Partition& partition, Milliseconds now) const;
  bool has_live_work(const Partition& partition) const;
  void enqueue(Partition& partition, Milliseconds now);
  std::vector<ipc::Command>& commands_for(Slot slot);

  // --- reports.cpp
  void hint(Partition& partition, Slot slot, std::int64_t end, Milliseconds now);
  void settle_report(Slot slot, const ipc::Report& report, std::string_view text, Milliseconds now);
  void answered(Slot slot, Partition& partition, const Flight& flight, std::uint32_t fence);
  void done(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now);
  void released(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now);
  void failed(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now);
  void expired(Partition& partition, Slice& slice);
  void complete(Partition& partition, Slice& slice, const ipc::Report& report, Milliseconds now);
  void measure(Partition& partition, const Slice& slice, std::uint64_t bytes);
  void violate(Slot slot, Rule rule, std::uint64_t slice_id);
  void notice_late(const Partition& partition, Slot slot, const ipc::Report& report);
  /// The first slice that is neither in flight nor settled.
  Slice* first_waiting(const Partition& partition) const;
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
  static void insert_slice(Partition& partition, Slice* after, Slice& slice);
  static Slice* first_open(Slice* slice);
  void set_suspect(Partition& partition, Slice& slice);
  void clear_suspect(Partition& partition, Slice& slice);

  // --- failures.cpp: attempts, back-off, halt, park, expired
  void charge(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now);
  void environment_failure(Partition& partition, Slice& slice, ipc::FailureClass failure,
                           state::SliceError error, Milliseconds now);
  void retry_later(Partition& partition, std::uint32_t failures, Milliseconds now);
  void halt(Partition& partition, Slice* slice, state::SliceError error, Milliseconds now);
  void schedule_restart(Partition& partition, Milliseconds now);
  void restart_due(Partition& partition, Milliseconds now);
  Milliseconds jittered(Milliseconds first, Milliseconds most, std::uint32_t doublings);
  void park(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now);
  void restart(Partition& partition, Milliseconds now);
  void verify_expired(Partition& partition);
  void skip_expired(Partition& partition, std::int64_t to, const std::string& why,
                    Milliseconds now);
  void record_expired(Partition& partition, Slice& skipped, const std::string& why,
                      Milliseconds now);
  void cut_restored(Partition& partition, std::int64_t to, Milliseconds now);
  void quarantine_changed(Partition& partition, int by);
  void notice(Notice::Kind kind, const Partition& partition, const Slice* slice,
              std::string text = {});

  // --- stable.cpp (C5)
  void make_stable(Partition& partition, Slice& slice);
  bool may_publish_stable(const Partition& partition, const Slice& slice) const;
  bool has_stable_work(const Partition& partition) const;
  bool may_cut_ahead(const Partition& partition) const;
  void cut_ahead(Partition& partition, Milliseconds now);
  void publish_cut_ahead(std::uint64_t token, Milliseconds now);
  void sample_soon(Partition& partition, Milliseconds now);

  // --- recovery.cpp (S6)
  bool may_recover(const Partition& partition, Milliseconds now) const;
  Published publish_recovered(Partition& partition, Slot slot, Milliseconds now);
  void answer_recovered(Partition& partition, Slice& slice, const Answer& answer, Milliseconds now);
  void recovered(Partition& partition, Slice& slice, const ipc::Report& report, Milliseconds now);
  void recovery_failed(Partition& partition, Slice& slice, state::SliceError error);
  void recover_later(Partition& partition, Slice& slice, Milliseconds now);
  void forget_recovered(Slice& slice);

  // --- any_worker.cpp (A4)
  bool any_worker() const { return options_.assignment == Assignment::Any; }
  void dispatch_any(Milliseconds now);
  bool take_any(Slot slot, Milliseconds now);
  bool take_what_is_read(Slot slot, Milliseconds now);
  bool take_any_suspect(Slot slot, Milliseconds now);
  void stop_reading_ahead();
  std::vector<PartitionIndex> take_back_all(Worker& worker);
  void ask_back_all();

  // --- linear.cpp (A3)
  bool linear() const { return options_.assignment == Assignment::Linear; }
  std::uint32_t ancestor_of(const Partition& partition) const;
  Slot linear_home(const Partition& partition) const;
  void remember_first_counts();
  void remember_first_count(Topic& topic);
  void join_family(Partition& partition);
  void leave_family(Partition& partition);
  void change_family(Partition& partition, Milliseconds now);
  const std::vector<PartitionIndex>& family_of(const Partition& partition) const;
  void place_all_linear(Milliseconds now);
  Slot place_in_family(Partition& partition);
  bool family_suspected(const Partition& partition) const;
  Slot refuge(const Partition& partition, Slot except, Milliseconds now) const;
  bool waits_for_slot(const Partition& partition) const;
  void rehash(Milliseconds now);
  void move_home(Partition& partition, Milliseconds now);
  void move_home_to(Slot slot, Milliseconds now);
  void go_home(Milliseconds now);

  // --- isolation.cpp (F3)
  static std::int64_t record_in_hand(const Slice& slice, const Accusation& accusation);
  void isolate_accused(Slice& slice, bool alone, const Accusation& accusation,
                       std::size_t accused_count, Milliseconds now);
  void narrow_down(Partition& partition, Slice& slice, std::int64_t record, state::SliceError error,
                   Milliseconds now);
  void split(Partition& partition, Slice& slice, std::int64_t record, Milliseconds now);
  void replace(Partition& partition, Slice& slice);
  void part_completed(Partition& partition, const Slice& part, Milliseconds now);
  bool stop_putting_off(Partition& partition, Milliseconds now);
  void judge_record(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now);
  void convict(Partition& partition, Slice& slice, state::SliceError error, Milliseconds now);
  void skip_poison(Partition& partition, Slice& slice, Milliseconds now);
  void dead_lettered(Partition& partition, Slice& slice, Milliseconds now);
  void settle_aside(Partition& partition, Slice& slice, state::SliceState state, state::Cause cause,
                    Milliseconds now);
  void restore_isolation(Partition& partition, const state::SliceRow& row);
  bool within_isolation(const Partition& partition, const Slice& slice) const;
  void end_isolation(Partition& partition);

  // --- probes.cpp (F3.4)
  static bool is_searched(const Partition& partition);
  static bool is_witness(const Partition& partition, const Slice& slice);
  static bool runs_as_probe(const Partition& partition, const Slice& slice);
  static ipc::SliceTerms terms_of(const Partition& partition, const Slice& slice);
  void search(Partition& partition, Slice& slice, std::int64_t record, Milliseconds now);
  void retry_searched(Partition& partition, Slice& slice, Milliseconds now);
  void begin_search(Partition& partition, Slice& whole);
  void survived(Partition& partition, Slice& slice, const ipc::Report& report, Milliseconds now);
  void exclude(Partition& partition, Slice& culprit, state::SliceState state, state::Cause cause,
               Milliseconds now);
  static bool is_excluded_full(const Partition& partition);
  void end_search_when_over(Partition& partition);
  void end_search(Partition& partition);
  static void inherit_excluded(Slice& rest, const std::vector<std::int64_t>& excluded);

  // --- losses.cpp
  std::vector<Slice*> accused(const Worker& worker, const Accusation& accusation) const;
  std::vector<Slice*> take_recoveries(std::vector<Slice*>& in_flight);
  void blame_record(const std::vector<Slice*>& named, bool alone, const Accusation& accusation,
                    Milliseconds now);
  void blame_environment(const std::vector<Slice*>& in_flight, const Accusation& accusation,
                         Milliseconds now);

  // --- moves.cpp
  void own(Partition& partition, Slot slot);
  void disown(Partition& partition);
  void place(Partition& partition, Milliseconds now);
  bool takes_partitions(Slot slot) const;
  Slot emptiest_worker(Slot except) const;
  Slot idle_standby() const;
  static ipc::Command revoke_of(const Partition& partition, std::uint32_t fence);
  void revoke(const Partition& partition);
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
  void unwatched(Partition& partition, Milliseconds now);
  void sample_later(Partition& partition, Milliseconds now);
  std::int64_t time_for_all_ms() const;
  Milliseconds sample_interval_min() const;
  bool is_crowded(Slot slot) const;
  void ask_end(Partition& partition, Milliseconds now);
  bool needs_sampling(const Partition& partition) const;
  void judge_hint(Partition& partition, std::int64_t end, LeaderChange leader);
  void host_end(Partition& partition, std::int64_t end, Milliseconds now);
  void due(const Deadline& deadline, Milliseconds now);

  // --- beyond_end.cpp (F5)
  std::int64_t promised_end(const Partition& partition) const;
  void judge_end(Partition& partition, std::int64_t end, std::int64_t before, Milliseconds now);
  std::optional<Milliseconds> second_look(const Partition& partition) const;
  bool is_short_for_now(const Partition& partition) const;
  static void compare_again(Partition& partition);
  static void may_have_been_cut(Partition& partition);
  void was_cut(Partition& partition, std::int64_t end);
  static void vouch(Partition& partition, LeaderChange leader);
  bool must_compare(const Partition& partition, Milliseconds now) const;
  Published publish_comparison(Partition& partition, Slot slot, Milliseconds now);
  void answer_comparison(Partition& partition, Slice& question, const Answer& answer,
                         Milliseconds now);
  void forget_question(Slice& question);
  void same_record(Partition& partition, std::int64_t offset, Milliseconds now);
  static void other_record(Partition& partition);
  void nothing_to_compare(Partition& partition, Milliseconds now);
  void no_doubt(Partition& partition);
  void truncated(Partition& partition, std::int64_t at, Milliseconds now);
  std::int64_t settled_end(const Partition& partition) const;
  void recreated(std::uint16_t topic, const std::string& why, Milliseconds now);
  void refuse_recreated(std::uint16_t topic, const std::string& why, Milliseconds now);
  void begin_anew(Partition& partition);
  bool took_new_low(Partition& partition, std::int64_t low, std::int64_t end, Milliseconds now);
  void cut_off(Partition& partition, std::int64_t end);
  void begin_at(Partition& partition, std::int64_t offset, Milliseconds now);
  void skip_reserved_ids();
  void add_lost_range(const Partition& partition, std::int64_t start, std::int64_t end,
                      state::Cause cause, std::string detail, Milliseconds now);
  void ask_back(Partition& partition);
  void vanished(Partition& partition);
  void tell_incarnation(std::uint16_t topic, Slot slot);
  std::string named(const Partition& partition) const;

  // --- core_status.cpp
  PartitionStatus status_of(PartitionIndex index, Milliseconds now) const;
  WaitReason waits_for(PartitionIndex index, Milliseconds now) const;

  // --- durability.cpp
  state::PartitionRow row_of(const Partition& partition) const;
  state::SliceRow row_of(const Partition& partition, const Slice& slice) const;
  state::SliceRow row_of(const Partition& partition, const CompletedRun& run) const;
  void add_settled_row(const Partition& partition, const Slice& slice, state::SliceState state,
                       state::Cause cause, Milliseconds now);
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
