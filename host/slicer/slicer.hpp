// The slicer of one job (design: slicer.md): cuts slices, decides which worker runs them, keeps the
// proof of what is settled, and decides what a failure costs whom.
//
// A pure state machine: events in, actions out. No I/O, no clock, no record, so that the simulator
// (tests/sim) runs exactly this code. One thread. Events only note what happened, step() decides:
// feed all events that are there, then call step() once. `now` is monotonic.
//
// Believed: the host's own calls. Checked: everything that comes from a worker (report()). Asked of
// a worker: reports of a lane in offset order; after FAILED, EXPIRED or RELEASED of a slice every
// later slice of that lane is returned (RELEASED at its start) until a higher fence arrives.
// Durable before: start positions before the first slice, rows before frontiers go to the group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/random.hpp"
#include "host/slicer/accusation.hpp"
#include "host/slicer/actions.hpp"
#include "host/slicer/options.hpp"
#include "host/slicer/status.hpp"
#include "host/slicer/topic_partition.hpp"
#include "host/state/rows.hpp"
#include "ipc/slice_report.hpp"

namespace sluice::slicer {

/// Why a restored partition's log is compared with its row before anything is read (F5).
enum class Doubt : std::uint8_t {
  NewStart,   ///< anything may have happened meanwhile
  WasAbsent,  ///< the topic did not exist at first
  None,       ///< a user has said where to start: nothing is compared
};

/// A partition of the job, with its start position resolved (S2) or its durable row restored.
struct FoundPartition {
  TopicPartition tp;
  std::uint32_t epoch = 0;
  /// Where it begins when there is no row; made durable before its first slice.
  std::int64_t start_offset = 0;
  std::optional<state::PartitionRow> row;  ///< restored: frontier and slot hold
  std::vector<state::SliceRow> slices;     ///< restored rows of this partition, in any order
  Doubt doubt = Doubt::NewStart;
  std::int64_t lowered_from = 0;         ///< as in its row, where the row does not hold
  bool reset = false;                    ///< there is a row, and it does not hold (S7)
  std::optional<std::int64_t> low;       ///< the log's beginning, if it was asked for
  std::optional<std::int64_t> end;       ///< the host's own end offset, if it was asked
  std::optional<std::int64_t> once_end;  ///< mode once: this execution's end (S1)
};

struct WorkerIdentity {
  std::uint64_t incarnation = 0;
  std::int32_t pid = 0;
};

/// Whether the partition's leader changed since the host asked before: then an end may be lower,
/// and the log be another one from somewhere on. Unknown: the first time, or Kafka did not say.
enum class LeaderChange : std::uint8_t { None, Seen, Unknown };

/// A frontier that is durable here and may be committed to the Kafka group (R2, D2).
struct FrontierCommit {
  TopicPartition tp;
  std::int64_t offset = 0;
};

/// What recover() took on.
struct RecoveryStart {
  std::uint64_t slices = 0;
  std::uint64_t records_max = 0;
};

class Core;

class Slicer {
 public:
  /// Requires: validate(options) is fine. `random` jitters back-offs, nothing else.
  Slicer(const SlicerOptions& options, Random random);
  ~Slicer();
  Slicer(const Slicer&) = delete;
  Slicer& operator=(const Slicer&) = delete;

  // --- Topics and partitions -------------------------------------------------------------------
  /// Requires: before the first partition of that topic. Indices are those of the topic table.
  /// `partitions_known`: how many partitions this incarnation is known to have had.
  /// `partitions_first`: how many it had when it was first seen (A3); 0: those that are known at
  /// discovery_done().
  void add_topic(std::uint16_t topic, std::string name, std::uint32_t incarnation,
                 std::int32_t partitions_known = 0, std::uint32_t partitions_first = 0);
  /// Requires: not known yet. At start, and at any time later.
  void partition_found(FoundPartition found, Milliseconds now);
  /// The partitions of the start are complete: they are now spread over the slots with the fewest
  /// moves. Later partitions go to the emptiest slot as they come. With linear: by arithmetic.
  void discovery_done(Milliseconds now);

  // --- What Kafka says (the host's own calls, never a worker's) ---------------------------------
  void end_observed(TopicPartition tp, std::int64_t end, LeaderChange leader, Milliseconds now);
  /// Both watermarks, as asked by Actions::sample_lows; may also come unasked.
  void low_observed(TopicPartition tp, std::int64_t low, std::int64_t end, Milliseconds now);
  /// The cluster says that the topic does not exist: its partitions wait (F5). May be repeated.
  void topic_absent(std::uint16_t topic);
  /// It exists, with partitions 0 .. count - 1. After the partition_found() of those that are new.
  void topic_present(std::uint16_t topic, std::int32_t count, Milliseconds now);
  /// No answer (broker away, not leader): asked again later.
  void sample_failed(TopicPartition tp, Milliseconds now);

  // --- Workers -----------------------------------------------------------------------------------
  /// READY of a new incarnation; again: ignored. Requires: the slot's previous one was given to
  /// worker_lost().
  void worker_ready(Slot slot, WorkerIdentity worker, Milliseconds now);
  /// A report that passed the layout checks of HostChannel::drain; all kinds may be passed in.
  void report(Slot slot, std::uint64_t incarnation, const ipc::Report& report,
              std::string_view text, Milliseconds now);
  /// Requires: reaped, and its report ring drained through report() after that (ipc facts 3.6).
  /// Also for incarnations that never got READY.
  void worker_lost(Slot slot, std::uint64_t incarnation, const Accusation& accusation,
                   Milliseconds now);
  /// A change of tasks.max: partitions of slots that go are taken back at a batch boundary; new
  /// slots get the fewest partitions that balance needs, once their workers are ready.
  void set_slots(std::uint32_t tasks, Milliseconds now);

  // --- Commands
  // ------------------------------------------------------------------------------------
  /// Parked rows of one partition run again, each with its range, between the live slices (S6).
  /// What is under way already, or is no parked range of this partition, is left out.
  RecoveryStart recover(TopicPartition tp, const std::vector<state::SliceRow>& rows,
                        Milliseconds now);
  /// Somebody else works on the job's partitions (S3): all that are not over halt with this reason.
  /// What workers hold is asked back at their next batch boundary. Nothing restarts by itself then.
  void halt_all(const state::SliceError& why, Milliseconds now);
  /// FAILED tasks restart (F4): halted slices become ready again, attempts count from 1.
  void restart_halted(Milliseconds now);
  void restart_halted(TopicPartition tp, Milliseconds now);
  /// Publishes nothing more until resume(); what is in flight comes to its end. Ends are still
  /// sampled, so that lag is true.
  void pause();
  void resume(Milliseconds now);
  /// Publishes nothing more. Ends with Outcome::Stopped when nothing is in flight (workers return
  /// their slices on STOP, or are lost) and everything is durable.
  void stop(Milliseconds now);
  void set_slices_per_second_max(std::uint32_t slices);

  // --- Decisions
  // -----------------------------------------------------------------------------------
  /// Decides everything that is due and replaces the contents of `actions`.
  void step(Milliseconds now, Actions& actions);
  /// When step() has something to do although no event came; nothing: never.
  std::optional<Milliseconds> next_deadline() const;

  // --- Durability (R3): one change set is under way at a time
  // ---------------------------------------
  bool has_changes() const;
  /// Requires: no change set is under way. On a failed write apply the same set again.
  state::ChangeSet take_changes(Milliseconds now);
  /// The set of this token is on disk. Returns what may be committed to the group now.
  std::vector<FrontierCommit> persisted(std::uint64_t token, Milliseconds now);

  // --- Status
  // ----------------------------------------------------------------------------------------
  Snapshot snapshot(Milliseconds now) const;
  /// Without the partitions: cheap enough for every scrape and tick.
  const SlicerCounts& counts() const;
  /// How far the partition's log reached once, as far as the job relies on it; 0: on nothing.
  std::int64_t promised_end(TopicPartition tp) const;
  /// Slices that this slot's worker has been given and has not answered.
  std::size_t in_flight(Slot slot) const;
  /// It runs a part of an isolated slice: its death is a measurement, not a failure (F3.1).
  bool isolating(Slot slot) const;
  /// The slice of this number that the slot's worker has in flight, if there is one.
  std::optional<state::SliceRow> flight(Slot slot, std::uint64_t slice_id) const;
  /// Open slices that have a number, for `job slices`: dispatched, retrying, halted.
  std::vector<state::SliceRow> open_slices() const;

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace sluice::slicer
