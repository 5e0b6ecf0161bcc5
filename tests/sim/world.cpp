#include "sim/world.hpp"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace sluice::sim {
namespace {

constexpr std::int64_t kCalmLimit = 2'000 * kSecond;  // virtual: slow worlds take their time
constexpr std::int64_t kStopLimit = 30 * kSecond;

}  // namespace

World::World(const Scenario& scenario, Lines lines)
    : scenario_{scenario},
      trace_{timeline_, lines},
      random_{scenario.seed ^ 0x5EED'5EED'5EED'5EEDULL},
      broker_{scenario_},
      checkers_{scenario_, broker_, disk_, trace_},
      slots_{scenario.slicer.slots},
      graceful_left_{scenario.graceful_restarts} {
  for (std::int32_t i = 0; i < scenario_.partitions; ++i) {
    broker_.add_partition(scenario_.backlog);
  }
}

void World::after(std::int64_t delay_us, std::uint64_t incarnation, std::function<void()> happen) {
  static_cast<void>(incarnation);  // a process object lives as long as the world
  timeline_.after(delay_us, std::move(happen));
}

void World::after(std::int64_t delay_us, const SimHost& host, std::function<void()> happen) {
  timeline_.after(delay_us, [&host, happen = std::move(happen)] {
    if (!host.dead()) happen();
  });
}

WorkerProcess& World::spawn(std::uint32_t slot, std::uint64_t incarnation) {
  processes_.push_back(std::make_unique<WorkerProcess>(*this, slot, incarnation, random_.next()));
  WorkerProcess& process = *processes_.back();
  after(5 * kMillisecond + chance(15 * kMillisecond), incarnation, [&process] {
    if (!process.gone()) process.come_up();
  });
  return process;
}

void World::doorbell(WorkerProcess& process) {
  SimHost& now_running = host();
  after(chance(troubles().doorbell_us_max), now_running,
        [&now_running, &process] { now_running.doorbell(process); });
}

void World::deliver(const RecordAt& record, std::uint32_t writing) {
  checkers_.delivered(record.partition, record.offset, writing);
}

bool World::first_time(const RecordAt& record, std::uint32_t times) {
  return ++seen_bad_[record] <= times;
}

void World::store(const state::ChangeSet& set) {
  disk_.apply(set);
  checkers_.stored(set);
}

void World::process_died(WorkerProcess& process) {
  say("worker", -1, process.pulse().slice_id, [&] {
    const auto& status = *process.exit_status();
    return std::to_string(process.slot()) + "." + std::to_string(process.incarnation()) +
           (status.kind == supervisor::ExitStatus::Kind::Exited ? " exits " : " dies of signal ") +
           std::to_string(status.code);
  });
  checkers_.process_gone(process.incarnation());
  SimHost& now_running = host();
  if (process.crash_note()) {
    after(kMillisecond, now_running,
          [&now_running, &process] { now_running.crash_noted(process); });
  }
  after(kMillisecond + chance(troubles().reap_us_max), now_running,
        [&now_running, &process] { now_running.reaped(process); });
}

/// Bursts, so that partitions are sometimes at the tail and sometimes behind.
void World::plan_production() {
  std::int64_t left = scenario_.produced;
  while (left > 0) {
    const std::int64_t burst = std::min(left, 1 + chance(30));
    left -= burst;
    after(chance(scenario_.troubled_s * kSecond), 0, [this, burst] {
      const auto partition = static_cast<std::int32_t>(chance(broker_.count() - 1));
      produce(partition, burst);
    });
  }
  for (std::int32_t i = 0; i < scenario_.partitions_later; ++i) {
    after(chance(scenario_.troubled_s * kSecond), 0, [this] {
      broker_.add_partition(chance(40));
      const std::int32_t partition = broker_.count() - 1;
      after(chance(kSecond), 0, [this, partition] {
        if (!host().dead()) host().partition_appeared(partition);
      });
    });
  }
}

/// A log that lost its end gets nothing new before a host has looked, and what it made of that is
/// on its disk: a slice that was read across the cut, old records and new ones, cannot be told from
/// any other by what it read last, and a change of the leader alone is no reason to doubt it.
void World::produce(std::int32_t partition, std::int64_t records) {
  if (broker_.at(partition).shrunk_unseen || broker_.absent()) {
    if (!calm_) after(kSecond / 2, 0, [this, partition, records] { produce(partition, records); });
    return;
  }
  broker_.produce(partition, records);
  for (auto& process : processes_) {
    WorkerProcess* reader = process.get();
    after(chance(5 * kMillisecond), 0, [reader, partition] { reader->grew(partition); });
  }
}

void World::shrink_logs() {
  const Troubles& t = scenario_.troubles;
  if (recreated_) return;
  if (t.truncate_one_in_s > 0 && one_in(t.truncate_one_in_s)) {
    const auto partition = static_cast<std::int32_t>(chance(broker_.count() - 1));
    const BrokerPartition& log = broker_.at(partition);
    broker_.truncate(partition, std::max(log.low, log.end - chance(40)));
    checkers_.log_cut(partition, log.end);
    say("broker", partition, 0, [&] { return "cut off at " + std::to_string(log.end); });
  }
  if (t.recreate_one_in_s == 0 || !one_in(t.recreate_one_in_s)) return;
  recreated_ = true;
  std::vector<std::int64_t> ends;
  for (std::int32_t i = 0; i < broker_.count(); ++i) ends.push_back(broker_.at(i).end);
  broker_.delete_topic();
  say("broker", -1, 0, [] { return "topic deleted"; });
  for (std::int32_t i = 0; i < broker_.count(); ++i) checkers_.log_cut(i, 0);
  after(3 * kSecond + chance(3 * kSecond), 0, [this, ends] {
    broker_.create_topic();
    say("broker", -1, 0, [] { return "topic created again"; });
    for (std::size_t i = 0; i < ends.size(); ++i) {
      produce(static_cast<std::int32_t>(i), chance(2 * ends[i]));
    }
  });
}

void World::every_second() {
  if (calm_) return;
  trouble_processes();
  trouble_host();
  shrink_logs();
  const Troubles& t = scenario_.troubles;
  if (t.broker_away_one_in_s > 0 && one_in(t.broker_away_one_in_s)) {
    say("broker", -1, 0, [] { return "away"; });
    broker_.set_away(true);
    after(chance(3 * kSecond), 0, [this] { broker_.set_away(false); });
  }
  if (t.expire_one_in_s > 0 && one_in(t.expire_one_in_s)) {
    const auto partition = static_cast<std::int32_t>(chance(broker_.count() - 1));
    broker_.expire(partition, chance(broker_.at(partition).end));
    say("broker", partition, 0,
        [&] { return "low is " + std::to_string(broker_.at(partition).low); });
  }
  after(kSecond, 0, [this] { every_second(); });
}

void World::trouble_processes() {
  const Troubles& t = scenario_.troubles;
  const auto strikes = [this](std::uint32_t n) { return n > 0 && one_in(n); };
  for (auto& process : processes_) {
    if (process->gone()) continue;
    WorkerProcess* victim = process.get();
    if (strikes(t.kill_one_in_s)) {
      after(chance(kSecond), 0, [victim] {
        if (!victim->gone()) victim->signal(SIGKILL);
      });
    }
    if (strikes(t.exit_one_in_s)) {
      after(chance(kSecond), 0, [victim] {
        if (!victim->gone()) victim->leave(1);
      });
    }
    if (strikes(t.freeze_one_in_s)) {
      const std::int64_t for_us = one_in(2) ? chance(3 * kSecond) : 100 * kSecond;
      after(chance(kSecond), 0, [victim, for_us] {
        if (!victim->gone()) victim->freeze(for_us);
      });
    }
    if (strikes(t.garbage_one_in_s)) {
      after(chance(kSecond), 0, [victim] { victim->send_garbage(); });
    }
  }
}

void World::trouble_host() {
  if (host().dead() || restarting_) return;
  const Troubles& t = scenario_.troubles;
  if (t.host_crash_one_in_s > 0 && one_in(t.host_crash_one_in_s)) {
    after(chance(kSecond), 0, [this] { crash_host(); });
    return;
  }
  if (t.recover_one_in_s > 0 && one_in(t.recover_one_in_s)) host().recover();
  if (t.slots_change_one_in_s > 0 && one_in(t.slots_change_one_in_s) && host().started()) {
    slots_ = static_cast<std::uint32_t>(1 + chance(4));
    host().set_slots(slots_);
  }
  if (graceful_left_ > 0 && one_in(4) && host().started() && !host().outcome()) {
    --graceful_left_;
    restarting_ = true;
    say("host", -1, 0, [] { return "stops"; });
    host().stop();
    start_when_alone();
  }
}

void World::start_host() {
  checkers_.host_restarted();
  checkers_.slots_change(slots_, slots_);
  // Who is not ready in time loses what it had, also before anybody has told of its end.
  const std::uint32_t all = slots_ + scenario_.slicer.standby;
  for (slicer::Slot slot = 0; slot < all; ++slot) checkers_.expect_moves_from(slot);
  const std::uint64_t first = hosts_.empty() ? 1 : host().next_incarnation();
  hosts_.push_back(std::make_unique<SimHost>(*this, random_.next(), first, slots_));
  say("host", -1, 0, [&] { return "starts with " + std::to_string(slots_) + " slots"; });
  restarting_ = false;
  host().start();
}

/// Workers see the end of the host and leave; the next host waits for the last of them (S8).
void World::crash_host() {
  if (host().dead() || restarting_) return;
  say("host", -1, 0, [] { return "dies"; });
  host().crash();
  restarting_ = true;
  for (auto& process : processes_) {
    WorkerProcess* orphan = process.get();
    after(chance(20 * kMillisecond), 0, [orphan] { orphan->host_is_gone(); });
  }
  start_when_alone();
}

void World::start_when_alone() {
  const bool over = host().dead() || host().stopped();
  const bool alone = std::all_of(processes_.begin(), processes_.end(),
                                 [](const auto& process) { return process->gone(); });
  if (!over || !alone) return after(10 * kMillisecond, 0, [this] { start_when_alone(); });
  if (!host().dead()) host().crash();  // it has nothing under way any more
  start_host();
}

void World::calm_down() {
  calm_ = true;
  broker_.set_away(false);
  say("world", -1, 0, [] { return "calm"; });
}

bool World::run_until_settled() {
  const std::int64_t limit_us = now_us() + kCalmLimit;
  // What was on its way when the world calmed down (a SIGKILL to a slow process) still happens.
  std::int64_t look_at_us = now_us() + 5 * kSecond;
  bool restarted = false;
  while (now_us() < limit_us && !trace_.failure()) {
    timeline_.next(std::min(limit_us, look_at_us));
    if (now_us() < look_at_us) continue;
    look_at_us = now_us() + kSecond;
    if (restarting_ || host().dead() || !host().settled()) continue;
    if (restarted) return true;
    restarted = true;  // F4: what halted is tried once more, now that nothing is in its way
    host().restart_halted();
  }
  return false;
}

void World::tell_state() {
  for (const auto& status : host().snapshot().partitions) {
    say("state", status.tp.partition, 0, [&] {
      return "frontier " + std::to_string(status.frontier) + ", end " +
             std::to_string(status.visible_end) + ", log end " +
             std::to_string(broker_.at(status.tp.partition).end) + ", slot " +
             std::to_string(status.slot) + ", in flight " + std::to_string(status.in_flight) +
             ", " + std::string{slicer::wait_reason_name(status.wait)};
    });
  }
}

void World::judge_outcome() {
  const auto& outcome = host().outcome();
  std::uint32_t halted = 0;
  for (const auto& status : host().snapshot().partitions) {
    const bool stands = status.state == slicer::PartitionState::Halted;
    if (stands) {
      ++halted;
      if (!checkers_.halted_at_bad(status.tp.partition)) {
        trace_.wrong("everything settles",
                     "orders-" + std::to_string(status.tp.partition) + " stays halted");
      }
    }
    checkers_.everything_delivered(status.tp.partition, status.frontier);
  }
  if (scenario_.slicer.mode != slicer::Mode::Once) return;
  const slicer::Outcome expected = halted > 0              ? slicer::Outcome::Failed
                                   : disk_.gaps_left() > 0 ? slicer::Outcome::CompletedWithGaps
                                                           : slicer::Outcome::Completed;
  if (outcome != expected) {
    trace_.wrong("outcome", "ended with " + std::to_string(static_cast<int>(*outcome)) +
                                " instead of " + std::to_string(static_cast<int>(expected)));
  }
}

/// A3: when nothing is wrong any more, every family is at home after one delay each.
void World::judge_homes() {
  const bool once = scenario_.slicer.mode == slicer::Mode::Once;
  if (scenario_.slicer.assignment != slicer::Assignment::Linear || once) return;
  const auto away = [this]() -> std::optional<std::int32_t> {
    for (const auto& status : host().snapshot().partitions) {
      const auto home = checkers_.home(status.tp.partition, host().slots());
      if (status.slot != home) return status.tp.partition;
    }
    return std::nullopt;
  };
  const auto held_up = [](const auto& entry) { return entry.suspects > 0; };
  const auto halted = [](const auto& entry) {
    return entry.state == slicer::PartitionState::Halted;
  };
  const slicer::Snapshot now_known = host().snapshot();
  if (std::any_of(now_known.slots.begin(), now_known.slots.end(), held_up)) return;
  if (std::any_of(now_known.partitions.begin(), now_known.partitions.end(), halted)) return;
  const std::int64_t delay_us = scenario_.slicer.rebalance_delay.count() * kMillisecond;
  const std::int64_t limit_us = now_us() + (broker_.count() + 3) * delay_us + 10 * kSecond;
  while (now_us() < limit_us && !trace_.failure() && away()) {
    const std::int64_t look_at_us = std::min(limit_us, now_us() + kSecond);
    while (timeline_.next(look_at_us)) {
    }
  }
  if (const auto partition = away()) {
    tell_state();
    trace_.wrong("families come home", "orders-" + std::to_string(*partition) + " has not");
  }
}

void World::stop_and_judge() {
  host().stop();
  const std::int64_t limit_us = now_us() + kStopLimit;
  while (now_us() < limit_us && !host().stopped()) timeline_.next(limit_us);
  if (!host().stopped()) trace_.wrong("a stop ends", "not stopped after 30 s");
  if (scenario_.quiet()) checkers_.exactly_once();
}

Verdict World::run() {
  say("world", -1, 0, [&] { return scenario_.summary(); });
  plan_production();
  start_host();
  after(kSecond, 0, [this] { every_second(); });
  const std::int64_t troubled_us = scenario_.troubled_s * kSecond;
  while (!trace_.failure() && timeline_.next(troubled_us)) {
  }
  calm_down();
  if (!trace_.failure()) {
    if (run_until_settled()) {
      judge_outcome();
      judge_homes();
      stop_and_judge();
    } else {
      tell_state();
      trace_.wrong("everything settles",
                   "not within " + std::to_string(kCalmLimit / kSecond) + " s of calm");
    }
  }
  return {trace_.failure(),       trace_.count(), checkers_.deliveries(),
          checkers_.duplicates(), hosts_.size(),  processes_.size()};
}

Verdict run_seed(std::uint64_t seed, Lines lines) {
  return World{scenario_of(seed), lines}.run();
}

std::string_view report_kind_name(ipc::ReportKind kind) {
  switch (kind) {
    case ipc::ReportKind::Ready:
      return "READY";
    case ipc::ReportKind::Done:
      return "DONE";
    case ipc::ReportKind::Released:
      return "RELEASED";
    case ipc::ReportKind::Failed:
      return "FAILED";
    case ipc::ReportKind::Expired:
      return "EXPIRED";
    case ipc::ReportKind::Seen:
      return "SEEN";
    case ipc::ReportKind::Opened:
      return "OPENED";
    case ipc::ReportKind::Waiting:
      return "WAITING";
    case ipc::ReportKind::LogLost:
      return "LOG_LOST";
    case ipc::ReportKind::Survived:
      return "SURVIVED";
  }
  return "?";
}

std::string notice_text(const slicer::Notice& notice) {
  using Kind = slicer::Notice::Kind;
  const std::string range =
      " [" + std::to_string(notice.start) + "," + std::to_string(notice.end) + ")";
  switch (notice.kind) {
    case Kind::Moved:
      return "moved from " + std::to_string(notice.slot) + " to " +
             std::to_string(notice.other_slot);
    case Kind::Suspected:
      return "suspected" + range;
    case Kind::Charged:
      return "charged, attempt " + std::to_string(notice.attempt);
    case Kind::Restarted:
      return "restarted";
    case Kind::Isolating:
      return "isolating" + range;
    case Kind::Undecided:
      return "undecided" + range;
    case Kind::Isolated:
      return "isolated" + range;
    case Kind::Recovered:
      return "recovered" + range;
    case Kind::Unrecovered:
      return "not recovered" + range;
    case Kind::Parked:
      return "parked" + range;
    case Kind::Expired:
      return "expired" + range;
    case Kind::Unconfirmed:
      return "expiry not confirmed";
    case Kind::BeyondEnd:
      return "position beyond the end" + range;
    case Kind::Truncated:
      return "truncated" + range;
    case Kind::Recreated:
      return "recreated" + range + ": " + notice.text;
    case Kind::Unproved:
      return "nothing to compare";
    case Kind::StaleReport:
      return "stale report";
  }
  return "?";
}

}  // namespace sluice::sim
