#include "sim/checkers.hpp"

#include <algorithm>
#include <iterator>

#include "host/slicer/linear_hashing.hpp"
#include "host/state/offset_list.hpp"

namespace sluice::sim {
namespace {

std::string named(std::int32_t partition, std::int64_t offset) {
  return "orders-" + std::to_string(partition) + "@" + std::to_string(offset);
}

std::string range(std::int64_t start, std::int64_t end) {
  return "[" + std::to_string(start) + "," + std::to_string(end) + ")";
}

}  // namespace

Checkers::Checkers(const Scenario& scenario, const Broker& broker, const Disk& disk, Trace& trace)
    : scenario_{&scenario}, broker_{&broker}, disk_{&disk}, trace_{&trace} {}

Checkers::Log& Checkers::log(std::int32_t partition) {
  return logs_[partition];
}

bool Checkers::was_delivered(std::int32_t partition, std::int64_t offset) {
  const auto& times = log(partition).times;
  return static_cast<std::size_t>(offset) < times.size() &&
         times[static_cast<std::size_t>(offset)] > 0;
}

/// On record as not processed: parked or skipped.
bool Checkers::set_aside(std::int32_t partition, std::int64_t offset) {
  const auto from = static_cast<std::ptrdiff_t>(log(partition).gaps_from);
  return std::any_of(disk_->gaps.begin() + from, disk_->gaps.end(), [&](const state::GapRow& gap) {
    return gap.partition == partition && offset >= gap.start && offset < gap.end;
  });
}

bool Checkers::excused(std::int32_t partition, std::int64_t offset) {
  const auto row = disk_->partitions.find(partition);
  if (row != disk_->partitions.end() && offset < row->second.start_offset) return true;
  if (!broker_->exists(partition, offset)) return true;
  if (offset < log(partition).unproved_below) return true;
  // A bad record may be put off until what is behind it has shown whose fault it is (F3.2).
  const bool isolated = scenario_->slicer.on_failure == slicer::OnFailure::Isolate;
  if (isolated && scenario_->bad.contains({partition, offset})) return true;
  for (const auto& [start, end] : log(partition).expired) {
    if (offset >= start && offset < end) return true;
  }
  return set_aside(partition, offset);
}

/// C1: credits. S2: positions are durable before the first slice. A worker's flights are unanswered
/// slices; no other living process may hold one of the same partition.
void Checkers::published(std::uint64_t incarnation, const ipc::Command& command,
                         const ipc::SliceTerms& terms) {
  if (!disk_->partitions.contains(command.partition)) {
    trace_->wrong("start is durable", named(command.partition, command.start) +
                                          " was published before its partition's row was stored");
  }
  const bool is_question = (command.flags & ipc::kCompare) != 0;
  if (scenario_->slicer.stable_slices && !is_question) published_stable(command, terms);
  auto& mine = held_[incarnation];
  std::int64_t records = command.end - command.start;
  for (const auto& [key, held] : mine) records += held.records;
  const slicer::SlicerOptions& options = scenario_->slicer;
  const bool fits =
      mine.empty() || (mine.size() < options.credit_slices && records <= options.credit_records);
  if (!fits) {
    trace_->wrong("credit", "incarnation " + std::to_string(incarnation) + " was given " +
                                std::to_string(mine.size() + 1) + " slices with " +
                                std::to_string(records) + " records");
  }
  for (const auto& [other, flights] : held_) {
    if (other == incarnation) continue;
    for (const auto& [key, held] : flights) {
      if (held.partition != command.partition) continue;
      const bool apart = command.end <= held.start || held.start + held.records <= command.start;
      if (any_worker() && apart) continue;
      trace_->wrong("one owner", named(command.partition, command.start) + " is published to " +
                                     std::to_string(incarnation) + " while " +
                                     std::to_string(other) + " still holds slice " +
                                     std::to_string(key.first));
    }
  }
  last_id_ = std::max(last_id_, command.slice_id);
  of_topic_[command.slice_id] = disk_->topic_incarnation(command.partition);
  if (gone_.contains(incarnation)) return;  // nobody has told the host yet
  const Held& held = mine[{command.slice_id, command.fence}] = {command.partition, command.start,
                                                                command.end - command.start};
  if (frozen_.contains(incarnation)) frame(held);
}

/// C5: nobody is given a stable slice whose range a crash could change, or what is left out of it
/// (F3.4). A probe is a part of such a slice.
void Checkers::published_stable(const ipc::Command& command, const ipc::SliceTerms& terms) {
  if ((command.flags & ipc::kDeadLetterOnly) != 0) return;  // no plugin sees it
  const bool probe = (command.flags & ipc::kProbe) != 0;
  const std::int64_t start = probe ? terms.start : command.start;
  const std::int64_t end = probe ? terms.end : command.end;
  const bool within = start <= command.start && command.end <= end;
  const std::string excluded = state::encode_offsets(terms.excluded);
  const auto is_it = [&](const auto& entry) {
    const state::SliceRow& row = entry.second;
    return row.partition == command.partition && row.start == start && row.end == end &&
           row.stable && row.excluded == excluded;
  };
  const auto& rows = disk_->slices;
  const auto own = rows.find(command.slice_id);
  const bool durable =
      probe ? std::any_of(rows.begin(), rows.end(), is_it) : own != rows.end() && is_it(*own);
  excludes_culprits(command.partition, terms.excluded);
  if (durable && within && (command.flags & ipc::kStable) != 0) return;
  trace_->wrong("stable slices", named(command.partition, command.start) +
                                     " was published before its range was durable");
}

/// Nothing tells a machine that stands still from a record that makes a plugin hang.
void Checkers::frozen(std::uint64_t incarnation) {
  frozen_.insert(incarnation);
  for (const auto& [key, held] : held_[incarnation]) frame(held);
}

void Checkers::frame(const Held& held) {
  if (held.records == 1) framed_.insert({held.partition, held.start});
}

bool Checkers::may_be_convicted(std::int32_t partition, std::int64_t offset) const {
  return scenario_->bad.contains({partition, offset}) || framed_.contains({partition, offset});
}

/// F3.4: only a convicted record is left out, and it is on record.
void Checkers::excludes_culprits(std::int32_t partition, const Offsets& excluded) {
  for (const std::int64_t offset : excluded) {
    const bool on_record =
        std::any_of(disk_->slices.begin(), disk_->slices.end(), [&](const auto& entry) {
          const state::SliceRow& row = entry.second;
          return row.partition == partition && row.start == offset && row.end == offset + 1 &&
                 (row.state == state::SliceState::DeadLettered ||
                  row.state == state::SliceState::Skipped);
        });
    if (on_record && may_be_convicted(partition, offset)) continue;
    trace_->wrong("only the guilty", named(partition, offset) + " is left out of its slice");
  }
}

/// C5: whatever was written once is only ever written again under the same name, and holds what its
/// record says.
void Checkers::wrote(const ipc::Command& slice, const Offsets& excluded) {
  const auto row = disk_->slices.find(slice.slice_id);
  const bool same_content =
      row == disk_->slices.end() || row->second.excluded == state::encode_offsets(excluded);
  if ((slice.flags & ipc::kProbe) != 0 || !same_content) {
    trace_->wrong("stable slices", "orders-" + std::to_string(slice.partition) +
                                       range(slice.start, slice.end) +
                                       " was written as something else");
  }
  // It was given out before the host went back (F5), and may still be on its way.
  const auto ended = names_ended_.find(slice.partition);
  const bool has_ended = ended != names_ended_.end() && slice.slice_id < ended->second.ids_below &&
                         slice.end > ended->second.from;
  if (has_ended) return;
  auto& names = names_[{slice.partition, of_topic_[slice.slice_id]}];
  const auto same = names.find(slice.start);
  if (same != names.end() && same->second == slice.end) return;
  const auto after = names.lower_bound(slice.start);
  const bool meets_next = after != names.end() && after->first < slice.end;
  const bool meets_last = after != names.begin() && std::prev(after)->second > slice.start;
  const bool excused = cut_by_expiry_.contains({slice.partition, slice.start});
  if ((meets_next || meets_last) && !excused) {
    trace_->wrong("stable slices", "orders-" + std::to_string(slice.partition) +
                                       range(slice.start, slice.end) +
                                       " was written beside what holds the same records");
  }
  names[slice.start] = slice.end;
}

void Checkers::answered(std::uint64_t incarnation, std::uint64_t slice_id, std::uint32_t fence) {
  held_[incarnation].erase({slice_id, fence});
}

void Checkers::process_gone(std::uint64_t incarnation) {
  held_.erase(incarnation);
  gone_.insert(incarnation);
}

/// A process may only touch what it holds: a zombie would.
void Checkers::put(std::uint64_t incarnation, std::int32_t partition) {
  if (any_worker()) return;  // two may have slices of one partition
  for (const auto& [other, flights] : held_) {
    if (other == incarnation) continue;
    for (const auto& [key, held] : flights) {
      if (held.partition != partition) continue;
      trace_->wrong("one owner", "incarnation " + std::to_string(incarnation) +
                                     " puts a record of orders-" + std::to_string(partition) +
                                     ", which incarnation " + std::to_string(other) + " holds");
    }
  }
}

/// Order: what is delivered for the first time has nothing undelivered before it.
void Checkers::delivered(std::int32_t partition, std::int64_t offset, std::uint32_t writing) {
  Log& log = this->log(partition);
  ++deliveries_;
  // Read before the log was cut off: it is no record of this log any more.
  if (!broker_->exists(partition, offset) || broker_->writing(partition, offset) != writing) return;
  const auto index = static_cast<std::size_t>(offset);
  if (index >= log.times.size()) log.times.resize(index + 1, 0);
  if (log.times[index] < 255) ++log.times[index];
  if (log.times[index] > 1) {
    ++duplicates_;
    return;
  }
  if (any_worker() || log.cut_at) return;  // no order is promised (A4)
  while (log.first_missing < offset) {
    if (!was_delivered(partition, log.first_missing) && !excused(partition, log.first_missing)) {
      trace_->wrong("order", named(partition, offset) + " was delivered before " +
                                 named(partition, log.first_missing));
      return;
    }
    ++log.first_missing;
  }
}

/// A record that was set aside before its slice was cut off, and again with what is left of that
/// slice: the newest row counts (R5).
bool Checkers::superseded(const state::SliceRow& row) const {
  const bool set_aside =
      row.state == state::SliceState::DeadLettered || row.state == state::SliceState::Skipped;
  if (!was_cut_ || !set_aside || row.end != row.start + 1) return false;
  return std::any_of(disk_->slices.begin(), disk_->slices.end(), [&](const auto& entry) {
    const state::SliceRow& other = entry.second;
    return other.id > row.id && other.partition == row.partition && other.start == row.start &&
           other.end == row.end && state::is_settled(other.state) && !disk_->is_history(other);
  });
}

/// R5, on every write: the settled rows of a partition tile [start, frontier), each offset once.
void Checkers::rows_tile(std::int32_t partition, const state::PartitionRow& row) {
  std::vector<std::pair<std::int64_t, std::int64_t>> settled;
  for (const auto& [id, slice] : disk_->slices) {
    if (slice.partition != partition || disk_->is_history(slice)) continue;
    if (state::is_settled(slice.state)) {
      // Above it stands what was tried in the place of a record that was put off (F3.2).
      if (slice.start >= row.frontier || superseded(slice)) continue;
      std::int64_t from = slice.start;
      for (const std::int64_t excluded : state::decode_offsets(slice.excluded)) {
        if (excluded > from) settled.emplace_back(from, excluded);
        from = excluded + 1;
      }
      if (slice.end > from) settled.emplace_back(from, slice.end);
    } else if (slice.start < row.frontier && slice.state != state::SliceState::Isolating) {
      trace_->wrong("settled once", "slice " + std::to_string(id) + " is open at " +
                                        range(slice.start, slice.end) + ", below the frontier " +
                                        std::to_string(row.frontier));
    }
  }
  std::sort(settled.begin(), settled.end());
  std::int64_t reached = row.start_offset;
  for (const auto& [start, end] : settled) {
    if (start != reached) {
      trace_->wrong("settled once", "orders-" + std::to_string(partition) + ": settled up to " +
                                        std::to_string(reached) + ", then " + range(start, end));
      return;
    }
    reached = end;
  }
  if (reached != row.frontier) {
    trace_->wrong("settled once", "orders-" + std::to_string(partition) + ": rows reach " +
                                      std::to_string(reached) + ", the frontier is " +
                                      std::to_string(row.frontier));
  }
}

void Checkers::log_cut(std::int32_t partition, std::int64_t end) {
  Log& log = this->log(partition);
  if (log.times.size() > static_cast<std::size_t>(end)) {
    log.times.resize(static_cast<std::size_t>(end));
  }
  log.cut_at = std::min(end, log.cut_at.value_or(end));
  log.cut_since_verdict = true;
  ++log.cuts;
  end_names(partition, end);
  was_cut_ = true;
}

/// The host has found out that the log was cut off, or is another one (F5): from its row on,
/// everything counts again.
void Checkers::go_back(Log& log, const state::PartitionRow& row) {
  const bool other_topic = log.incarnation != row.topic_incarnation;
  const bool far_enough = other_topic || (log.cut_at && row.frontier <= *log.cut_at);
  if (far_enough && !log.cut_since_verdict) log.cut_at.reset();
  if (!other_topic) --log.cuts;
  log.incarnation = row.topic_incarnation;
  log.frontier = row.frontier;
  log.proved = log.first_missing = row.start_offset;
  log.committed = -1;
  log.gaps_from = disk_->gaps.size();
  log.expired.clear();
  log.unproved_below = 0;
}

/// D1, R2: a durable frontier only moves forward, and only over what is delivered or on record.
void Checkers::stored(const state::ChangeSet& set) {
  for (const auto& row : set.partitions) {
    Log& log = this->log(row.partition);
    const bool anew = row.reset || row.topic_incarnation != log.incarnation;
    // One partition's log is enough to take the topic for another one.
    const bool may_go_back = log.cuts > 0 || (was_cut_ && row.topic_incarnation != log.incarnation);
    if (anew && may_go_back) {
      go_back(log, row);
    } else if (anew) {
      trace_->wrong("frontier", "orders-" + std::to_string(row.partition) + " begins anew at " +
                                    std::to_string(row.frontier) + ", its log was not cut off");
    }
    if (row.frontier < log.frontier) {
      trace_->wrong("frontier", "orders-" + std::to_string(row.partition) + " goes back from " +
                                    std::to_string(log.frontier) + " to " +
                                    std::to_string(row.frontier));
    }
    log.frontier = row.frontier;
    log.proved = std::max(log.proved, row.start_offset);
    if (log.cut_at) log.proved = std::max(log.proved, row.frontier);
    for (; log.proved < row.frontier; ++log.proved) {
      if (was_delivered(row.partition, log.proved) || excused(row.partition, log.proved)) continue;
      trace_->wrong("nothing lost", named(row.partition, log.proved) +
                                        " is below the durable frontier " +
                                        std::to_string(row.frontier) + " and was not delivered");
    }
    rows_tile(row.partition, row);
  }
  for (const auto& row : set.slices_upserted) {
    const bool convicted =
        row.cause == state::Cause::Poison || row.cause == state::Cause::DeadLettered;
    if (convicted && !may_be_convicted(row.partition, row.start)) {
      trace_->wrong("only the guilty", named(row.partition, row.start) + " was convicted");
    }
    if (convicted && row.end != row.start + 1) {
      trace_->wrong("only the guilty", "orders-" + std::to_string(row.partition) +
                                           range(row.start, row.end) + " is more than a record");
    }
    if (row.state != state::SliceState::Parked) continue;
    const bool hung = frozen_.contains(row.worker.incarnation);
    if (!hung && !bad_in(row.partition, row.start, row.end)) {
      trace_->wrong("only the guilty", "orders-" + std::to_string(row.partition) +
                                           range(row.start, row.end) +
                                           " was parked and has no bad record");
    }
  }
}

void Checkers::committed(std::int32_t partition, std::int64_t offset) {
  Log& log = this->log(partition);
  if (offset < log.committed) {
    trace_->wrong("frontier", "the group goes back from " + named(partition, log.committed) +
                                  " to " + std::to_string(offset));
  }
  log.committed = offset;
  if (offset > log.frontier) {
    trace_->wrong("group commit", named(partition, offset) + " was committed, durable is " +
                                      std::to_string(log.frontier));
  }
}

bool Checkers::bad_in(std::int32_t partition, std::int64_t start, std::int64_t end) const {
  const auto first = scenario_->bad.lower_bound({partition, start});
  return first != scenario_->bad.end() && first->first.partition == partition &&
         first->first.offset < end;
}

void Checkers::halted(const slicer::Halted& halted, std::int64_t start, std::int64_t end,
                      std::uint64_t incarnation) {
  halted_at_[halted.tp.partition] = {start, end};
  // Deaths from outside may halt a slice that was in hand each time (F2): that is not a charge.
  if (halted.error.stage == "WORKER" || bad_in(halted.tp.partition, start, end)) return;
  if (halted.error.stage == "HANG" && frozen_.contains(incarnation)) return;
  trace_->wrong("only the guilty", "orders-" + std::to_string(halted.tp.partition) + " halted at " +
                                       range(start, end) + ": " + halted.error.message);
}

bool Checkers::halted_at_bad(std::int32_t partition) const {
  const auto at = halted_at_.find(partition);
  return at != halted_at_.end() && bad_in(partition, at->second.first, at->second.second);
}

/// A1, A2: a partition moves when its slot died, goes or is new; else once per rebalance delay.
void Checkers::noticed(const slicer::Notice& notice) {
  if (notice.kind == slicer::Notice::Kind::Expired) {
    log(notice.tp.partition).expired.emplace_back(notice.start, notice.end);
    cut_by_expiry_.emplace(notice.tp.partition, notice.end);
    const bool jumps = scenario_->slicer.expired == slicer::ExpiredPolicy::Latest;
    if (!jumps && notice.start >= broker_->at(notice.tp.partition).low) {
      trace_->wrong("nothing lost", named(notice.tp.partition, notice.start) +
                                        " was skipped as expired and is in the log");
    }
  }
  if (notice.kind == slicer::Notice::Kind::Truncated ||
      notice.kind == slicer::Notice::Kind::Recreated) {
    log(notice.tp.partition).cut_since_verdict = false;
  }
  // What is on record as truncated comes again, under names of its own (F5, C5).
  if (notice.kind == slicer::Notice::Kind::Truncated) {
    names_ended_[notice.tp.partition] = {notice.start, last_id_ + 1};
    end_names(notice.tp.partition, notice.start);
  }
  if (notice.kind == slicer::Notice::Kind::Unproved) {
    log(notice.tp.partition).unproved_below = notice.start;
  }
  if (notice.kind != slicer::Notice::Kind::Moved) return;
  if (leaving_.contains(notice.slot) || filling_.contains(notice.other_slot)) return;
  if (linear() && of_a_trip(notice)) return;
  const std::int64_t delay_ms = scenario_->slicer.rebalance_delay.count();
  const std::int64_t allowed = (trace_->now_ms() - balanced_since_ms_) / delay_ms;
  if (++balance_moves_ > allowed) {
    trace_->wrong("fewest moves", "orders-" + std::to_string(notice.tp.partition) + " moved from " +
                                      std::to_string(notice.slot) + " to " +
                                      std::to_string(notice.other_slot) + " without a reason");
  }
}

/// Those of what lies above `end` hold no record of this log any more.
void Checkers::end_names(std::int32_t partition, std::int64_t end) {
  for (auto& [of, names] : names_) {
    if (of.first != partition) continue;
    std::erase_if(names, [end](const auto& name) { return name.second > end; });
  }
}

void Checkers::hashing_begins(std::uint32_t partitions, std::uint32_t workers) {
  partitions_first_ = partitions;
  partitions_anew_ = 0;
  begun_.clear();
  counted_.clear();
  workers_first_ = workers;
}

void Checkers::begins_anew(std::int32_t partition, std::uint32_t partitions) {
  const std::uint32_t before = ancestor_of(partition);
  if (begun_.empty() || begun_.contains(partition)) {  // once more: of the next topic
    begun_.clear();
    partitions_anew_ = partitions;
  }
  begun_.insert(partition);
  counted_[partition] = partitions_anew_;
  if (ancestor_of(partition) != before) rejoining_.insert(partition);
}

void Checkers::appeared(std::int32_t partition, const slicer::Snapshot& known) {
  const bool begins_next =
      std::any_of(known.partitions.begin(), known.partitions.end(), [this](const auto& status) {
        return status.wait == slicer::WaitReason::Recreated &&
               (begun_.empty() || begun_.contains(status.tp.partition));
      });
  if (begins_next) {
    begun_.clear();
    partitions_anew_ = static_cast<std::uint32_t>(partition) + 1;
  }
  if (partitions_anew_ == 0) return;
  begun_.insert(partition);
  counted_[partition] = partitions_anew_;
}

std::uint32_t Checkers::ancestor_of(std::int32_t partition) const {
  const auto counted = counted_.find(partition);
  return static_cast<std::uint32_t>(partition) %
         (counted != counted_.end() ? counted->second : partitions_first_);
}

slicer::Slot Checkers::home(std::int32_t partition, std::uint32_t slots) const {
  return slicer::linear_worker(ancestor_of(partition), workers_first_, slots);
}

void Checkers::slots_change(std::uint32_t before, std::uint32_t after) {
  slots_before_ = before;
  slots_ = after;
  for (std::int32_t partition = 0; partition < broker_->count(); ++partition) {
    if (home(partition, before) != home(partition, after)) rehomed_.insert(partition);
  }
}

/// A3: whoever moves without a loss goes home; families do so as a whole, which is one move.
bool Checkers::of_a_trip(const slicer::Notice& moved) {
  const std::int32_t partition = moved.tp.partition;
  if (rejoining_.erase(partition) > 0) return true;
  // One that had begun before the slots changed ends where its home was.
  const bool was_home =
      rehomed_.contains(partition) && moved.other_slot == home(partition, slots_before_);
  if (moved.other_slot != home(partition, slots_) && !was_home) {
    trace_->wrong("fewest moves", "orders-" + std::to_string(partition) + " moved to " +
                                      std::to_string(moved.other_slot) + ", which is not its home");
  }
  if (!was_home && rehomed_.erase(partition) > 0) return true;
  auto& trip = on_trip_[ancestor_of(partition)];
  const bool goes_on = !trip.empty() && !trip.contains(partition);
  if (!goes_on) trip.clear();
  trip.insert(partition);
  return goes_on;
}

void Checkers::violation(const slicer::Violation& violation, bool honest) {
  if (!honest) return;
  trace_->wrong("honest workers live", "slot " + std::to_string(violation.slot) +
                                           " is killed for " +
                                           std::string{slicer::rule_name(violation.rule)});
}

void Checkers::host_restarted() {
  leaving_.clear();
  arriving_.clear();
  filling_.clear();
  balanced_since_ms_ = trace_->now_ms();
  balance_moves_ = 0;
  rehomed_.clear();
  rejoining_.clear();
  on_trip_.clear();
  for (auto& [partition, log] : logs_) log.expired.clear();
}

void Checkers::everything_delivered(std::int32_t partition, std::int64_t until) {
  // A once execution that was over before its log was cut off has nothing to do with what came
  // then.
  const bool once = scenario_->slicer.mode == slicer::Mode::Once;
  if (once && log(partition).cut_at) until = std::min(until, *log(partition).cut_at);
  const auto row = disk_->partitions.find(partition);
  const std::int64_t start = row != disk_->partitions.end() ? row->second.start_offset : 0;
  for (std::int64_t offset = start; offset < until; ++offset) {
    if (was_delivered(partition, offset) || excused(partition, offset)) continue;
    trace_->wrong("nothing lost", named(partition, offset) + " was never delivered");
    return;
  }
}

void Checkers::exactly_once() {
  if (duplicates_ > 0) {
    trace_->wrong("exactly once",
                  std::to_string(duplicates_) + " duplicates in a world without troubles");
  }
}

}  // namespace sluice::sim
