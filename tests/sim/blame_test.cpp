// The blame model (slicer.md F1): W workers with 8 partitions each, one poison record, a number of
// crashes until somebody gets rid of it. Who runs out of attempts, and how many partitions see a
// worker die? With the production slicer, wired as the runtime wires it, nobody but the poisoned
// slice: the model's zeros. The model's failures come back when the wiring lies about the deaths,
// for the slicer itself has no switch that would turn the rule off:
//   charge everybody   before the loss is told, every slice in flight is reported FAILED
//   charge, no suspect the named slice is reported FAILED, and the loss is blamed on nobody, so
//   that
//                      the poison travels to the next worker at once
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "host/base/random.hpp"
#include "host/slicer/slicer.hpp"

namespace sluice::sim {
namespace {

using slicer::Slot;

enum class Wiring { AsTheRuntime, ChargeEverybody, ChargeWithoutSuspect };

struct Damage {
  int innocents_halted = 0;  ///< partitions out of attempts that hold no poison
  int partitions_hurt = 0;   ///< partitions, but the poisoned one, that saw a worker die
  std::uint64_t charged = 0;
};

/// Each partition holds one slice at a time; in every round the worker of the poison dies.
class BlameWorld {
 public:
  BlameWorld(std::uint32_t workers, std::uint64_t seed, Wiring wiring, std::uint32_t attempts)
      : wiring_{wiring}, random_{seed}, count_{static_cast<std::int32_t>(workers * 8)} {
    slicer::SlicerOptions options;
    options.slots = workers;
    options.slice_records_max = 10;
    options.credit_records = 10'000;
    options.attempts_max = attempts;
    options.rebalance_delay = Milliseconds{1'000'000};
    slicer_ = std::make_unique<slicer::Slicer>(options, Random{seed});
    slicer_->add_topic(0, "orders", 1);
    poison_ = static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(count_)));
    for (std::int32_t partition = 0; partition < count_; ++partition) {
      slicer::FoundPartition found;
      found.tp = {0, partition};
      found.end = 10;
      slicer_->partition_found(std::move(found), now_);
    }
    slicer_->discovery_done(now_);
    step();
    for (Slot slot = 0; slot < workers; ++slot) ready(slot);
  }

  Damage run(int crashes) {
    for (int crash = 0; crash < crashes; ++crash) {
      const auto slot = slot_of_poison();
      if (!slot) break;  // it has run out of attempts itself
      finish_some_innocents();
      die(*slot);
      now_ += Milliseconds{100'000};  // all back-offs are over
      ready(*slot);
    }
    Damage damage;
    for (const auto& status : slicer_->snapshot(now_).partitions) {
      const bool halted = status.state == slicer::PartitionState::Halted;
      if (halted && status.tp.partition != poison_) ++damage.innocents_halted;
    }
    damage.partitions_hurt = static_cast<int>(hurt_.size());
    damage.charged = slicer_->counts().charged;
    return damage;
  }

 private:
  Wiring wiring_;
  Random random_;
  std::int32_t count_;
  std::int32_t poison_ = 0;
  Milliseconds now_{0};
  std::unique_ptr<slicer::Slicer> slicer_;
  slicer::Actions actions_;
  std::map<Slot, std::deque<ipc::Command>> rings_;
  std::map<Slot, std::uint64_t> incarnations_;
  std::map<std::int32_t, std::int64_t> ends_;
  std::set<std::int32_t> hurt_;
  std::uint64_t next_incarnation_ = 1;

  void step() {
    slicer_->step(now_, actions_);
    for (const auto& batch : actions_.commands) {
      for (const auto& command : batch.commands) {
        if (command.kind == static_cast<std::uint16_t>(ipc::CommandKind::Slice)) {
          rings_[batch.slot].push_back(command);
        }
      }
    }
    if (slicer_->has_changes()) {
      const auto set = slicer_->take_changes(now_);
      slicer_->persisted(set.token, now_);
      step();
    }
  }

  void ready(Slot slot) {
    incarnations_[slot] = next_incarnation_++;
    slicer_->worker_ready(slot, {incarnations_[slot], 1}, now_);
    step();
  }

  std::optional<Slot> slot_of_poison() const {
    for (const auto& [slot, ring] : rings_) {
      for (const auto& command : ring) {
        if (command.partition == poison_) return slot;
      }
    }
    return std::nullopt;
  }

  void report(Slot slot, const ipc::Command& command, ipc::ReportKind kind) {
    ipc::Report report;
    report.slice_id = command.slice_id;
    report.fence = command.fence;
    report.kind = static_cast<std::uint16_t>(kind);
    report.partition = command.partition;
    report.next_offset = kind == ipc::ReportKind::Done ? command.end : command.start;
    const bool failed = kind == ipc::ReportKind::Failed;
    report.failure = failed ? static_cast<std::uint16_t>(ipc::FailureClass::PluginFail) : 0;
    slicer_->report(slot, incarnations_[slot], report, {}, now_);
  }

  /// One in ten is done and has the next slice in hand, as in the model.
  void finish_some_innocents() {
    for (auto& [slot, ring] : rings_) {
      for (auto command = ring.begin(); command != ring.end();) {
        const bool elsewhere = slot != slot_of_poison();
        if (command->partition == poison_ || (!elsewhere && !random_.once_in(10))) {
          ++command;
          continue;
        }
        const ipc::Command done = *command;
        command = ring.erase(command);
        report(slot, done, ipc::ReportKind::Done);
        slicer_->end_observed({0, done.partition}, done.end + 10, slicer::LeaderChange::None, now_);
      }
    }
    step();
  }

  void die(Slot slot) {
    std::uint64_t poisoned = 0;
    for (const auto& status : slicer_->snapshot(now_).partitions) {
      if (status.slot == slot && status.tp.partition != poison_) hurt_.insert(status.tp.partition);
    }
    const std::deque<ipc::Command> in_flight = std::exchange(rings_[slot], {});
    for (const auto& command : in_flight) {
      const bool poison = command.partition == poison_;
      if (poison) poisoned = command.slice_id;
      const bool charged =
          wiring_ == Wiring::ChargeEverybody || (wiring_ == Wiring::ChargeWithoutSuspect && poison);
      if (charged) report(slot, command, ipc::ReportKind::Failed);
    }
    slicer::Accusation accusation;
    accusation.cause = slicer::LossCause::Crash;
    accusation.slice_id = poisoned;
    accusation.phase = ipc::Phase::Put;
    accusation.text = "SIGSEGV in put";
    if (wiring_ == Wiring::AsTheRuntime) {
      accusation.blame = slicer::Blame::Record;
    } else {
      accusation.slice_id = 0;
    }
    slicer_->worker_lost(slot, incarnations_[slot], accusation, now_);
    step();
  }
};

/// Sums over 100 seeds.
Damage average(std::uint32_t workers, Wiring wiring, int crashes, std::uint32_t attempts) {
  Damage sum;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Damage one = BlameWorld{workers, seed, wiring, attempts}.run(crashes);
    sum.innocents_halted += one.innocents_halted;
    sum.partitions_hurt += one.partitions_hurt;
    sum.charged += one.charged;
  }
  return sum;
}

}  // namespace

TEST_CASE("one poison record takes no attempt from anybody else, after 2, 4 or 14 crashes",
          "[sim]") {
  const auto workers = GENERATE(2U, 4U);
  const auto crashes = GENERATE(2, 4, 14);
  // Enough attempts for the poison itself: in the model somebody else decides its end.
  const Damage damage = average(workers, Wiring::AsTheRuntime, crashes, 20);
  CHECK(damage.innocents_halted == 0);
  // The first crash only makes a suspect, all later ones are its own.
  CHECK(damage.charged == 100U * static_cast<std::uint64_t>(crashes - 1));
  // Only the partitions of its own worker saw one die, and only once.
  CHECK(damage.partitions_hurt == 100 * 7);
}

TEST_CASE("charging every slice in flight drains the attempts of innocents", "[sim]") {
  const Damage damage = average(2, Wiring::ChargeEverybody, 14, 4);
  CHECK(damage.innocents_halted > 0);
}

TEST_CASE("a poison record without quarantine visits nearly every partition", "[sim]") {
  const Damage damage = average(2, Wiring::ChargeWithoutSuspect, 14, 20);
  CHECK(damage.innocents_halted == 0);
  CHECK(damage.partitions_hurt > 100 * 13);  // of 15
}

}  // namespace sluice::sim
