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
#include "sim/broker.hpp"
#include "sim/disk.hpp"
#include "sim/scenario.hpp"
#include "sim/trace.hpp"

namespace sluice::sim {

class Checkers {
 public:
  Checkers(const Scenario& scenario, const Broker& broker, const Disk& disk, Trace& trace);

  // --- What happens
  void published(std::uint64_t incarnation, const ipc::Command& command);
  void answered(std::uint64_t incarnation, std::uint64_t slice_id, std::uint32_t fence);
  void process_gone(std::uint64_t incarnation);
  void put(std::uint64_t incarnation, std::int32_t partition);
  void delivered(std::int32_t partition, std::int64_t offset);
  void stored(const state::ChangeSet& set);
  void committed(std::int32_t partition, std::int64_t offset);
  void halted(const slicer::Halted& halted, std::int64_t start, std::int64_t end);
  void noticed(const slicer::Notice& notice);
  void violation(const slicer::Violation& violation, bool honest);
  /// The host asked for other slots, lost one, or begins anew: moves are expected.
  void expect_moves_from(slicer::Slot slot) { leaving_.insert(slot); }
  void expect_moves_to(slicer::Slot slot) { arriving_.insert(slot); }
  void slot_ready(slicer::Slot slot) {
    leaving_.erase(slot);
    if (arriving_.erase(slot) > 0) filling_.insert(slot);
  }
  void slot_lost(slicer::Slot slot) {
    leaving_.insert(slot);
    filling_.erase(slot);
  }
  void host_restarted();

  // --- At the end
  void everything_delivered(std::int32_t partition, std::int64_t until);
  void exactly_once();

  std::uint64_t deliveries() const { return deliveries_; }
  std::uint64_t duplicates() const { return duplicates_; }
  bool bad_in(std::int32_t partition, std::int64_t start, std::int64_t end) const;

 private:
  struct Log {
    std::vector<std::uint8_t> times;  ///< delivered, by offset
    std::int64_t first_missing = 0;   ///< all before it are delivered or excused
    std::int64_t frontier = -1;       ///< durable
    std::int64_t proved = 0;          ///< all before it were checked against the frontier
    std::int64_t committed = -1;
    std::vector<std::pair<std::int64_t, std::int64_t>> expired;  ///< said by the running host
  };
  struct Held {
    std::int32_t partition = 0;
    std::int64_t records = 0;
  };

  const Scenario* scenario_;
  const Broker* broker_;
  const Disk* disk_;
  Trace* trace_;
  std::map<std::int32_t, Log> logs_;
  /// What each living process has been given and has not answered.
  std::map<std::uint64_t, std::map<std::pair<std::uint64_t, std::uint32_t>, Held>> held_;
  std::set<std::uint64_t> gone_;
  std::set<slicer::Slot> leaving_;
  std::set<slicer::Slot> arriving_;  ///< added, and no new worker of theirs is ready yet
  std::set<slicer::Slot> filling_;   ///< added, the first new worker runs
  std::int64_t balanced_since_ms_ = 0;
  std::int64_t balance_moves_ = 0;  ///< since then
  std::uint64_t deliveries_ = 0;
  std::uint64_t duplicates_ = 0;

  Log& log(std::int32_t partition);
  bool was_delivered(std::int32_t partition, std::int64_t offset);
  bool set_aside(std::int32_t partition, std::int64_t offset) const;
  bool excused(std::int32_t partition, std::int64_t offset);
  void rows_tile(std::int32_t partition, const state::PartitionRow& row);
};

}  // namespace sluice::sim
