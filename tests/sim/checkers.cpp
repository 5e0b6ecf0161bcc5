#include "sim/checkers.hpp"

#include <algorithm>

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
bool Checkers::set_aside(std::int32_t partition, std::int64_t offset) const {
  return std::any_of(disk_->gaps.begin(), disk_->gaps.end(), [&](const state::GapRow& gap) {
    return gap.partition == partition && offset >= gap.start && offset < gap.end;
  });
}

bool Checkers::excused(std::int32_t partition, std::int64_t offset) {
  const auto row = disk_->partitions.find(partition);
  if (row != disk_->partitions.end() && offset < row->second.start_offset) return true;
  if (!broker_->exists(partition, offset)) return true;
  for (const auto& [start, end] : log(partition).expired) {
    if (offset >= start && offset < end) return true;
  }
  return set_aside(partition, offset);
}

/// C1: credits. S2: positions are durable before the first slice. A worker's flights are unanswered
/// slices; no other living process may hold one of the same partition.
void Checkers::published(std::uint64_t incarnation, const ipc::Command& command) {
  if (!disk_->partitions.contains(command.partition)) {
    trace_->wrong("start is durable", named(command.partition, command.start) +
                                          " was published before its partition's row was stored");
  }
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
      trace_->wrong("one owner", named(command.partition, command.start) + " is published to " +
                                     std::to_string(incarnation) + " while " +
                                     std::to_string(other) + " still holds slice " +
                                     std::to_string(key.first));
    }
  }
  if (gone_.contains(incarnation)) return;  // nobody has told the host yet
  mine[{command.slice_id, command.fence}] = {command.partition, command.end - command.start};
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
void Checkers::delivered(std::int32_t partition, std::int64_t offset) {
  Log& log = this->log(partition);
  ++deliveries_;
  const auto index = static_cast<std::size_t>(offset);
  if (index >= log.times.size()) log.times.resize(index + 1, 0);
  if (log.times[index] < 255) ++log.times[index];
  if (log.times[index] > 1) {
    ++duplicates_;
    return;
  }
  while (log.first_missing < offset) {
    if (!was_delivered(partition, log.first_missing) && !excused(partition, log.first_missing)) {
      trace_->wrong("order", named(partition, offset) + " was delivered before " +
                                 named(partition, log.first_missing));
      return;
    }
    ++log.first_missing;
  }
}

/// R5, on every write: the settled rows of a partition tile [start, frontier), each offset once.
void Checkers::rows_tile(std::int32_t partition, const state::PartitionRow& row) {
  std::vector<std::pair<std::int64_t, std::int64_t>> settled;
  for (const auto& [id, slice] : disk_->slices) {
    if (slice.partition != partition) continue;
    if (state::is_settled(slice.state)) {
      settled.emplace_back(slice.start, slice.end);
    } else if (slice.start < row.frontier) {
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

/// D1, R2: a durable frontier only moves forward, and only over what is delivered or on record.
void Checkers::stored(const state::ChangeSet& set) {
  for (const auto& row : set.partitions) {
    Log& log = this->log(row.partition);
    if (row.frontier < log.frontier) {
      trace_->wrong("frontier", "orders-" + std::to_string(row.partition) + " goes back from " +
                                    std::to_string(log.frontier) + " to " +
                                    std::to_string(row.frontier));
    }
    log.frontier = row.frontier;
    log.proved = std::max(log.proved, row.start_offset);
    for (; log.proved < row.frontier; ++log.proved) {
      if (was_delivered(row.partition, log.proved) || excused(row.partition, log.proved)) continue;
      trace_->wrong("nothing lost", named(row.partition, log.proved) +
                                        " is below the durable frontier " +
                                        std::to_string(row.frontier) + " and was not delivered");
    }
    rows_tile(row.partition, row);
  }
  for (const auto& row : set.slices_upserted) {
    if (row.state != state::SliceState::Parked) continue;
    if (!bad_in(row.partition, row.start, row.end)) {
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

void Checkers::halted(const slicer::Halted& halted, std::int64_t start, std::int64_t end) {
  // Deaths from outside may halt a slice that was in hand each time (F2): that is not a charge.
  if (halted.error.stage == "WORKER" || bad_in(halted.tp.partition, start, end)) return;
  trace_->wrong("only the guilty", "orders-" + std::to_string(halted.tp.partition) + " halted at " +
                                       range(start, end) + ": " + halted.error.message);
}

/// A1, A2: a partition moves when its slot died, goes or is new; else once per rebalance delay.
void Checkers::noticed(const slicer::Notice& notice) {
  if (notice.kind == slicer::Notice::Kind::Expired) {
    log(notice.tp.partition).expired.emplace_back(notice.start, notice.end);
    if (notice.start >= broker_->at(notice.tp.partition).low) {
      trace_->wrong("nothing lost", named(notice.tp.partition, notice.start) +
                                        " was skipped as expired and is in the log");
    }
  }
  if (notice.kind != slicer::Notice::Kind::Moved) return;
  if (leaving_.contains(notice.slot) || filling_.contains(notice.other_slot)) return;
  const std::int64_t delay_ms = scenario_->slicer.rebalance_delay.count();
  const std::int64_t allowed = (trace_->now_ms() - balanced_since_ms_) / delay_ms;
  if (++balance_moves_ > allowed) {
    trace_->wrong("fewest moves", "orders-" + std::to_string(notice.tp.partition) + " moved from " +
                                      std::to_string(notice.slot) + " to " +
                                      std::to_string(notice.other_slot) + " without a reason");
  }
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
  for (auto& [partition, log] : logs_) log.expired.clear();
}

void Checkers::everything_delivered(std::int32_t partition, std::int64_t until) {
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
