// Workers come and go. A loss gives everything back at once and charges nobody but a slice that
// died alone (slicer.md F1, F2; the model is models of blame in tests/sim/blame_test.cpp).
#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"
#include "host/slicer/core.hpp"

namespace sluice::slicer {
/// In FLUSH and STATE the plugin has the whole group in its hands, not the batch that came last.
std::int64_t batch_in_hand(const Accusation& accusation) {
  const bool one_batch =
      accusation.phase == ipc::Phase::Process || accusation.phase == ipc::Phase::Put;
  return one_batch ? accusation.offset : kNoOffset;
}

state::SliceError error_of(const Accusation& accusation) {
  return {.stage = accusation.cause == LossCause::Hang ? "HANG" : "CRASH",
          .plugin = accusation.plugin,
          .code = accusation.code,
          .message = accusation.text};
}

void Core::worker_ready(Slot slot, WorkerIdentity identity, Milliseconds now) {
  SLUICE_ASSERT(slot < workers_.size() && identity.incarnation != 0, slot, identity.incarnation);
  Worker& worker = workers_[slot];
  if (worker.incarnation == identity.incarnation) return;  // a worker may say READY twice
  SLUICE_ASSERT(worker.incarnation == 0 && worker.flights.empty(), slot, worker.incarnation);
  worker.incarnation = identity.incarnation;
  worker.pid = identity.pid;
  worker.condemned = worker.retiring = worker.used = worker.making_room = false;
  worker.up_since = now;
  for (std::size_t topic = 0; topic < topics_.size(); ++topic) {
    tell_incarnation(static_cast<std::uint16_t>(topic), slot);
  }
  if (std::exchange(worker.added, false)) fill_added(slot, now);
  for (const PartitionIndex index : worker.partitions) enqueue(partitions_[index], now);
  for (Slot other = 0; other < workers_.size(); ++other) {
    if (other != slot) take_over(other, now);
  }
  schedule_rebalance(now + options_.rebalance_delay);
}

/// The slices that this death may be blamed on, in ring order: what the pulse names, if it really
/// is in flight there; in FLUSH and STATE the whole group, that is everything published up to it.
std::vector<Slice*> Core::accused(const Worker& worker, const Accusation& accusation) const {
  const bool group = accusation.phase == ipc::Phase::Flush || accusation.phase == ipc::Phase::State;
  std::uint64_t last = 0;
  std::vector<std::pair<std::uint64_t, Slice*>> in_order;
  for (const auto& [key, flight] : worker.flights) {
    if (flight.slice == nullptr) continue;
    if (key.slice_id == accusation.slice_id) last = flight.order;
    in_order.emplace_back(flight.order, flight.slice);
  }
  std::sort(in_order.begin(), in_order.end());
  // A flush without a name is a flush of everything that the worker has in hand.
  if (group && accusation.slice_id == 0 && !in_order.empty()) last = in_order.back().first;
  std::vector<Slice*> slices;
  for (const auto& [order, slice] : in_order) {
    if (order == last || (group && order < last)) slices.push_back(slice);
  }
  return slices;
}

void Core::worker_lost(Slot slot, std::uint64_t incarnation, const Accusation& accusation,
                       Milliseconds now) {
  SLUICE_ASSERT(slot < workers_.size(), slot);
  Worker& worker = workers_[slot];
  if (worker.incarnation != incarnation && worker.incarnation != 0) return;  // of a former life
  std::vector<Slice*> named = accused(worker, accusation);
  const bool alone = worker.alone_in_flight;
  std::vector<Slice*> in_flight;
  for (const auto& [key, flight] : worker.flights) {
    if (flight.slice != nullptr) in_flight.push_back(flight.slice);
  }
  counts_.redelivered += in_flight.size();
  std::erase_if(named, [](const Slice* slice) { return slice->compare; });
  const std::vector<Slice*> recoveries = take_recoveries(in_flight);
  std::vector<PartitionIndex> concerned = worker.partitions;
  if (any_worker()) concerned = take_back_all(worker);
  for (const PartitionIndex index : worker.partitions) {
    Partition& partition = partitions_[index];
    if (partition.flights == 0) continue;
    give_back(partition, partition.slices.head);
    flights_ -= partition.flights;
    partition.flights = 0;
    new_fence(partition);
  }
  worker.flights.clear();
  worker.records_in_flight = 0;
  worker.alone_in_flight = false;
  worker.incarnation = 0;
  worker.pid = 0;
  worker.condemned = worker.making_room = false;
  worker.lost = true;

  for (Slice* slice : recoveries) {
    if (slice->compare) {
      forget_question(*slice);
      continue;
    }
    const bool blamed = accusation.blame == Blame::Record && std::erase(named, slice) > 0;
    Partition& partition = partitions_[slice->partition];
    blamed ? recovery_failed(partition, *slice, error_of(accusation))
           : recover_later(partition, *slice, now);
  }
  if (accusation.blame == Blame::Record) {
    blame_record(named, alone, accusation, now);
  } else {
    blame_environment(in_flight, accusation, now);
  }
  for (const PartitionIndex index : concerned) {
    Partition& partition = partitions_[index];
    waits_.erase(index);
    if (partition.verifying) verify_expired(partition);
    update_finish(partition);
    unwatched(partition, now);
    if (any_worker()) enqueue(partition, now);
  }
  move_all_from(slot, now);
  if (!worker.partitions.empty()) schedule_takeover(slot, now + options_.orphan_grace);
}

/// Recovered slices and questions are in no list: their flights are taken back here.
std::vector<Slice*> Core::take_recoveries(std::vector<Slice*>& in_flight) {
  std::vector<Slice*> taken;
  std::erase_if(in_flight, [&](Slice* slice) {
    if (!slice->recovered && !slice->compare) return false;
    Partition& partition = partitions_[slice->partition];
    --partition.live;
    if (slice->recovered) partition.recovery_in_flight = false;
    taken.push_back(slice);
    return true;
  });
  return taken;
}

/// The first time they only become suspects: others were in flight beside them. Alone, a slice is
/// charged.
void Core::blame_record(const std::vector<Slice*>& named, bool alone, const Accusation& accusation,
                        Milliseconds now) {
  for (Slice* slice : named) {
    Partition& partition = partitions_[slice->partition];
    slice->failed_at = batch_in_hand(accusation);
    if (slice->dead_letter) continue;  // no plugin had it in hand
    set_suspect(partition, *slice);
    if (options_.on_failure == OnFailure::Isolate) {
      isolate_accused(*slice, alone, accusation, named.size(), now);
    } else if (alone) {
      charge(partition, *slice, error_of(accusation), now);
    }
  }
}

/// F2: nobody is charged, but a slice that was in hand at slice.attempts.max such deaths in a row
/// stops its partition: something outside is wrong with it (memory, a limit, a person).
void Core::blame_environment(const std::vector<Slice*>& in_flight, const Accusation& accusation,
                             Milliseconds now) {
  const bool asked_to_go =
      accusation.cause == LossCause::Stopped || accusation.cause == LossCause::StopTimeout;
  if (asked_to_go) return;
  for (Slice* slice : in_flight) {
    if (slice->id != accusation.slice_id) {
      slice->environment_deaths = 0;
      continue;
    }
    Partition& partition = partitions_[slice->partition];
    ++slice->environment_deaths;
    slice->failed_at = batch_in_hand(accusation);
    changes_.slice_changed(*slice);
    if (slice->environment_deaths < options_.attempts_max || partition.halted) continue;
    halt(partition, slice,
         {.stage = "WORKER",
          .plugin = {},
          .code = accusation.code,
          .message = accusation.text + " (" + std::to_string(slice->environment_deaths) +
                     " workers in a row died with this slice in hand)"},
         now);
  }
}

}  // namespace sluice::slicer
