// Where logs end (C2): hints of the workers that read them, and the host's own samples for the
// partitions that nobody watches. A sample also judges the hints: a worker that saw more than there
// is has broken memory.
#include <algorithm>
#include <utility>

#include "host/slicer/core.hpp"

namespace sluice::slicer {
namespace {

/// How long after the host has seen another leader a worker may still tell what the old one had: a
/// report on its way, or a client that has not asked for metadata since.
constexpr Milliseconds kOldLeader{10'000};
/// Of the shortest interval: what passes first between two looks at a partition that has just lost
/// its watcher. It doubles up to the others' pace, so such a partition costs four looks more.
constexpr int kOrphanShare = 16;

}  // namespace

void Core::schedule_sample(Partition& partition, Milliseconds at) {
  partition.sample_at = at;
  partition.sample_scheduled = true;
  deadlines_.add({at, DeadlineKind::Sample, index_of(partition)});
}

/// Its worker is gone, or is another one that opens it with its first slice: until then only the
/// host sees a new record, and at the pace of a watched partition that is up to 2 s later. The
/// first look comes so soon that it often finds what the old worker had seen, and at the pace of an
/// idle partition the next one would be 100 ms later: the whole of a take-over may take 40 (P7).
void Core::unwatched(Partition& partition, Milliseconds now) {
  partition.opened = false;
  const auto first = std::max(
      {Milliseconds{1}, Milliseconds{time_for_all_ms()}, sample_interval_min() / kOrphanShare});
  partition.sample_interval = std::min(first, options_.sample_interval_max);
  schedule_sample(partition, now);
}

/// Partitions come to have news at different times, and their samples would be as many questions.
/// So with many of them the times lie on a grid, as wide as asking for all of them may take, and at
/// most a quarter of the interval: what is due in one step of it is one question.
void Core::sample_later(Partition& partition, Milliseconds now) {
  const std::int64_t widest = partition.sample_interval.count() / 4;
  const std::int64_t step =
      std::clamp<std::int64_t>(time_for_all_ms(), 1, std::max(widest, std::int64_t{1}));
  const std::int64_t at = (now + partition.sample_interval).count();
  schedule_sample(partition, Milliseconds{(at + step - 1) / step * step});
}

/// A host asks for 20 ends in a millisecond at most: where there are more, their turn comes later.
std::int64_t Core::time_for_all_ms() const {
  return static_cast<std::int64_t>(partitions_.size() / kSamplesPerMs);
}

Milliseconds Core::sample_interval_min() const {
  return std::min(std::max(options_.sample_interval_min, Milliseconds{time_for_all_ms()}),
                  options_.sample_interval_max);
}

bool Core::needs_sampling(const Partition& partition) const {
  if (stopping_ || partition.sample_asked || partition.lineage.absent) return false;
  if (options_.mode == Mode::Persistent) return true;
  // A once end is the host's own word already; only a log that looked shorter is asked about again,
  // and one that is at work: it may be cut off meanwhile (F5).
  return partition.once_end &&
         (partition.end < *partition.once_end || partition.beyond_end || partition.live > 0);
}

void Core::ask_end(Partition& partition, Milliseconds now) {
  partition.asked_once = true;
  partition.asked_at = now;
  partition.sample_asked = true;
  partition.hint_when_asked = partition.hint;
  partition.lineage.asked = partition.frontier;
  pending_.sample_ends.push_back(partition.tp);
}

/// A worker with more partitions closes those that are quiet (host/worker/task_loop.cpp).
bool Core::is_crowded(Slot slot) const {
  constexpr std::size_t kAwakeMax = 256;
  return slot != kNoSlot && workers_[slot].partitions.size() > kAwakeMax;
}

void Core::end_observed(TopicPartition tp, std::int64_t end, LeaderChange leader,
                        Milliseconds now) {
  Partition* partition = find(tp);
  if (partition == nullptr) return;
  if (end < 0) return sample_failed(tp, now);
  const bool grew = end > partition->end;
  if (leader == LeaderChange::Seen) {
    partition->leader_seen = now;
    may_have_been_cut(*partition);
  }
  if (std::exchange(partition->sample_asked, false)) judge_hint(*partition, end, leader);
  host_end(*partition, end, now);
  vouch(*partition, leader);
  // Somebody else is looking, or there is enough to do: the sample is for the lag only.
  const bool is_busy = has_work(*partition, now);
  if (!is_crowded(partition->slot) && (partition->opened || is_busy)) {
    partition->sample_interval = options_.sample_interval_max;
  } else if (grew) {
    partition->sample_interval = sample_interval_min();
  } else if (is_busy) {
    partition->sample_interval = options_.sample_interval_max;
  } else {
    partition->sample_interval =
        std::min(options_.sample_interval_max, partition->sample_interval * 2);
  }
  sample_later(*partition, now);
  if (const auto look = second_look(*partition); look && *look < partition->sample_at) {
    schedule_sample(*partition, std::max(*look, now));
  }
  if (options_.stable_slices && partition->hint > end) sample_soon(*partition, now);
}

/// The sample was asked for after the hint came, so it is the later look at the log: ends only fall
/// with a change of leader. A hint that came since is judged by the next sample; what came soon
/// after a change may still tell of the log as it was before.
void Core::judge_hint(Partition& partition, std::int64_t end, LeaderChange leader) {
  const std::int64_t asked_with = std::exchange(partition.hint_when_asked, -1);
  const bool is_newest = partition.hint == asked_with;
  if (is_newest) partition.hint = -1;
  if (leader == LeaderChange::Seen) {  // it was there, and the new leader may not have it
    partition.lineage.confirmed_end = std::max(partition.lineage.confirmed_end, asked_with);
  }
  if (!is_newest || asked_with <= end || leader != LeaderChange::None) return;
  if (partition.leader_seen && partition.asked_at < *partition.leader_seen + kOldLeader) return;
  if (end < partition.frontier) return;  // it is the log that has changed (F5)
  const Worker& worker = workers_[partition.hint_slot];
  if (worker.up() && worker.incarnation == partition.hint_incarnation) {
    partition.hint = -1;
    violate(partition.hint_slot, Rule::HintBeyondEnd, 0);
  }
}

void Core::host_end(Partition& partition, std::int64_t end, Milliseconds now) {
  // Stable slices are cut from the host's own word alone (C3).
  const std::int64_t visible = options_.stable_slices ? end : std::max(end, partition.hint);
  const std::int64_t before = std::exchange(partition.end, visible);
  judge_end(partition, end, before, now);
  enqueue(partition, now);
}

/// A worker's word: raises what may be cut, nothing else. Only the owner's counts; a former owner
/// may still be sending.
void Core::hint(Partition& partition, Slot slot, std::int64_t end, Milliseconds now) {
  const bool owner = partition.slot == slot && partition.moving_to == kNoSlot;
  if (!owner && !any_worker()) {
    ++counts_.ignored_hints;
    return;
  }
  partition.opened = !any_worker();
  if (end <= std::max(partition.end, partition.hint)) return;
  partition.hint = end;
  partition.hint_slot = slot;
  partition.hint_incarnation = workers_[slot].incarnation;
  if (options_.stable_slices) return sample_soon(partition, now);
  partition.end = end;
  enqueue(partition, now);
}

void Core::sample_failed(TopicPartition tp, Milliseconds now) {
  Partition* partition = find(tp);
  if (partition == nullptr) return;
  partition->sample_asked = false;
  partition->hint_when_asked = -1;
  partition->lineage.asked = kNoOffset;
  partition->sample_interval =
      std::min(options_.sample_interval_max, partition->sample_interval * 2);
  sample_later(*partition, now);
  partition->low_asked = false;  // if it is verifying, the deadline asks again
}

}  // namespace sluice::slicer
