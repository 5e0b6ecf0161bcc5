// Logs that shrink, vanish and come back (slicer.md F5). What makes the slicer doubt that a log is
// the one whose records are settled: a new start, a topic that was not there, another leader, a
// worker whose position is gone, an end below the position or below an earlier end. Then a worker
// looks at the newest record that both could have, and says what it is; nothing else is published
// before that.
//
// Another one: older ones are looked at. One is the same: the log was cut off behind it; work goes
// on there (truncated), for nobody knows how much was written between the cut and the host's first
// look at it. None is: the topic was deleted and created again: its incarnation counts up and all
// its partitions begin at their low watermark. None to compare: what the log's end and
// auto.offset.reset say.
//
// A slice may have been read across the cut, old records and new ones: what it read last is there,
// and what it missed between is not known. So where an end was lower than one before, only what was
// settled before the last look that found the log whole proves anything (lineage.hpp).
#include <algorithm>
#include <string>
#include <utility>

#include "host/base/assert.hpp"
#include "host/slicer/core.hpp"

namespace sluice::slicer {
namespace {

/// Between the first look at an end that is too low and the last: a broker that has just become
/// leader may not know its end yet.
constexpr Milliseconds kBelievedAfter{5'000};

}  // namespace

/// How far the log reached once: to what is settled, to the end that a once execution took (S1),
/// and to that of the last stable slice, which is cut from the host's own word and never cut anew
/// (C5).
std::int64_t Core::promised_end(const Partition& partition) const {
  const std::int64_t settled = settled_end(partition);
  const bool once = options_.mode == Mode::Once && partition.once_end;
  if (once) return std::max(settled, *partition.once_end);
  return options_.stable_slices ? std::max(settled, partition.cut) : settled;
}

/// The host's own look. `before`: the end that was known until now.
void Core::judge_end(Partition& partition, std::int64_t end, std::int64_t before,
                     Milliseconds now) {
  Lineage& lineage = partition.lineage;
  const std::int64_t confirmed = std::exchange(lineage.confirmed_end, end);
  if (lineage.begins_anew || lineage.absent) return;
  const bool is_over = is_at_once_end(partition);
  if (end < confirmed) {
    if (!is_over) {
      was_cut(partition, end);
    } else if (partition.recovery_in_flight) {  // it may never be read to its end
      ask_back(partition);
    }
  }
  const std::int64_t promised = promised_end(partition);
  partition.beyond_end = partition.end < promised && !is_over;
  if (!partition.beyond_end) {
    lineage.short_since.reset();
    lineage.believed = false;
    return;
  }
  if (!lineage.short_since) {
    lineage.short_since = now;
    schedule_sample(partition, now + sample_interval_min());  // once: nobody else looks
    lineage.highest_end = std::max({lineage.highest_end, before, promised});
    was_cut(partition, partition.end);
    notice(Notice::Kind::BeyondEnd, partition, nullptr);
    pending_.notices.back().start = promised;
    pending_.notices.back().end = partition.end;
  }
  lineage.lowest_end = std::min(lineage.lowest_end, partition.end);
  if (lineage.believed || now - *lineage.short_since < kBelievedAfter) return;
  lineage.believed = true;
  compare_again(partition);
  if (partition.live > 0) ask_back(partition);
}

/// It ended higher before: records are gone, and others may stand in their place already. What was
/// settled since the last look that found it whole may hold some of both.
void Core::was_cut(Partition& partition, std::int64_t end) {
  Lineage& lineage = partition.lineage;
  lineage.lowest_end = lineage.lowest_end < 0 ? end : std::min(lineage.lowest_end, end);
  compare_again(partition);
  if (std::exchange(lineage.cut_seen, true)) return;
  forget_from(lineage.fingerprints, lineage.vouched);
  changed(partition);
}

/// A look that was asked for has been answered.
void Core::vouch(Partition& partition, LeaderChange leader) {
  Lineage& lineage = partition.lineage;
  const std::int64_t asked = std::exchange(lineage.asked, kNoOffset);
  if (leader != LeaderChange::None || lineage.due || partition.beyond_end) return;
  lineage.vouched = std::max(lineage.vouched, asked);
}

/// When the second look is due; nothing while there is no doubt.
std::optional<Milliseconds> Core::second_look(const Partition& partition) const {
  if (!partition.beyond_end || partition.lineage.believed) return std::nullopt;
  return *partition.lineage.short_since + kBelievedAfter;
}

/// Too short for the position, and not yet believed to be.
bool Core::is_short_for_now(const Partition& partition) const {
  return partition.beyond_end && !partition.lineage.believed && !partition.lineage.seen_absent;
}

void Core::compare_again(Partition& partition) {
  partition.lineage.due = true;
  partition.lineage.mismatched = false;
  partition.lineage.next = 0;
}

/// A worker found its position outside of a log that begins before it, or the leader is another
/// one: the log may have ended lower, and have grown again before the host looked.
void Core::may_have_been_cut(Partition& partition) {
  if (!partition.lineage.fingerprints.empty()) compare_again(partition);
}

bool Core::must_compare(const Partition& partition, Milliseconds now) const {
  const Lineage& lineage = partition.lineage;
  if (!lineage.due || lineage.in_flight || partition.live > 0 || partition.end < 0) return false;
  // A new start is no doubt by itself: it is looked into when there is something to do.
  return partition.beyond_end || lineage.cut_seen || lineage.seen_absent ||
         may_recover(partition, now) || has_live_work(partition);
}

/// The next question, or, when there is nothing left to ask, the verdict. Requires: must_compare().
Core::Published Core::publish_comparison(Partition& partition, Slot slot, Milliseconds now) {
  Lineage& lineage = partition.lineage;
  const Fingerprints& known = lineage.fingerprints;
  while (lineage.next < known.size() && known[lineage.next].offset >= partition.end) ++lineage.next;
  if (lineage.next >= known.size()) {
    nothing_to_compare(partition, now);
    return Published::NothingToDo;
  }
  if (next_slice_id_ >= ids_durable_ || !has_credit(workers_[slot], 1)) return Published::NoCredit;
  const bool token = rate_.take();
  SLUICE_ASSERT(token);
  Slice* question = slices_.make();
  question->id = next_slice_id_++;
  question->start = known[lineage.next].offset;
  question->end = question->start + 1;
  question->partition = index_of(partition);
  question->epoch = partition.epoch;
  question->compare = true;
  question->created = now;
  lineage.in_flight = true;
  send(partition, *question, slot, now);
  return Published::Yes;
}

/// Requires: its flight is over and was live.
void Core::answer_comparison(Partition& partition, Slice& question, const Answer& answer,
                             Milliseconds now) {
  Lineage& lineage = partition.lineage;
  const std::int64_t offset = question.start;
  forget_question(question);
  const auto kind = static_cast<ipc::ReportKind>(answer.report.kind);
  if (kind !=
      ipc::ReportKind::Done) {  // returned, or the reader failed: the worker closed the lane
    new_fence(partition);
    if (kind == ipc::ReportKind::Failed) retry_later(partition, 1, now);
    return;
  }
  const bool meant = lineage.due && lineage.next < lineage.fingerprints.size() &&
                     lineage.fingerprints[lineage.next].offset == offset;
  if (!meant) return;  // the doubt began anew meanwhile
  const Fingerprint known = lineage.fingerprints[lineage.next];
  const Fingerprint found{answer.report.last_offset, answer.report.last_timestamp,
                          answer.report.last_digest};
  if (found == known) return same_record(partition, known.offset, now);
  if (found.offset == known.offset) return other_record(partition);
  ++lineage.next;
}

void Core::forget_question(Slice& question) {
  partitions_[question.partition].lineage.in_flight = false;
  slices_.free(&question);
}

/// Kafka cuts logs off at their end only: everything up to this record is as it was. Where the log
/// was cut off is not known, only that it was behind this record: records may have been written
/// between the cut and the first look at it.
void Core::same_record(Partition& partition, std::int64_t offset, Milliseconds now) {
  const Lineage& lineage = partition.lineage;
  if (!lineage.cut_seen && !lineage.mismatched) return no_doubt(partition);
  truncated(partition, offset + 1, now);
}

/// An older one tells whether the log was only cut off, and has grown since.
void Core::other_record(Partition& partition) {
  partition.lineage.mismatched = true;
  ++partition.lineage.next;
}

void Core::nothing_to_compare(Partition& partition, Milliseconds now) {
  Lineage& lineage = partition.lineage;
  if (lineage.mismatched) {
    return recreated(partition.tp.topic, "the last records of " + named(partition) + " are others",
                     now);
  }
  if (lineage.seen_absent) {
    return recreated(partition.tp.topic, "it was gone for a while", now);
  }
  // Nothing that is vouched for is gone, as far as anybody has seen.
  const std::int64_t stays =
      lineage.lowest_end < 0 ? lineage.vouched : std::min(lineage.vouched, lineage.lowest_end);
  const bool vouched_stays = stays == lineage.vouched;
  if (!lineage.believed || vouched_stays) {
    lineage.unproved = true;
    notice(Notice::Kind::Unproved, partition, nullptr);
    pending_.notices.back().start = lineage.cut_seen ? stays : partition.frontier;
    return lineage.cut_seen ? truncated(partition, stays, now) : no_doubt(partition);
  }
  const bool all_gone =
      !lineage.fingerprints.empty() && lineage.fingerprints.back().offset >= lineage.lowest_end;
  const std::string why = named(partition) + " ends at " + std::to_string(lineage.lowest_end) +
                          ", the position is " + std::to_string(promised_end(partition)) +
                          ", and no record is left to compare with";
  if (options_.expired == ExpiredPolicy::Latest && !all_gone) {
    return truncated(partition, stays, now);
  }
  recreated(partition.tp.topic, why, now);
}

void Core::no_doubt(Partition& partition) {
  Lineage& lineage = partition.lineage;
  lineage.due = lineage.mismatched = false;
  lineage.next = 0;
  lineage.lowest_end = lineage.highest_end = kNoOffset;
  if (lineage.cut_seen || lineage.seen_absent) changed(partition);
  lineage.cut_seen = lineage.seen_absent = false;
  update_finish(partition);
}

/// The log is the same up to `at`. What was settled from there on does not count any more: other
/// records may have those offsets. What is not settled is read anew anyway, and keeps its names and
/// attempts if the log still reaches its end. Requires: nothing of the partition is in flight.
void Core::truncated(Partition& partition, std::int64_t at, Milliseconds now) {
  const std::int64_t promised = promised_end(partition);
  const std::int64_t confirmed = partition.lineage.confirmed_end;
  const std::int64_t log_end = std::max(confirmed >= 0 ? confirmed : partition.end, at);
  const std::int64_t settled = settled_end(partition);
  const bool goes_back = at < settled;
  at = std::min(at, partition.frontier);
  const std::int64_t lost_from = goes_back ? at : log_end;
  const std::int64_t lost_to = log_end < promised ? promised : settled;
  if (lost_from < lost_to) {
    notice(Notice::Kind::Truncated, partition, nullptr);
    pending_.notices.back().start = lost_from;
    pending_.notices.back().end = lost_to;
    add_lost_range(partition, lost_from, lost_to, state::Cause::Truncated,
                   "the log was cut off behind offset " + std::to_string(at - 1) +
                       ", the position was " + std::to_string(promised),
                   now);
  }
  cut_off(partition, goes_back ? kNoOffset : log_end);
  if (options_.mode == Mode::Once && partition.once_end) {
    partition.once_end = std::min(*partition.once_end, log_end);
  }
  if (goes_back) {
    std::erase_if(partition.recovering, [&](Slice* parked) {
      if (parked->end <= at) return false;
      forget_recovered(*parked);
      return true;
    });
    begin_at(partition, at, now);
  }
  forget_from(partition.lineage.fingerprints, at);
  no_doubt(partition);
  partition.beyond_end = partition.lineage.believed = false;
  partition.lineage.short_since.reset();
  changed(partition);
  update_finish(partition);
  enqueue(partition, now);
}

/// The frontier, or where what was settled out of turn above it ends.
std::int64_t Core::settled_end(const Partition& partition) const {
  std::int64_t end = partition.frontier;
  for (const Slice* slice = partition.slices.head; slice != nullptr; slice = slice->next) {
    if (state::is_settled(slice->state)) end = slice->end;
  }
  const auto restored = restored_.find(index_of(partition));
  if (restored == restored_.end()) return end;
  for (const state::SliceRow& row : restored->second) {
    if (state::is_settled(row.state)) end = row.end;
  }
  return end;
}

/// The topic is another one of the same name. Its partitions begin anew as soon as nothing of them
/// is in flight.
void Core::recreated(std::uint16_t topic, const std::string& why, Milliseconds now) {
  if (all_halted_ || stopping_) return;
  if (options_.expired == ExpiredPolicy::None) return refuse_recreated(topic, why, now);
  ++topics_[topic].incarnation;
  topics_[topic].recreated_because = why;
  topics_[topic].partitions_first = 0;  // linear counts anew when the first partition begins
  topics_[topic].first_remembered = false;
  for (const PartitionIndex index : topics_[topic].partitions) {
    if (index != kNoPartition) begin_anew(partitions_[index]);
  }
  for (Slot slot = 0; slot < workers_.size(); ++slot) tell_incarnation(topic, slot);
}

void Core::refuse_recreated(std::uint16_t topic, const std::string& why, Milliseconds now) {
  for (const PartitionIndex index : topics_[topic].partitions) {
    if (index == kNoPartition || partitions_[index].halted) continue;
    Partition& partition = partitions_[index];
    halt(partition, nullptr,
         {.stage = "FETCH",
          .plugin = {},
          .code = 0,
          .message = "topic " + topics_[topic].name + " was deleted and created again (" + why +
                     "); auto.offset.reset = none: say where to begin with `sluice job offsets "
                     "JOB --from earliest|latest`"},
         now);
    compare_again(partition);
    if (partition.live > 0) ask_back(partition);
  }
}

void Core::begin_anew(Partition& partition) {
  if (std::exchange(partition.lineage.begins_anew, true)) return;
  partition.lineage.due = false;
  partition.beyond_end = false;
  if (std::exchange(partition.halted, false)) {  // what it halted at is gone
    halts_.erase(index_of(partition));
    if (partition.suspects > 0) quarantine_changed(partition, 1);
  }
  ask_back(partition);
  partition.lineage.low_is_old = partition.low_asked;
  partition.verifying = true;
  if (!partition.lineage.absent) verify_expired(partition);
  ended_said_ = false;
  update_finish(partition);
}

/// What the host has found where the partition begins. True: the answer is used up.
bool Core::took_new_low(Partition& partition, std::int64_t low, std::int64_t end,
                        Milliseconds now) {
  Lineage& lineage = partition.lineage;
  if (!lineage.begins_anew) return false;
  if (lineage.absent || partition.live > 0) return true;  // asked again when that is over
  if (std::exchange(lineage.low_is_old, false)) {
    verify_expired(partition);
    return true;
  }
  const std::string& why = topics_[partition.tp.topic].recreated_because;
  const std::int64_t known_end = std::max({partition.frontier, partition.cut, lineage.highest_end});
  notice(Notice::Kind::Recreated, partition, nullptr, why);
  pending_.notices.back().start = low;
  pending_.notices.back().end = partition.frontier;
  close_run(partition);
  add_lost_range(
      partition, partition.frontier, known_end, state::Cause::Recreated,
      "topic " + topics_[partition.tp.topic].name + " was deleted and created again: " + why, now);
  cut_off(partition, kNoOffset);
  for (Slice* parked : std::exchange(partition.recovering, {})) forget_recovered(*parked);
  partition.incarnation = topics_[partition.tp.topic].incarnation;
  begin_at(partition, low, now);
  const std::int64_t lowered_from = lineage.lowered_from;
  lineage = Lineage{};
  lineage.lowered_from = lowered_from;
  lineage.vouched = low;
  lineage.reset = true;
  partition.verifying = partition.opened = false;
  if (options_.mode == Mode::Once) partition.once_end = std::max(low, end);
  host_end(partition, end, now);
  update_finish(partition);
  if (linear() && discovered_) change_family(partition, now);
  return true;
}

/// Slices that reach beyond `end` go, and what was restored of such. Requires: nothing in flight.
void Core::cut_off(Partition& partition, std::int64_t end) {
  SLUICE_ASSERT(partition.live == 0, partition.tp.partition, partition.live);
  SliceList& list = partition.slices;
  while (list.tail != nullptr && list.tail->end > end) {
    if (state::is_settled(list.tail->state)) {
      Slice* settled = list.tail;
      unlink(list, settled);
      slices_.free(settled);
    } else {
      drop(partition, *list.tail);
    }
  }
  partition.cut =
      list.tail != nullptr ? list.tail->end : std::min(partition.cut, partition.frontier);
  if (partition.isolation != nullptr) {
    std::erase_if(partition.isolation->replaced, [&](const ReplacedSlice& whole) {
      if (whole.end <= end) return false;
      changes_.delete_row(whole.id);
      return true;
    });
    if (partition.isolation->replaced.empty()) partition.isolation.reset();
  }
  const auto restored = restored_.find(index_of(partition));
  if (restored == restored_.end()) return;
  std::erase_if(restored->second, [&](const state::SliceRow& row) {
    if (row.end <= end) return false;
    if (!state::is_settled(row.state)) changes_.delete_row(row.id);
    return true;
  });
  if (restored->second.empty()) restored_.erase(restored);
}

/// A start position that must be durable before anything else, as at the first start (S2).
void Core::begin_at(Partition& partition, std::int64_t offset, Milliseconds now) {
  close_run(partition);
  partition.run = CompletedRun{};
  std::int64_t& lowered_from = partition.lineage.lowered_from;
  lowered_from = std::max({lowered_from, partition.frontier, partition.committed_frontier});
  skip_reserved_ids();
  // A set under way knows the old frontier; it proves nothing about this one.
  std::erase_if(under_way_, [this, &partition](const auto& entry) {
    return &partitions_[entry.first] == &partition;
  });
  partition.start_offset = partition.frontier = partition.cut = offset;
  partition.lineage.vouched = offset;
  partition.lineage.asked = kNoOffset;
  partition.lineage.reset = true;
  partition.durable_frontier = partition.committed_frontier = kNoOffset;
  partition.hint = partition.hint_when_asked = kNoOffset;
  partition.retry_at = now;
  changed(partition);
}

/// The store takes a lowered frontier for a reset, after which settled rows with an id below its
/// bound are history: new ones must be above it.
void Core::skip_reserved_ids() {
  next_slice_id_ = std::max({next_slice_id_, ids_durable_, ids_under_way_});
}

void Core::add_lost_range(const Partition& partition, std::int64_t start, std::int64_t end,
                          state::Cause cause, std::string detail, Milliseconds now) {
  Slice range;
  range.id = next_slice_id_++;  // what has a lower one was settled before
  range.start = start;
  range.end = std::max(start, end);
  state::SliceError why;
  why.message = std::move(detail);
  range.error = std::make_unique<state::SliceError>(std::move(why));
  add_gap(partition, range, cause, now);
}

/// Its slices come back at the next batch boundary, and its worker closes it.
void Core::ask_back(Partition& partition) {
  if (any_worker()) {
    for (Slot slot = 0; slot < workers_.size(); ++slot) {
      if (!workers_[slot].up()) continue;
      for (const auto& [key, flight] : workers_[slot].flights) {
        if (&partitions_[flight.partition] != &partition) continue;
        commands_for(slot).push_back(revoke_of(partition, key.fence));
      }
    }
    return;
  }
  // One that moves has been asked back already.
  if (partition.slot == kNoSlot || partition.moving_to != kNoSlot) return;
  revoke(partition);
  new_fence(partition);
}

// --- Topics that vanish and come back ------------------------------------------------------------

void Core::vanished(Partition& partition) {
  Lineage& lineage = partition.lineage;
  if (!std::exchange(lineage.seen_absent, true)) changed(partition);
  if (std::exchange(lineage.absent, true)) return;
  lineage.highest_end = std::max(lineage.highest_end, partition.end);
  if (!lineage.begins_anew) compare_again(partition);
  if (partition.live > 0) ask_back(partition);
  update_finish(partition);
}

void Core::topic_absent(std::uint16_t topic) {
  if (topic >= topics_.size()) return;
  for (const PartitionIndex index : topics_[topic].partitions) {
    if (index != kNoPartition) vanished(partitions_[index]);
  }
}

void Core::topic_present(std::uint16_t topic, std::int32_t count, Milliseconds now) {
  if (topic >= topics_.size()) return;
  for (const PartitionIndex index : topics_[topic].partitions) {
    if (index == kNoPartition) continue;
    Partition& partition = partitions_[index];
    if (partition.tp.partition >= count) {
      vanished(partition);
      continue;
    }
    if (!std::exchange(partition.lineage.absent, false)) continue;
    partition.sample_interval = sample_interval_min();
    schedule_sample(partition, now);
    if (partition.incarnation != topics_[topic].incarnation) begin_anew(partition);
    if (partition.lineage.begins_anew) verify_expired(partition);
    enqueue(partition, now);
  }
  const std::int32_t known = topics_[topic].partitions_known;
  if (count >= known) return;
  if (options_.expired != ExpiredPolicy::None) topics_[topic].partitions_known = count;
  recreated(
      topic,
      "it has " + std::to_string(count) + " partitions, " + std::to_string(known) + " were known",
      now);
}

/// Plugins see it as part of a slice's identity (C5): a worker must know it before the first slice.
void Core::tell_incarnation(std::uint16_t topic, Slot slot) {
  if (topics_[topic].incarnation <= 1 || !workers_[slot].up()) return;
  ipc::Command command;
  command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Topic);
  command.topic = topic;
  command.epoch = topics_[topic].incarnation;
  commands_for(slot).push_back(command);
}

std::string Core::named(const Partition& partition) const {
  return topics_[partition.tp.topic].name + "-" + std::to_string(partition.tp.partition);
}

}  // namespace sluice::slicer
