// One run: time, broker, disk, processes and a host, their troubles, and the verdict. Runs the
// production slicer and supervisor; everything else in here is the world that they live in.
//
//     troubled (scenario.troubled_s)  ->  calm: nothing goes wrong any more, all must settle
//                                     ->  a stop, which must end clean
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/random.hpp"
#include "sim/broker.hpp"
#include "sim/checkers.hpp"
#include "sim/disk.hpp"
#include "sim/scenario.hpp"
#include "sim/sim_host.hpp"
#include "sim/timeline.hpp"
#include "sim/trace.hpp"
#include "sim/worker_process.hpp"

namespace sluice::sim {

std::string_view report_kind_name(ipc::ReportKind kind);
std::string notice_text(const slicer::Notice& notice);

struct Verdict {
  std::optional<std::string> failure;  ///< `rule: what`
  std::uint64_t events = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t hosts = 0;
  std::uint64_t processes = 0;
};

class World {
 public:
  World(const Scenario& scenario, Lines lines);

  Verdict run();

  // --- For host and processes
  Milliseconds now() const { return timeline_.now(); }
  std::int64_t now_us() const { return timeline_.now_us(); }
  const Scenario& scenario() const { return scenario_; }
  /// None of them any more once it is calm.
  const Troubles& troubles() const { return calm_ ? no_troubles_ : scenario_.troubles; }
  bool sabotaged(Sabotage sabotage) const { return scenario_.sabotage == sabotage; }
  const Broker& broker() const { return broker_; }
  void log_seen(std::int32_t partition, std::uint32_t leader) { broker_.seen(partition, leader); }
  const Disk& disk() const { return disk_; }
  Checkers& checkers() { return checkers_; }
  Trace& trace() { return trace_; }
  bool one_in(std::uint32_t n) { return random_.once_in(n); }
  std::int64_t chance(std::int64_t below_us) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(below_us) + 1));
  }
  template <typename Text>
  void say(const char* who, std::int32_t partition, std::uint64_t slice, const Text& text) {
    trace_.line(who, partition, slice, text);
  }
  void after(std::int64_t delay_us, std::uint64_t incarnation, std::function<void()> happen);
  void after(std::int64_t delay_us, const SimHost& host, std::function<void()> happen);
  WorkerProcess& spawn(std::uint32_t slot, std::uint64_t incarnation);
  void doorbell(WorkerProcess& process);
  void deliver(const RecordAt& record, std::uint32_t writing);
  /// True the first `times` times that this record is asked about.
  bool first_time(const RecordAt& record, std::uint32_t times);
  void process_died(WorkerProcess& process);
  void store(const state::ChangeSet& set);

 private:
  Scenario scenario_;
  Troubles no_troubles_;
  Timeline timeline_;
  Trace trace_;
  Random random_;
  Broker broker_;
  Disk disk_;
  Checkers checkers_;
  std::vector<std::unique_ptr<WorkerProcess>> processes_;
  std::vector<std::unique_ptr<SimHost>> hosts_;  ///< the last one is the one that runs
  std::map<RecordAt, std::uint32_t> seen_bad_;
  std::uint32_t slots_;
  std::uint32_t graceful_left_;
  bool calm_ = false;
  bool recreated_ = false;
  bool restarting_ = false;  ///< stopped gracefully, the next one starts when it is done

  SimHost& host() { return *hosts_.back(); }
  void plan_production();
  void every_second();
  void trouble_processes();
  void trouble_host();
  void shrink_logs();
  void produce(std::int32_t partition, std::int64_t records);
  void start_host();
  void crash_host();
  void start_when_alone();
  void calm_down();
  bool run_until_settled();
  void stop_and_judge();
  void judge_outcome();
  void judge_homes();
  void tell_state();
};

/// Runs the scenario of `seed`.
Verdict run_seed(std::uint64_t seed, Lines lines);

}  // namespace sluice::sim
