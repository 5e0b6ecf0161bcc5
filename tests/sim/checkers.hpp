// What must hold whatever happens, one function for each promise (slicer.md, delivery.md). They see
// what an outsider could see: what was published, put, delivered, stored and committed. Each has a
// sabotage that makes it fail (sabotage_test.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/slicer/actions.hpp"
#include "host/slicer/status.hpp"
#include "sim/broker.hpp"
#include "sim/disk.hpp"
#include "sim/scenario.hpp"
#include "sim/trace.hpp"

namespace sluice::sim {

using Offsets = std::vector<std::int64_t>;

class Checkers {
 public:
  Checkers(const Scenario& scenario, const Broker& broker, const Disk& disk, Trace& trace);

  // --- What happens
  void published(std::uint64_t incarnation, const ipc::Command& command,
                 const ipc::SliceTerms& terms);
  void answered(std::uint64_t incarnation, std::uint64_t slice_id, std::uint32_t fence);
  void process_gone(std::uint64_t incarnation);
  void put(std::uint64_t incarnation, std::int32_t partition);
  void delivered(std::int32_t partition, std::int64_t offset, std::uint32_t writing);
  /// A sink with stable slices has written this one's output under its name (C5); all its records
  /// are in the log.
  void wrote(const ipc::Command& slice, const Offsets& excluded);
  /// The log lost everything from `end` on. Until the host has gone back, nothing can be said.
  void log_cut(std::int32_t partition, std::int64_t end);
  void stored(const state::ChangeSet& set);
  void committed(std::int32_t partition, std::int64_t offset);
  /// `incarnation`: of the worker that had the slice last.
  void halted(const slicer::Halted& halted, std::int64_t start, std::int64_t end,
              std::uint64_t incarnation);
  /// To whoever watches it, it hangs in its plugin.
  void frozen(std::uint64_t incarnation);
  void noticed(const slicer::Notice& notice);
  void violation(const slicer::Violation& violation, bool honest);
  /// The host asked for other slots, lost one, or begins anew: moves are expected.
  void expect_moves_from(slicer::Slot slot) { leaving_.insert(slot); }
  void expect_moves_to(slicer::Slot slot) { arriving_.insert(slot); }
  void slot_ready(slicer::Slot slot) {
    leaving_.erase(slot);
    if (arriving_.erase(slot) > 0) filling_.insert(slot);
  }
  /// It may fill up later all the same: a move that was begun waits for the old owner's answer.
  void slot_lost(slicer::Slot slot) { leaving_.insert(slot); }
  void host_restarted();
  /// linear (A3): how many partitions and workers there were when its hashing began.
  void hashing_begins(std::uint32_t partitions, std::uint32_t workers);
  /// Of a recreated topic that had so many partitions when its first one began.
  void begins_anew(std::int32_t partition, std::uint32_t partitions);
  /// A partition was added: of the topic that the host knows, or of the next one, as the first,
  /// while the others are still to begin in that.
  void appeared(std::int32_t partition, const slicer::Snapshot& known);
  void slots_change(std::uint32_t before, std::uint32_t after);

  // --- At the end
  void everything_delivered(std::int32_t partition, std::int64_t until);
  /// linear: the worker that the arithmetic has for it.
  slicer::Slot home(std::int32_t partition, std::uint32_t slots) const;
  void exactly_once();

  std::uint64_t deliveries() const { return deliveries_; }
  std::uint64_t duplicates() const { return duplicates_; }
  bool bad_in(std::int32_t partition, std::int64_t start, std::int64_t end) const;
  /// What it halted at last holds a bad record. With assignment any its frontier may be far below.
  bool halted_at_bad(std::int32_t partition) const;

 private:
  struct Log {
    std::vector<std::uint8_t> times;  ///< delivered, by offset
    std::int64_t first_missing = 0;   ///< all before it are delivered or excused
    std::int64_t frontier = -1;       ///< durable
    std::int64_t proved = 0;          ///< all before it were checked against the frontier
    std::int64_t committed = -1;
    std::uint32_t incarnation = 1;       ///< of the durable row
    std::optional<std::int64_t> cut_at;  ///< the log ends there or did, and no row says so yet
    bool cut_since_verdict = false;      ///< after the host said so last
    std::uint32_t cuts = 0;              ///< for which the host has not gone back
    std::size_t gaps_from = 0;           ///< entries of the ledger before are of what was cut off
    std::int64_t unproved_below = 0;     ///< the host said that it cannot tell (F5)
    std::vector<std::pair<std::int64_t, std::int64_t>> expired;  ///< said by the running host
  };
  struct Held {
    std::int32_t partition = 0;
    std::int64_t start = 0;
    std::int64_t records = 0;
  };

  bool any_worker() const { return scenario_->slicer.assignment == slicer::Assignment::Any; }

  const Scenario* scenario_;
  const Broker* broker_;
  const Disk* disk_;
  Trace* trace_;
  std::map<std::int32_t, Log> logs_;
  /// What each living process has been given and has not answered.
  std::map<std::uint64_t, std::map<std::pair<std::uint64_t, std::uint32_t>, Held>> held_;
  std::set<std::uint64_t> gone_;
  std::set<std::uint64_t> frozen_;
  std::set<std::pair<std::int32_t, std::int64_t>> framed_;  ///< run alone by a frozen worker
  std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> halted_at_;
  /// By partition and incarnation of the topic: start, end of what was written.
  std::map<std::pair<std::int32_t, std::uint32_t>, std::map<std::int64_t, std::int64_t>> names_;
  std::set<std::pair<std::int32_t, std::int64_t>> cut_by_expiry_;  ///< where it left off
  struct EndedNames {
    std::int64_t from = 0;
    std::uint64_t ids_below = 0;
  };
  std::map<std::int32_t, EndedNames> names_ended_;   ///< the host went back: they end above `from`
  std::uint64_t last_id_ = 0;                        ///< of all slices that were published
  std::map<std::uint64_t, std::uint32_t> of_topic_;  ///< by slice: the incarnation
  std::set<slicer::Slot> leaving_;
  std::set<slicer::Slot> arriving_;  ///< added, and no new worker of theirs is ready yet
  std::set<slicer::Slot> filling_;   ///< added, a new worker ran
  std::int64_t balanced_since_ms_ = 0;
  std::int64_t balance_moves_ = 0;  ///< since then
  std::uint32_t partitions_first_ = 1;
  std::uint32_t partitions_anew_ = 0;              ///< of the recreated topic; 0: it has not been
  std::set<std::int32_t> begun_;                   ///< partitions that have begun in it
  std::map<std::int32_t, std::uint32_t> counted_;  ///< by partition: of the one that it is of
  std::set<std::int32_t> rejoining_;               ///< have begun anew, in another family
  std::uint32_t workers_first_ = 1;
  std::uint32_t slots_ = 1;
  std::uint32_t slots_before_ = 1;
  std::set<std::int32_t> rehomed_;  ///< by a change of the slots, and not seen at home since
  /// Who of a family is on the way home already; a second time is another trip.
  std::map<std::uint32_t, std::set<std::int32_t>> on_trip_;
  std::uint64_t deliveries_ = 0;
  std::uint64_t duplicates_ = 0;
  bool was_cut_ = false;  ///< some log

  bool linear() const { return scenario_->slicer.assignment == slicer::Assignment::Linear; }
  std::uint32_t ancestor_of(std::int32_t partition) const;
  bool of_a_trip(const slicer::Notice& moved);
  Log& log(std::int32_t partition);
  bool was_delivered(std::int32_t partition, std::int64_t offset);
  void published_stable(const ipc::Command& command, const ipc::SliceTerms& terms);
  void frame(const Held& held);
  bool may_be_convicted(std::int32_t partition, std::int64_t offset) const;
  void excludes_culprits(std::int32_t partition, const Offsets& excluded);
  void end_names(std::int32_t partition, std::int64_t end);
  bool set_aside(std::int32_t partition, std::int64_t offset);
  void go_back(Log& log, const state::PartitionRow& row);
  bool excused(std::int32_t partition, std::int64_t offset);
  bool superseded(const state::SliceRow& row) const;
  void rows_tile(std::int32_t partition, const state::PartitionRow& row);
};

}  // namespace sluice::sim
