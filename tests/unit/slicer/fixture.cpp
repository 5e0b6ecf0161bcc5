#include "unit/slicer/fixture.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

namespace sluice::slicer {

void StoredRows::apply(const state::ChangeSet& set) {
  for (const auto& row : set.partitions) partitions[{row.topic, row.partition}] = row;
  for (const auto& row : set.slices_upserted) slices[row.id] = row;
  next_slice_id = std::max(next_slice_id, set.next_slice_id);
  for (const auto id : set.slices_deleted) slices.erase(id);
  gaps.insert(gaps.end(), set.gaps.begin(), set.gaps.end());
  for (const auto& row : set.first_counts) {
    first_counts.emplace(std::pair{row.topic, row.topic_incarnation}, row.count);
  }
}

std::uint32_t StoredRows::first_count(const std::string& topic, std::uint32_t incarnation) const {
  const auto found = first_counts.find({topic, incarnation});
  return found == first_counts.end() ? 0 : found->second;
}

SlicerFixture::SlicerFixture(SlicerOptions chosen)
    : options{chosen}, slicer_{std::make_unique<Slicer>(chosen, Random{1})} {
  slicer_->add_topic(0, "orders", 1);
}

void SlicerFixture::found(std::int32_t count, std::int64_t end) {
  for (std::int32_t partition = 0; partition < count; ++partition) {
    FoundPartition found;
    found.tp = {0, partition};
    found.end = end;
    if (options.mode == Mode::Once) found.once_end = end;
    slicer_->partition_found(std::move(found), now);
  }
  slicer_->discovery_done(now);
  step();
}

void SlicerFixture::found_one(FoundPartition partition) {
  slicer_->partition_found(std::move(partition), now);
  step();
}

void SlicerFixture::ready(Slot slot) {
  incarnations_[slot] = next_incarnation_++;
  slicer_->worker_ready(slot, {incarnations_[slot], static_cast<std::int32_t>(1000 + slot)}, now);
  step();
}

void SlicerFixture::all_ready() {
  for (Slot slot = 0; slot < options.slots; ++slot) ready(slot);
}

void SlicerFixture::step() {
  slicer_->step(now, actions);
  for (const SlotCommands& batch : actions.commands) {
    REQUIRE(batch.incarnation == incarnations_.at(batch.slot));
    for (const ipc::Command& command : batch.commands) {
      if (command.kind == static_cast<std::uint16_t>(ipc::CommandKind::Slice)) {
        ring[batch.slot].push_back(command);
      } else if (command.kind == static_cast<std::uint16_t>(ipc::CommandKind::Topic)) {
        told_topics.push_back(command);
      } else {
        revokes.push_back(command);
      }
    }
  }
  const auto append = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  append(violations, actions.violations);
  append(halted, actions.halted);
  append(notices, actions.notices);
  append(fresh_workers, actions.fresh_workers);
  append(dead_letters, actions.dead_letters);
  for (const RunTerms& of : actions.terms) terms[of.slice_id] = of.terms;
  append(asked_ends, actions.sample_ends);
  append(asked_lows, actions.sample_lows);
  if (actions.job_failure) job_failures.push_back(*actions.job_failure);
  if (actions.ended) outcomes.push_back(*actions.ended);
  if (persist_at_once && slicer_->has_changes()) persist();
}

void SlicerFixture::persist() {
  const state::ChangeSet set = slicer_->take_changes(now);
  stored.apply(set);
  for (const FrontierCommit& commit : slicer_->persisted(set.token, now)) {
    commits.push_back(commit);
  }
  step();
}

void SlicerFixture::advance(std::int64_t milliseconds) {
  now += Milliseconds{milliseconds};
  step();
}

ipc::Report SlicerFixture::answer(Slot slot, std::size_t position, ipc::ReportKind kind) const {
  const ipc::Command& command = in_ring(slot, position);
  ipc::Report report;
  report.slice_id = command.slice_id;
  report.fence = command.fence;
  report.kind = static_cast<std::uint16_t>(kind);
  report.topic = command.topic;
  report.partition = command.partition;
  const bool is_over = kind == ipc::ReportKind::Done || kind == ipc::ReportKind::Survived;
  report.next_offset = is_over ? command.end : command.start;
  const bool question = (command.flags & ipc::kCompare) != 0;
  if (kind == ipc::ReportKind::Done && content != 0) {
    std::int64_t last = command.end - 1;
    while (last >= command.start && (last < low || holes.contains(last))) --last;
    if (last >= command.start) {
      report.last_offset = last;
      report.last_timestamp = 1'000 + last;
      report.last_digest = content;
    }
  }
  if (is_over && !question) {
    report.records = static_cast<std::uint32_t>(command.end - command.start);
    if ((command.flags & ipc::kExclude) != 0) {
      report.records -= static_cast<std::uint32_t>(terms.at(command.slice_id).excluded.size());
    }
    report.out = report.records;
    report.bytes = std::uint64_t{report.records} * 100;
  }
  return report;
}

const ipc::Command& SlicerFixture::in_ring(Slot slot, std::size_t position) const {
  const auto found = ring.find(slot);
  REQUIRE(found != ring.end());
  REQUIRE(position < found->second.size());
  return found->second[position];
}

std::size_t SlicerFixture::in_flight(Slot slot) const {
  const auto found = ring.find(slot);
  return found == ring.end() ? 0 : found->second.size();
}

void SlicerFixture::send(Slot slot, ipc::Report report, std::string_view text) {
  std::erase_if(ring[slot], [&](const ipc::Command& command) {
    return command.slice_id == report.slice_id && command.fence == report.fence;
  });
  slicer_->report(slot, incarnations_.at(slot), report, text, now);
  step();
}

void SlicerFixture::complete(Slot slot) {
  const bool probe = (in_ring(slot).flags & ipc::kProbe) != 0;
  send(slot, answer(slot, 0, probe ? ipc::ReportKind::Survived : ipc::ReportKind::Done));
}

void SlicerFixture::complete_all() {
  bool any = true;
  while (any) {
    any = false;
    for (auto& [slot, commands] : ring) {
      while (!commands.empty()) {
        complete(slot);
        any = true;
      }
    }
  }
}

void SlicerFixture::release(Slot slot, std::int64_t next_offset) {
  ipc::Report report = answer(slot, 0, ipc::ReportKind::Released);
  report.records = static_cast<std::uint32_t>(next_offset - report.next_offset);
  report.next_offset = next_offset;
  send(slot, report);
}

void SlicerFixture::return_all(Slot slot) {
  for (const ipc::Command& command : std::deque<ipc::Command>{ring[slot]}) {
    const auto& held = ring[slot];
    const auto at = std::find_if(held.begin(), held.end(), [&](const ipc::Command& one) {
      return one.slice_id == command.slice_id && one.fence == command.fence;
    });
    if (at == held.end()) continue;
    const auto position = static_cast<std::size_t>(at - held.begin());
    send(slot, answer(slot, position, ipc::ReportKind::Released));
  }
}

void SlicerFixture::return_lane_of(Slot slot, const ipc::Command& failed) {
  for (std::size_t i = 0; i < in_flight(slot);) {
    const ipc::Command& command = in_ring(slot, i);
    if (command.partition != failed.partition || command.fence > failed.fence) {
      ++i;
    } else {
      send(slot, answer(slot, i, ipc::ReportKind::Released));
    }
  }
}

void SlicerFixture::fail(Slot slot, ipc::FailureClass failure) {
  ipc::Report report = answer(slot, 0, ipc::ReportKind::Failed);
  report.failure = static_cast<std::uint16_t>(failure);
  send(slot, report, std::string_view{"file\0put\0disk full", 18});
}

void SlicerFixture::expire(Slot slot) {
  send(slot, answer(slot, 0, ipc::ReportKind::Expired));
}

void SlicerFixture::crash(Slot slot, std::uint64_t slice_id, ipc::Phase phase) {
  Accusation accusation;
  accusation.cause = LossCause::Crash;
  accusation.blame = Blame::Record;
  accusation.slice_id = slice_id;
  accusation.phase = phase;
  accusation.code = 11;
  accusation.text = "SIGSEGV in put";
  lose(slot, accusation);
}

void SlicerFixture::lose(Slot slot, Accusation accusation) {
  ring[slot].clear();
  slicer_->worker_lost(slot, incarnations_.at(slot), accusation, now);
  step();
}

void SlicerFixture::produce(std::int32_t partition, std::int64_t end) {
  seen(owner(partition), partition, end);
}

void SlicerFixture::seen(Slot slot, std::int32_t partition, std::int64_t end) {
  ipc::Report report;
  report.kind = static_cast<std::uint16_t>(ipc::ReportKind::Seen);
  report.partition = partition;
  report.next_offset = end;
  slicer_->report(slot, incarnations_.at(slot), report, {}, now);
  step();
}

void SlicerFixture::sampled(std::int32_t partition, std::int64_t end, LeaderChange leader) {
  slicer_->end_observed({0, partition}, end, leader, now);
  step();
}

PartitionStatus SlicerFixture::status(std::int32_t partition) const {
  const Snapshot snapshot = slicer_->snapshot(now);
  const auto found =
      std::find_if(snapshot.partitions.begin(), snapshot.partitions.end(),
                   [&](const auto& entry) { return entry.tp.partition == partition; });
  REQUIRE(found != snapshot.partitions.end());
  return *found;
}

std::vector<state::SliceRow> SlicerFixture::rows_of(std::int32_t partition) const {
  std::vector<state::SliceRow> rows;
  for (const auto& [id, row] : stored.slices) {
    if (row.partition == partition) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  return rows;
}

bool SlicerFixture::noticed(Notice::Kind kind) const {
  return std::any_of(notices.begin(), notices.end(),
                     [&](const Notice& notice) { return notice.kind == kind; });
}

bool SlicerFixture::asks_for(Slot slot, std::int64_t offset) const {
  if (in_flight(slot) == 0) return false;
  const ipc::Command& command = in_ring(slot);
  return (command.flags & ipc::kCompare) != 0 && command.start == offset &&
         command.end == offset + 1;
}

void SlicerFixture::restart_host(std::int64_t end, Doubt doubt) {
  SlicerOptions again = options;
  again.next_slice_id = stored.next_slice_id;
  again.workers_first = stored.first_count({}, 0);
  slicer_ = std::make_unique<Slicer>(again, Random{2});
  std::uint32_t topic_incarnation = 1;
  for (const auto& [key, row] : stored.partitions) {
    topic_incarnation = std::max(topic_incarnation, row.topic_incarnation);
  }
  slicer_->add_topic(0, "orders", topic_incarnation, 0,
                     stored.first_count("orders", topic_incarnation));
  ring.clear();
  incarnations_.clear();
  notices.clear();
  for (const auto& [key, row] : stored.partitions) {
    FoundPartition found;
    found.tp = {0, row.partition};
    found.row = row;
    found.doubt = doubt;
    found.end = end;
    for (const auto& slice : rows_of(row.partition)) {
      if (!state::is_settled(slice.state) || slice.end > row.frontier) {
        found.slices.push_back(slice);
      }
    }
    slicer_->partition_found(std::move(found), now);
  }
  slicer_->discovery_done(now);
  step();
}

}  // namespace sluice::slicer
