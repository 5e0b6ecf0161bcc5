// A host as the runtime wires it: the production slicer and supervisor, their actions carried out
// against the simulated broker, disk and processes. Everything here is wiring and none of it
// decides anything, so that what the checkers judge is the cores. It can die at any moment; the
// next one starts from the disk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "host/slicer/slicer.hpp"
#include "host/supervisor/supervisor.hpp"
#include "sim/worker_process.hpp"

namespace sluice::sim {

class World;

class SimHost {
 public:
  SimHost(World& world, std::uint64_t seed, std::uint64_t first_incarnation, std::uint32_t slots);

  void start();
  void doorbell(WorkerProcess& process);
  void crash_noted(WorkerProcess& process);
  void reaped(WorkerProcess& process);
  void partition_appeared(std::int32_t partition);
  void set_slots(std::uint32_t slots);
  void restart_halted();
  /// Everything that is parked on the disk, as a user asks for it (S6).
  void recover();
  void stop();
  /// It is gone from one instant to the next. The write that is under way may or may not survive.
  void crash();

  bool dead() const { return dead_; }
  bool started() const { return discovered_; }
  bool stopped() const { return drained_ && outcome_.has_value(); }
  const std::optional<slicer::Outcome>& outcome() const { return outcome_; }
  std::uint64_t next_incarnation() const { return next_incarnation_; }
  std::uint32_t slots() const { return slots_; }
  /// Nothing more will happen by itself: all settled and durable, or halted.
  bool settled() const;
  slicer::Snapshot snapshot() const;

 private:
  World* world_;
  std::unique_ptr<slicer::Slicer> slicer_;
  supervisor::Supervisor supervisor_;
  std::map<std::uint32_t, WorkerProcess*> processes_;  ///< by slot
  std::map<std::uint32_t, std::size_t> in_flight_;     ///< by slot: published, not answered
  slicer::Actions actions_;
  std::optional<state::ChangeSet> writing_;
  std::optional<state::ChangeSet> stale_;
  std::optional<Milliseconds> armed_;
  std::uint64_t arming_ = 0;
  std::optional<slicer::Outcome> outcome_;
  std::uint64_t next_incarnation_;
  std::uint32_t slots_;
  std::int32_t found_ = 0;  ///< partitions below it are known
  bool discovered_ = false;
  bool stopping_ = false;
  bool drained_ = false;
  bool dead_ = false;
  bool was_absent_ = false;  ///< the topic, when it was looked for first
  std::uint32_t topic_incarnation_ = 1;
  std::map<std::int32_t, std::uint32_t> leaders_;  ///< by partition, when it was sampled last
  /// By partition, which leader's log was looked at since all that changed was on the disk.
  std::map<std::int32_t, std::uint32_t> looked_;

  Milliseconds now() const;
  void look_at_topic();
  void find_partition(std::int32_t partition);
  void discover();
  void tick();
  void settle();
  void carry_out(const slicer::Actions& actions);
  void carry_out(std::vector<supervisor::Action> actions);
  void spawn(const supervisor::Spawn& spawn);
  void lost(const supervisor::Lost& lost);
  void publish(const slicer::SlotCommands& commands);
  ipc::SliceTerms terms_of(const ipc::Command& command) const;
  void drain(WorkerProcess& process);
  void sample(slicer::TopicPartition tp, bool low);
  void write();
  void written();
  void arm();
};

}  // namespace sluice::sim
