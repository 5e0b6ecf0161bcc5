// slicer.assignment = any (A4): no affinity, no order. A partition has no owner; whichever worker
// has little to do takes the next slice of whichever partition has one, so that several workers may
// run slices of one partition at a time. What the other files do by owner is done by flight here.
//
// Every slice has a fence of its own: an answer concerns it alone, and a REVOKE of it, sent when
// its worker has nothing else of the partition, ends that worker's reading ahead. What was read
// ahead is fetched again by whoever gets those records, so a worker goes on where it is for a few
// slices, as long as no other partition waits for more than that.
#include <algorithm>
#include <vector>

#include "host/base/assert.hpp"
#include "host/slicer/core.hpp"

namespace sluice::slicer {
namespace {

/// One slice runs, one waits: a worker is never idle between two, and nobody hoards.
constexpr std::size_t kFlightsEach = 2;
/// Slices that are published out of turn at most, because their worker has begun to read them.
constexpr int kPassedOverMax = 8;

}  // namespace

/// One slice each in turn, as long as somebody takes one. Suspects go to a worker that has nothing:
/// the first that is up empties itself for them (F1).
void Core::dispatch_any(Milliseconds now) {
  const auto slots = static_cast<Slot>(workers_.size());
  for (bool any = true; any && !rate_.empty();) {
    any = false;
    bool emptied = any_suspects_.empty();
    for (Slot i = 0; i < slots; ++i) {
      const Slot slot = (first_turn_ + i) % slots;
      if (!workers_[slot].up() || slot >= slots_ || workers_[slot].alone_in_flight) continue;
      if (!emptied) {
        emptied = true;
        any = take_any_suspect(slot, now) || any;
      } else {
        any = take_any(slot, now) || any;
      }
    }
  }
  stop_reading_ahead();
}

bool Core::take_any(Slot slot, Milliseconds now) {
  const std::size_t most = std::min<std::size_t>(kFlightsEach, options_.credit_slices);
  if (workers_[slot].flights.size() >= most) return false;
  if (take_what_is_read(slot, now)) return true;
  for (std::size_t left = any_ready_.size(); left > 0 && !rate_.empty(); --left) {
    Partition& partition = partitions_[any_ready_.front()];
    any_ready_.pop_front();
    partition.queued = false;
    const Published published = publish_beside_others(partition, slot, now);
    enqueue(partition, now);
    any_passed_over_ = 0;
    if (published == Published::Yes) return true;
  }
  return false;
}

/// The partition keeps its place in the queue.
bool Core::take_what_is_read(Slot slot, Milliseconds now) {
  if (rate_.empty() || any_passed_over_ >= kPassedOverMax) return false;
  for (const auto& ahead : any_reads_ahead_) {
    Partition& partition = partitions_[ahead.partition];
    if (ahead.slot != slot || !partition.queued) continue;
    if (publish_beside_others(partition, slot, now) != Published::Yes) continue;
    ++any_passed_over_;
    return true;
  }
  return false;
}

bool Core::take_any_suspect(Slot slot, Milliseconds now) {
  if (!workers_[slot].flights.empty()) return false;
  Partition& partition = partitions_[any_suspects_.front()];
  const bool may = partition.suspects > 0 && blocked(partition, now) == WaitReason::None;
  if (may && needs_fresh_worker(partition, slot)) {
    ask_fresh_worker(slot);
    return false;
  }
  const Published published = may ? publish_next(partition, slot, now) : Published::NothingToDo;
  if (published == Published::NoCredit) return false;
  any_suspects_.pop_front();
  partition.queued = false;
  enqueue(partition, now);
  return published == Published::Yes;
}

/// With any, slices that wait and slices in flight are mixed in the list, which is short: two a
/// worker, and the parts of what is isolated.
Slice* Core::first_waiting(const Partition& partition) const {
  return any_worker() ? first_open(partition.slices.head) : partition.slices.waiting;
}

void Core::stop_reading_ahead() {
  for (const auto& ahead : any_reads_ahead_) {
    const Worker& worker = workers_[ahead.slot];
    const auto is_of_partition = [&](const auto& entry) {
      return entry.second.partition == ahead.partition;
    };
    const bool has_more =
        std::any_of(worker.flights.begin(), worker.flights.end(), is_of_partition);
    if (!worker.up() || has_more) continue;
    commands_for(ahead.slot).push_back(revoke_of(partitions_[ahead.partition], ahead.fence));
  }
  any_reads_ahead_.clear();
}

void Core::ask_back_all() {
  for (Slot slot = 0; slot < workers_.size(); ++slot) {
    if (!workers_[slot].up()) continue;
    for (const auto& [key, flight] : workers_[slot].flights) {
      commands_for(slot).push_back(revoke_of(partitions_[flight.partition], key.fence));
    }
  }
}

/// What a dead worker had goes back, slice by slice. Answers which partitions that concerns.
std::vector<PartitionIndex> Core::take_back_all(Worker& worker) {
  std::vector<PartitionIndex> concerned;
  for (const auto& [key, flight] : worker.flights) {
    Partition& partition = partitions_[flight.partition];
    --partition.flights;
    --flights_;
    if (flight.slice == nullptr) continue;
    concerned.push_back(flight.partition);
    if (flight.slice->recovered || flight.slice->compare) continue;  // take_recoveries() has it
    --partition.live;
    flight.slice->state = state::SliceState::Ready;
  }
  return concerned;
}

}  // namespace sluice::slicer
