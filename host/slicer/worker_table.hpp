// The slicer's private picture of the workers: who is up, what each has in flight, which of its
// partitions have something to run. The in-flight map is the host's own; a worker's word is only
// ever looked up in it (ipc facts 3.4 rule 4).
//
// A flight is one publication of a slice: (slice id, fence). When a lane gets a new fence, its
// flights become stale: their answers free the credit and change nothing else.
//
// Internal to host/slicer.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <vector>

#include "host/base/clock.hpp"
#include "host/slicer/partition.hpp"
#include "host/slicer/slicer.hpp"

namespace sluice::slicer {

struct FlightKey {
  std::uint64_t slice_id = 0;
  std::uint32_t fence = 0;

  bool operator==(const FlightKey&) const = default;
};

struct FlightKeyHash {
  std::size_t operator()(const FlightKey& key) const {
    return (key.slice_id + key.fence) * 0x9E37'79B9'7F4A'7C15ULL;
  }
};

struct Flight {
  Slice* slice = nullptr;  ///< null: stale
  PartitionIndex partition = kNoPartition;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint64_t order = 0;  ///< counts publications: the order in which the ring holds them
  bool alone = false;       ///< nothing else was in flight beside it (F1)
  bool stable = false;      ///< released only at its start (C3)
  bool probe = false;       ///< never DONE (F3.4)
};

struct Worker {
  std::uint64_t incarnation = 0;  ///< 0: no running worker
  std::int32_t pid = 0;
  bool condemned = false;    ///< broke a rule, will be killed; nothing it says counts
  bool used = false;         ///< has been given slices: no fresh process any more (F3)
  bool making_room = false;  ///< asked to end, for a fresh process in its place
  bool lost = false;         ///< its last incarnation died; false before the first
  bool added = false;        ///< by set_slots(): fills up at once when its worker is ready
  bool retiring = false;  ///< its slot was taken away: on its way out, also if the slot comes back
  Milliseconds up_since{0};
  Milliseconds takeover_at{0};  ///< down and past this: its partitions go to others

  boost::unordered_flat_map<FlightKey, Flight, FlightKeyHash> flights;
  std::int64_t records_in_flight = 0;
  bool alone_in_flight = false;

  std::deque<PartitionIndex> ready;     ///< have something to publish; taken in turn
  std::deque<PartitionIndex> suspects;  ///< the same, but may only run alone
  std::vector<PartitionIndex> partitions;
  std::size_t arriving = 0;  ///< partitions on their way here
  std::size_t leaving = 0;   ///< ... and on their way from here
  std::uint32_t suspect_partitions =
      0;  ///< not halted and with a suspect: this slot is quarantined

  /// Partitions when all moves under way are done.
  std::size_t planned() const { return partitions.size() + arriving - leaving; }
  bool up() const { return incarnation != 0 && !condemned && !making_room; }
};

}  // namespace sluice::slicer
