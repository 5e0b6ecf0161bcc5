// The slicer's private picture of the partitions: what is settled, what is cut, what is in flight.
//
//     start_offset ..... frontier ......... cut ............. end (visible) ........
//        settled           |  slices (list)  |   not cut yet    |  not there yet
//                          +-- dispatched* --+-- waiting* --+
//
// The list holds every slice between frontier and cut, in offset order, without a hole. Dispatched
// (or settled out of turn) slices come first, waiting ones after them; `waiting` is the first of
// those. One entry for each (partition, lane); lanes above 0 will be entries of their own.
//
// Internal to host/slicer. Slices live in a SliceStore, so that their addresses stay.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "host/base/clock.hpp"
#include "host/slicer/isolation.hpp"
#include "host/slicer/lineage.hpp"
#include "host/slicer/topic_partition.hpp"
#include "host/state/rows.hpp"

namespace sluice::slicer {

using PartitionIndex = std::uint32_t;
inline constexpr PartitionIndex kNoPartition = 0xffff'ffff;
inline constexpr std::int64_t kNoOffset = -1;
inline constexpr std::uint64_t kNoProofs = ~std::uint64_t{0};

struct Slice {
  std::uint64_t id = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  PartitionIndex partition = kNoPartition;
  std::uint32_t attempt = 1;
  std::uint32_t fence = 0;  ///< under which it was published last
  std::uint32_t epoch = 0;
  state::SliceState state = state::SliceState::Ready;
  bool halted = false;
  bool suspect = false;  ///< runs alone until it completes (F1)
  bool part = false;     ///< of a slice that is isolated: alone in a fresh process (F3)
  bool put_off = false;  ///< a part of one record without a verdict: what is behind it goes first
  bool leaves_gap = false;   ///< of a recovered one: its execution counts it as a gap until then
  bool compare = false;      ///< a question about one record: in no list, moves no frontier (F5)
  bool recovered = false;    ///< a parked range that runs again: in no list, moves no frontier (S6)
  bool dead_letter = false;  ///< convicted: goes to the dead letter topic, no plugin sees it
  bool stable = false;       ///< its range is part of its output's name: it never changes (C5)
  bool probe = false;        ///< a part of a stable one: never output, never on record (F3.4)
  bool searched = false;     ///< a stable one all of whose parts survived their probes
  bool has_row = false;      ///< a row of its own is, or is about to be, in the store
  bool row_listed = false;   ///< already in the change log's list
  std::uint64_t row_set =
      0;  ///< of a stable one: the change set that must be durable before it runs
  std::uint32_t environment_failures = 0;  ///< in a row, reported by a living worker (F2)
  std::uint32_t environment_deaths = 0;    ///< in a row, naming this slice (F2)
  std::uint64_t follows = 0;  ///< id of its left half: once that completes, the culprit is in here
  std::uint64_t proofs_before = kNoProofs;  ///< Core::proofs_ when it, or what it is of, failed
  std::uint64_t proofs_at_send = 0;         ///< Core::proofs_ when it was published last
  std::int64_t failed_at = kNoOffset;  ///< the record or batch that failed last; -1: nobody said
  Milliseconds created{0};
  Milliseconds dispatched{0};
  state::WorkerStamp worker;
  std::unique_ptr<state::SliceError> error;  ///< of the last attempt that failed
  /// Of a stable one: its records that were set aside, by offset (F3.4). Null: none.
  std::unique_ptr<std::vector<std::int64_t>> excluded;
  Slice* previous = nullptr;
  Slice* next = nullptr;

  std::int64_t size() const { return end - start; }
};

/// A range nobody has a claim on may be cut anew with other borders; everything else keeps id,
/// range and history.
inline bool may_be_cut_anew(const Slice& slice) {
  return slice.state == state::SliceState::Ready && slice.attempt == 1 && !slice.suspect &&
         !slice.dead_letter && !slice.stable && slice.environment_failures == 0 &&
         slice.environment_deaths == 0;
}

/// Clean first-attempt completions in a row, one durable row together (R3).
struct CompletedRun {
  std::uint64_t id = 0;  ///< 0: none yet
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t slice_count = 0;
  std::uint32_t epoch = 0;
  bool dirty = false;
  state::WorkerStamp worker;
  state::Counts counts;
  state::PhaseTimes times;
  Milliseconds created{0};
  Milliseconds dispatched{0};
  Milliseconds settled{0};
};

struct SliceList {
  Slice* head = nullptr;
  Slice* tail = nullptr;
  Slice* waiting = nullptr;  ///< first that is neither dispatched nor settled

  bool empty() const { return head == nullptr; }
};

/// Where a partition stands on the way to the end of a once execution.
enum class Finish : std::uint8_t { Going, Finished, Stuck };

/// Within a group the large fields come first: a job may have 10,000 of these (P12).
struct Partition {
  TopicPartition tp;
  std::uint32_t incarnation = 1;  ///< of its topic, when it began
  std::uint32_t epoch = 0;
  std::int64_t start_offset = 0;
  std::int64_t frontier = 0;
  std::int64_t durable_frontier = -1;    ///< -1: the start position is not durable yet (S2)
  std::uint64_t held_until = 0;          ///< token of the change set that must be durable first
  std::int64_t committed_frontier = -1;  ///< last given out for the Kafka group
  std::int64_t cut = 0;
  SliceList slices;
  CompletedRun run;
  std::uint64_t slices_settled = 0;
  state::Counts totals;
  float bytes_per_offset = 0;  ///< 0: not measured yet
  std::uint16_t lane = kOnlyLane;
  bool queued = false;  ///< in its worker's queue
  bool dirty = false;   ///< its row has changed

  // Sensing (C2)
  std::int64_t end = -1;              ///< visible end: the best that is known; -1: nothing is
  std::int64_t hint = -1;             ///< highest hint since the host last confirmed
  std::int64_t hint_when_asked = -1;  ///< ... when the sample that is under way was asked for
  std::uint64_t hint_incarnation = 0;
  std::optional<std::int64_t> once_end;
  Milliseconds sample_at{0};
  Milliseconds sample_interval{0};
  Milliseconds asked_at{0};                 ///< the last sample
  std::optional<Milliseconds> leader_seen;  ///< when a sample told of another leader
  Slot hint_slot = kNoSlot;                 ///< whose word `hint` is
  bool sample_scheduled = false;
  bool sample_asked = false;
  bool asked_once = false;
  bool opened = false;  ///< its worker holds it open and sends hints

  // Ownership
  Slot slot = kNoSlot;
  Slot home = kNoSlot;  ///< where it lived before its slot was lost: first choice to go back
  Slot moving_to = kNoSlot;
  std::uint32_t ancestor = 0;  ///< its family, with linear assignment (A3)
  std::uint32_t fence = 1;
  std::uint32_t flights = 0;        ///< published and not answered, stale ones too
  std::uint32_t live = 0;           ///< ... of them, those whose answer counts
  std::uint32_t live_older = 0;     ///< ... of them, those under a fence before `fence`
  std::uint32_t slot_position = 0;  ///< its place in its worker's list of partitions

  // Failure
  std::uint32_t suspects = 0;
  std::uint32_t restarts = 0;  ///< by restart.policy, in a row
  Finish finish = Finish::Going;
  bool halted = false;
  bool retry_scheduled = false;
  bool recovery_in_flight = false;
  std::unique_ptr<Isolation> isolation;  ///< while a slice is replaced by its parts (F3)
  Milliseconds retry_at{0};
  Milliseconds restart_at{0};  ///< the next one, or the last

  // Recover (S6)
  std::vector<Slice*> recovering;  ///< parked ranges to run between the live slices, one at a time
  Milliseconds recover_at{0};

  Lineage lineage;         ///< is it still the same log? (F5)
  bool verifying = false;  ///< a worker said expired; nothing is published until the host knows
  bool low_asked = false;
  bool beyond_end = false;  ///< the host's end is below the frontier (F5)
};

/// Owns all slices; freed ones are used again. Addresses are stable.
class SliceStore {
 public:
  Slice* make() {
    if (free_.empty()) {
      slices_.emplace_back();
      return &slices_.back();
    }
    Slice* slice = free_.back();
    free_.pop_back();
    return slice;
  }
  void free(Slice* slice) {
    *slice = Slice{};
    free_.push_back(slice);
  }

 private:
  std::deque<Slice> slices_;
  std::vector<Slice*> free_;
};

void append(SliceList& list, Slice* slice);
void insert_after(SliceList& list, Slice* position, Slice* slice);
void insert_front(SliceList& list, Slice* slice);
/// Takes it out; `waiting` moves on if it was the one.
void unlink(SliceList& list, Slice* slice);

}  // namespace sluice::slicer
