// A slicer whose plugin dies of certain records: at once, with the record's position in the pulse;
// in flush, without; or it only says FAIL. An outage makes everything fail. Workers come up by
// themselves, run what they are given and are replaced when a fresh one is asked for.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {

enum class Death { InPut, WrongPlace, InFlush, Fails };

inline SlicerOptions isolating(std::uint32_t slots, std::int64_t slice_records = 100) {
  SlicerOptions options;
  options.slots = slots;
  options.slice_records_max = slice_records;
  options.credit_records = 8 * slice_records;
  options.on_failure = OnFailure::Isolate;
  options.rebalance_delay = Milliseconds{1'000'000};
  return options;
}

class PoisonWorld {
 public:
  explicit PoisonWorld(const SlicerOptions& options) : world{options} {}

  SlicerFixture world;
  Death death = Death::InPut;
  std::set<std::pair<std::int32_t, std::int64_t>> poison;  ///< partition, offset
  bool outage = false;
  int deaths = 0;                                   ///< of workers, or FAILED reports
  std::map<std::int32_t, int> deaths_by_partition;  ///< what was in hand
  std::map<std::pair<std::int32_t, std::int64_t>, int> delivered;
  std::vector<std::int64_t> dead_lettered;
  int probes = 0;
  /// What a sink with stable slices holds: by partition and range, what was left out of each.
  std::map<std::pair<std::int32_t, std::pair<std::int64_t, std::int64_t>>,
           std::vector<std::int64_t>>
      named_outputs;

  /// Until nothing is left to do, or for so many turns.
  void run(int turns = 2'000) {
    for (int turn = 0; turn < turns; ++turn) {
      bool any = false;
      for (Slot slot = 0; slot < world.options.slots; ++slot) any = turn_of(slot) || any;
      if (!any) {
        if (++idle_ > 20) return;
        world.advance(1'000);
      } else {
        idle_ = 0;
      }
    }
  }

  /// A person restarts what it has halted, three times.
  void end_outage() {
    outage = false;
    for (int restarts = 0; restarts < 3; ++restarts) {
      world.slicer().restart_halted(world.now);
      world.step();
      run();
    }
  }

  std::int64_t records(std::int32_t partition) const {
    std::int64_t count = 0;
    for (const auto& [where, times] : delivered) count += where.first == partition ? 1 : 0;
    return count;
  }

 private:
  std::set<Slot> up_;
  std::map<Slot, int> served_;  ///< slices since READY
  int idle_ = 0;

  bool turn_of(Slot slot) {
    if (up_.insert(slot).second) {
      served_[slot] = 0;
      world.ready(slot);
      return true;
    }
    if (fresh_asked(slot)) {
      Accusation stopped;
      stopped.cause = LossCause::Stopped;
      REQUIRE(world.in_flight(slot) == 0);
      up_.erase(slot);
      world.lose(slot, stopped);
      return true;
    }
    if (world.in_flight(slot) == 0) return false;
    const ipc::Command front = world.in_ring(slot);
    if ((front.flags & ipc::kDeadLetterOnly) != 0) {
      dead_lettered.push_back(front.start);
      world.complete(slot);
      return true;
    }
    const bool part = world.slicer().isolating(slot);
    if (part) REQUIRE(served_[slot] == 0);  // a fresh process (F3.1)
    if ((front.flags & ipc::kProbe) != 0) ++probes;
    const auto victim = first_victim(front);
    if (victim < 0) {
      ++served_[slot];
      if ((front.flags & ipc::kProbe) == 0) deliver(front);
      world.complete(slot);
      return true;
    }
    ++deaths;
    ++deaths_by_partition[front.partition];
    if (death == Death::Fails) {
      ++served_[slot];
      world.fail(slot);
      world.return_lane_of(slot, front);
      return true;
    }
    Accusation accusation;
    accusation.cause = LossCause::Crash;
    accusation.blame = Blame::Record;
    accusation.slice_id = front.slice_id;
    accusation.phase = death == Death::InFlush ? ipc::Phase::Flush : ipc::Phase::Put;
    accusation.offset = front.start;
    const auto size = front.end - front.start;
    const auto shift = death == Death::WrongPlace ? 7 : 0;
    accusation.position = static_cast<std::uint32_t>((victim - front.start + shift) % size);
    accusation.code = 11;
    accusation.text = "SIGSEGV in put";
    up_.erase(slot);
    world.lose(slot, accusation);
    return true;
  }

  bool fresh_asked(Slot slot) {
    return std::erase_if(world.fresh_workers, [&](const FreshWorker& asked) {
             return asked.slot == slot && asked.incarnation == world.incarnation(slot);
           }) > 0;
  }

  void deliver(const ipc::Command& command) {
    if ((command.flags & ipc::kStable) != 0) {
      named_outputs[{command.partition, {command.start, command.end}}] = excluded_from(command);
    }
    for (auto offset = command.start; offset < command.end; ++offset) {
      if (!leaves_out(command, offset)) ++delivered[{command.partition, offset}];
    }
  }

  std::vector<std::int64_t> excluded_from(const ipc::Command& command) const {
    if ((command.flags & (ipc::kProbe | ipc::kExclude)) == 0) return {};
    return world.terms.at(command.slice_id).excluded;
  }

  bool leaves_out(const ipc::Command& command, std::int64_t offset) const {
    const auto excluded = excluded_from(command);
    return std::find(excluded.begin(), excluded.end(), offset) != excluded.end();
  }

  std::int64_t first_victim(const ipc::Command& command) const {
    if (outage) return command.start;
    if (death == Death::InFlush && (command.flags & ipc::kProbe) != 0) return -1;
    for (auto offset = command.start; offset < command.end; ++offset) {
      const bool is_put = !leaves_out(command, offset);
      if (is_put && poison.contains({command.partition, offset})) return offset;
    }
    return -1;
  }
};

}  // namespace sluice::slicer
