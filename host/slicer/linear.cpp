// slicer.assignment = linear (A3): a partition's worker is arithmetic over its ancestor, the
// partition of the first known epoch that its keys were in. So a key stays with its worker when its
// topic grows, and one worker more takes keys from one other alone.
//
// All partitions of one ancestor, of whatever topic, are a family, and a family lives in one
// worker: with its worker lost it goes elsewhere as a whole (A2), and home as a whole, one family
// per delay, once the slot has been healthy. A family with a suspect waits for its slot as a whole:
// nobody else may have the suspect (F1).
#include <algorithm>
#include <optional>
#include <utility>

#include "host/slicer/core.hpp"
#include "host/slicer/linear_hashing.hpp"

namespace sluice::slicer {

std::uint32_t Core::ancestor_of(const Partition& partition) const {
  return static_cast<std::uint32_t>(partition.tp.partition) %
         topics_[partition.tp.topic].partitions_first;
}

Slot Core::linear_home(const Partition& partition) const {
  return linear_worker(partition.ancestor, workers_first_, tasks_);
}

/// What the hashing begins with is remembered with the first change set of every start; the store
/// keeps the oldest.
void Core::remember_first_counts() {
  changes_.add_first_count({.topic = {}, .topic_incarnation = 0, .count = workers_first_});
  for (Topic& topic : topics_) remember_first_count(topic);
}

void Core::remember_first_count(Topic& topic) {
  if (topic.partitions.empty() || std::exchange(topic.first_remembered, true)) return;
  if (topic.partitions_first == 0) {
    topic.partitions_first = static_cast<std::uint32_t>(topic.partitions_known);
  }
  changes_.add_first_count({.topic = topic.name,
                            .topic_incarnation = topic.incarnation,
                            .count = topic.partitions_first});
}

void Core::join_family(Partition& partition) {
  partition.ancestor = ancestor_of(partition);
  families_[partition.ancestor].push_back(index_of(partition));
  partition.home = linear_home(partition);
}

void Core::leave_family(Partition& partition) {
  const auto family = families_.find(partition.ancestor);
  std::erase(family->second, index_of(partition));
  if (family->second.empty()) families_.erase(family);
}

/// Its topic was recreated (F5): the new one's keys have ancestors of their own. It goes where its
/// new family is; alone, home. Requires: nothing of it is in flight whose answer counts.
void Core::change_family(Partition& partition, Milliseconds now) {
  remember_first_count(topics_[partition.tp.topic]);
  if (ancestor_of(partition) == partition.ancestor) return;
  leave_family(partition);
  const Slot to = place_in_family(partition);
  if (partition.moving_to == kNoSlot && to != partition.slot && takes_partitions(to)) {
    begin_move(partition, to, now);
  }
  schedule_rebalance(now + options_.rebalance_delay);
}

const std::vector<PartitionIndex>& Core::family_of(const Partition& partition) const {
  return families_.at(partition.ancestor);
}

/// At the start everything is where the arithmetic has it, wherever it was before.
void Core::place_all_linear(Milliseconds now) {
  remember_first_counts();
  for (Partition& partition : partitions_) {
    const Slot before = partition.home;
    join_family(partition);
    if (partition.home != before) changed(partition);
    own(partition, partition.home);
    enqueue(partition, now);
  }
}

/// Where the others of its family are, or are going to; else home.
Slot Core::place_in_family(Partition& partition) {
  remember_first_count(topics_[partition.tp.topic]);
  join_family(partition);
  for (const PartitionIndex index : family_of(partition)) {
    const Partition& other = partitions_[index];
    if (&other == &partition) continue;
    if (other.slot != kNoSlot) return other.moving_to != kNoSlot ? other.moving_to : other.slot;
  }
  return partition.home;
}

bool Core::family_suspected(const Partition& partition) const {
  const auto& family = family_of(partition);
  return std::any_of(family.begin(), family.end(),
                     [this](PartitionIndex index) { return partitions_[index].suspects > 0; });
}

/// Where a partition goes whose worker is lost or leaves; kNoSlot: nobody can take it now.
Slot Core::refuge(const Partition& partition, Slot except, Milliseconds now) const {
  if (!linear()) return emptiest_worker(except);
  for (const PartitionIndex index : family_of(partition)) {
    const Partition& other = partitions_[index];
    if (&other == &partition) continue;
    const Slot there = other.moving_to != kNoSlot ? other.moving_to : other.slot;
    if (there != except && there != kNoSlot && takes_partitions(there)) return there;
  }
  const Slot home = partition.home;
  const bool healthy =
      takes_partitions(home) && now - workers_[home].up_since >= options_.rebalance_delay;
  return healthy && home != except ? home : emptiest_worker(except);
}

/// F1: whether a loss of its slot leaves the partition where it is.
bool Core::waits_for_slot(const Partition& partition) const {
  return linear() ? family_suspected(partition) : partition.suspects > 0;
}

/// Other tasks, other homes: who lives elsewhere from now on, and whose new worker runs, moves at
/// once. A worker that was just added takes its own when it is ready.
void Core::rehash(Milliseconds now) {
  for (Partition& partition : partitions_) {
    if (partition.slot == kNoSlot) continue;
    const Slot before = partition.home;
    partition.home = linear_home(partition);
    if (partition.home != before) move_home(partition, now);
  }
}

void Core::move_home(Partition& partition, Milliseconds now) {
  if (partition.slot == partition.home || partition.moving_to != kNoSlot) return;
  if (!takes_partitions(partition.home) || family_suspected(partition)) return;
  begin_move(partition, partition.home, now);
}

void Core::move_home_to(Slot slot, Milliseconds now) {
  for (Partition& partition : partitions_) {
    if (partition.slot != kNoSlot && partition.home == slot) move_home(partition, now);
  }
}

/// A2 for families. Who cannot go yet is looked at again: after the delay, or when its slot's
/// worker is ready.
void Core::go_home(Milliseconds now) {
  std::optional<Milliseconds> next;
  for (const auto& [ancestor, family] : families_) {
    const bool away = std::any_of(family.begin(), family.end(), [this](PartitionIndex index) {
      const Partition& partition = partitions_[index];
      return partition.slot != partition.home && partition.moving_to == kNoSlot;
    });
    const Partition& first = partitions_[family.front()];
    if (!away || !workers_[first.home].up()) continue;
    const bool may = takes_partitions(first.home) && !family_suspected(first);
    const Milliseconds at = may ? workers_[first.home].up_since + options_.rebalance_delay
                                : now + options_.rebalance_delay;
    if (at > now) {
      next = next ? std::min(*next, at) : at;
      continue;
    }
    for (const PartitionIndex index : family) move_home(partitions_[index], now);
    return schedule_rebalance(now + options_.rebalance_delay);
  }
  if (next) schedule_rebalance(*next);
}

}  // namespace sluice::slicer
