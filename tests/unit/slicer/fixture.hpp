// A slicer and the smallest world that it can talk to, in ten verbs: found, ready, produce,
// complete, release, fail, expire, crash, persist, advance. Virtual time; every verb steps the
// slicer, so what it wants done is in `actions` and the published slices are in `ring[slot]`,
// oldest first.
//
// The rings are believed here as workers keep them; what a real worker may get wrong is said with
// send(), which takes a whole report. Nothing is persisted behind a test's back unless
// `persist_at_once` is left on.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/slicer/slicer.hpp"

namespace sluice::slicer {

/// What is on disk: the last version of every row.
struct StoredRows {
  std::map<std::pair<std::string, std::int32_t>, state::PartitionRow> partitions;
  std::map<std::uint64_t, state::SliceRow> slices;
  std::vector<state::GapRow> gaps;
  std::uint64_t next_slice_id = 1;
  /// By topic (empty: the workers) and its incarnation (A3).
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> first_counts;

  std::uint32_t first_count(const std::string& topic, std::uint32_t incarnation) const;
  void apply(const state::ChangeSet& set);
};

class SlicerFixture {
 public:
  explicit SlicerFixture(SlicerOptions chosen = {});

  SlicerOptions options;
  Milliseconds now{1'000};
  Actions actions;                                ///< of the last step
  std::map<Slot, std::deque<ipc::Command>> ring;  ///< slices a worker has and has not answered
  std::vector<ipc::Command> revokes;
  std::vector<Violation> violations;
  std::vector<Halted> halted;
  std::vector<Notice> notices;
  std::vector<TopicPartition> asked_ends;
  std::vector<TopicPartition> asked_lows;
  std::vector<FrontierCommit> commits;
  std::vector<Outcome> outcomes;
  std::vector<JobFailure> job_failures;
  std::vector<FreshWorker> fresh_workers;
  std::vector<DeadLetterReason> dead_letters;
  std::map<std::uint64_t, ipc::SliceTerms> terms;  ///< told last, by slice
  StoredRows stored;
  bool persist_at_once = true;
  /// What all records of the log hold, as a digest; 0: workers name no last record. Offsets below
  /// `low` and in `holes` have none.
  std::uint32_t content = 0;
  std::int64_t low = 0;
  std::set<std::int64_t> holes;
  std::vector<ipc::Command> told_topics;

  Slicer& slicer() { return *slicer_; }

  // --- The verbs
  /// Topic 0, partitions 0 .. count - 1, each with records [0, end), spread over the slots.
  void found(std::int32_t count, std::int64_t end);
  void found_one(FoundPartition partition);
  void ready(Slot slot);
  void all_ready();
  /// The owner's hint: records up to `end` are visible.
  void produce(std::int32_t partition, std::int64_t end);
  /// The hint of any worker.
  void seen(Slot slot, std::int32_t partition, std::int64_t end);
  /// The host's own sample.
  void sampled(std::int32_t partition, std::int64_t end, LeaderChange leader = LeaderChange::None);
  void complete(Slot slot);  ///< the oldest slice in the ring; a probe survives
  void complete_all();       ///< until nothing is in flight anywhere
  void release(Slot slot, std::int64_t next_offset);
  void return_all(Slot slot);  ///< everything that it has now, at its start
  /// ... only what it has of the failed one's lane under its fence or an older one (D5).
  void return_lane_of(Slot slot, const ipc::Command& failed);
  void fail(Slot slot, ipc::FailureClass failure = ipc::FailureClass::PluginFail);
  void expire(Slot slot);
  void send(Slot slot, ipc::Report report, std::string_view text = {});
  /// Killed by `blamed`, or by nobody's fault. Includes the reap.
  void crash(Slot slot, std::uint64_t slice_id, ipc::Phase phase = ipc::Phase::Put);
  void lose(Slot slot, Accusation accusation);
  void advance(std::int64_t milliseconds);
  void persist();
  void step();
  /// The host is gone and comes back with what is stored; partitions are found again, ends given.
  void restart_host(std::int64_t end, Doubt doubt = Doubt::NewStart);

  // --- Questions
  ipc::Report answer(Slot slot, std::size_t position, ipc::ReportKind kind) const;
  const ipc::Command& in_ring(Slot slot, std::size_t position = 0) const;
  std::size_t in_flight(Slot slot) const;
  PartitionStatus status(std::int32_t partition) const;
  Slot owner(std::int32_t partition) const { return status(partition).slot; }
  std::vector<state::SliceRow> rows_of(std::int32_t partition) const;
  bool noticed(Notice::Kind kind) const;
  /// The oldest command of the ring asks which record stands at `offset` (F5).
  bool asks_for(Slot slot, std::int64_t offset) const;
  std::uint64_t incarnation(Slot slot) const { return incarnations_.at(slot); }

 private:
  std::unique_ptr<Slicer> slicer_;
  std::map<Slot, std::uint64_t> incarnations_;
  std::uint64_t next_incarnation_ = 1;
};

}  // namespace sluice::slicer
