// Where logs end (C2): hints of the workers that read them, and the host's own samples for the
// partitions that nobody watches. A sample also judges the hints: a worker that saw more than there
// is has broken memory.
#include <algorithm>
#include <utility>

#include "host/slicer/core.hpp"

namespace sluice::slicer {

void Core::schedule_sample(Partition& partition, Milliseconds at) {
  partition.sample_at = at;
  partition.sample_scheduled = true;
  deadlines_.add({at, DeadlineKind::Sample, index_of(partition)});
}

bool Core::needs_sampling(const Partition& partition) const {
  if (stopping_ || partition.sample_asked) return false;
  if (options_.mode == Mode::Persistent) return true;
  // A once end is the host's own word already; only a log that looked shorter is asked about again.
  return partition.once_end && partition.end < *partition.once_end;
}

void Core::ask_end(Partition& partition) {
  partition.sample_asked = true;
  partition.hint_when_asked = partition.hint;
  pending_.sample_ends.push_back(partition.tp);
}

void Core::end_observed(TopicPartition tp, std::int64_t end, LeaderChange leader,
                        Milliseconds now) {
  Partition* partition = find(tp);
  if (partition == nullptr) return;
  if (end < 0) return sample_failed(tp, now);
  const bool grew = end > partition->end;
  if (std::exchange(partition->sample_asked, false)) judge_hint(*partition, end, leader);
  host_end(*partition, end, now);
  // Somebody else is looking, or there is enough to do: the sample is for the lag only.
  if (partition->opened || has_work(*partition)) {
    partition->sample_interval = options_.sample_interval_max;
  } else if (grew) {
    partition->sample_interval = options_.sample_interval_min;
  } else {
    partition->sample_interval =
        std::min(options_.sample_interval_max, partition->sample_interval * 2);
  }
  schedule_sample(*partition, now + partition->sample_interval);
}

/// The sample was asked for after the hint came, so it is the later look at the log: ends only fall
/// with a change of leader. A hint that came since is judged by the next sample.
void Core::judge_hint(Partition& partition, std::int64_t end, LeaderChange leader) {
  const std::int64_t asked_with = std::exchange(partition.hint_when_asked, -1);
  if (partition.hint == asked_with) partition.hint = -1;
  if (asked_with <= end || leader == LeaderChange::Seen || partition.slot == kNoSlot) return;
  const Worker& worker = worker_of(partition);
  if (worker.up() && worker.incarnation == partition.hint_incarnation) {
    partition.hint = -1;
    violate(partition.slot, Rule::HintBeyondEnd, 0);
  }
}

void Core::host_end(Partition& partition, std::int64_t end, Milliseconds now) {
  partition.end = std::max(end, partition.hint);
  const bool beyond = partition.end < partition.frontier;
  if (beyond && !partition.beyond_end) {
    notice(Notice::Kind::BeyondEnd, partition, nullptr);
    pending_.notices.back().start = partition.frontier;
    pending_.notices.back().end = partition.end;
  }
  partition.beyond_end = beyond;
  enqueue(partition, now);
}

/// A worker's word: raises what may be cut, nothing else. Only the owner's counts; a former owner
/// may still be sending.
void Core::hint(Partition& partition, Slot slot, std::int64_t end, Milliseconds now) {
  if (partition.slot != slot || partition.moving_to != kNoSlot) {
    ++counts_.ignored_hints;
    return;
  }
  partition.opened = true;
  if (end <= partition.end) return;
  partition.end = partition.hint = end;
  partition.hint_incarnation = workers_[slot].incarnation;
  enqueue(partition, now);
}

void Core::sample_failed(TopicPartition tp, Milliseconds now) {
  Partition* partition = find(tp);
  if (partition == nullptr) return;
  partition->sample_asked = false;
  partition->hint_when_asked = -1;
  partition->sample_interval =
      std::min(options_.sample_interval_max, partition->sample_interval * 2);
  schedule_sample(*partition, now + partition->sample_interval);
  partition->low_asked = false;  // if it is verifying, the deadline asks again
}

}  // namespace sluice::slicer
