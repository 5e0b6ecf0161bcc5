// One job at work: feeds the slicer and the supervisor with what Kafka, the state store, the clock
// and the worker processes say, and carries out what the two decide. It decides nothing itself;
// every rule is in the cores (host/slicer, host/supervisor), every byte of a worker is checked
// before it comes here (WorkerLink).
//
// The order of things (slicer.md S2, delivery.md D2): state rows loaded -> partitions found and
// start positions resolved -> those durable -> slices; reports -> rows durable -> offsets to the
// group. Loop thread only; blocking questions go to the Kafka and state threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/base/random.hpp"
#include "host/config/job_config.hpp"
#include "host/job/background_call.hpp"
#include "host/job/discovery.hpp"
#include "host/job/group_committer.hpp"
#include "host/job/host_services.hpp"
#include "host/job/job_status.hpp"
#include "host/job/log_sampler.hpp"
#include "host/job/recovery.hpp"
#include "host/job/start_position.hpp"
#include "host/job/stored_job.hpp"
#include "host/job/worker_link.hpp"
#include "host/slicer/slicer.hpp"
#include "host/state/rows.hpp"
#include "host/supervisor/process_sample.hpp"
#include "host/supervisor/supervisor.hpp"
#include "host/worker/start_parameters.hpp"

namespace sluice::job {

/// A job that may run: its configuration and the plugin files that were pinned for it.
struct JobPlan {
  config::JobConfig config;
  std::vector<worker::PluginInstance> plugins;  ///< processors in order, the sink last
  std::optional<StartFrom> from;
  bool stable_slices = false;  ///< the sink names its output after the slice (slicer.md C5)
};

/// What a spectator may learn as it happens (the demo, tests). Called on the loop; must not block.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void worker_ready(std::uint32_t /*slot*/, std::int32_t /*pid*/) {}
  virtual void worker_lost(std::uint32_t /*slot*/, const slicer::Accusation& /*why*/) {}
  virtual void reported(std::uint32_t /*slot*/, const ipc::Report& /*report*/) {}
};

class JobRuntime final : private WorkerEvents {
 public:
  /// `ended` is called once, from the loop, when nothing of the job is left running.
  JobRuntime(const HostServices& services, JobPlan plan, JobObserver* observer,
             std::function<void()> ended);
  ~JobRuntime() override;
  JobRuntime(const JobRuntime&) = delete;
  JobRuntime& operator=(const JobRuntime&) = delete;

  void start(StartBy by = StartBy::User);
  /// Drains: workers flush what they hold, the rest is given back; asked twice it is asked once.
  void stop();
  /// Parked slices run again, between the live ones. `answer` is called on the loop, once, unless
  /// the job is destroyed before: with the slices that it concerns (none: nothing to do), or
  /// Refused where the job does not run.
  void recover(const RecoverRequest& request, std::function<void(Result<RecoverAnswer>)> answer);
  // The rest of what a user may ask of a running job; each is carried out at once, or Refused.
  Result<> pause();
  Result<> resume();
  /// Halted partitions go on, attempts count from 1 (F4).
  Result<> restart_halted();
  /// Others came into its group while it ran: it halts until its next start (S3).
  bool has_lost_group() const;
  /// tasks.max until the job's next start (A5).
  Result<> set_tasks(std::uint32_t tasks);
  JobState state() const;
  const std::string& name() const { return plan_.config.name; }
  JobStatus status() const;
  std::vector<state::SliceRow> open_slices() const;

 private:
  // Start, in this order; each step ends in the next one's call.
  void state_loaded(Result<StoredJob> loaded);
  void rest();
  void make_cores();
  void discover_partitions();
  void discovered(Result<Discovery> discovery);
  void warn_of_idle_workers() const;
  bool learn_topic(const std::string& topic);
  void note_absent_topics(const std::vector<TopicSighting>& sightings);
  void add_partition(const FoundPartition& found, const std::vector<TopicSighting>& sightings);
  void restore(slicer::FoundPartition& partition, const state::PartitionRow& row,
               const KnownTopic& known);
  void tell_topics(const std::vector<TopicSighting>& sightings);
  void record_passed(const state::PartitionRow& row, std::int64_t start);
  void group_lost();

  // Events of the workers.
  void reported(std::uint32_t slot, std::uint64_t incarnation,
                const ipc::ReceivedReport& received) override;
  void chain_reported(std::uint32_t slot, const ipc::ReceivedReport& received);
  std::size_t reports_drained(std::uint32_t slot) override;
  void violated(std::uint32_t slot, std::uint64_t incarnation, const std::string& rule) override;
  void crash_noted(std::uint32_t slot, std::uint64_t incarnation,
                   const ipc::CrashNote& note) override;
  void exited(std::uint32_t slot, std::uint64_t incarnation,
              const supervisor::ReapedWorker& reaped) override;

  void start_recovery(const std::vector<state::SliceRow>& rows);

  // Time.
  void tick();
  void pass_pulses();
  void pass_pulse(WorkerLink& worker);
  void sample_processes(std::vector<supervisor::Action>& actions);
  void arm_deadline();
  void arm_supervisor();

  // Decisions carried out.
  void decide();
  void supervise(const std::vector<supervisor::Action>& actions);
  void carry_out(const supervisor::Spawn& spawn);
  void carry_out(const supervisor::Stop& stop);
  void carry_out(const supervisor::Signal& signal);
  void carry_out(const supervisor::Lost& lost);
  void carry_out(const supervisor::JobFailed& failed);
  void carry_out(const supervisor::Drained& drained);
  void publish(const slicer::SlotCommands& commands);
  void refresh(const slicer::FreshWorker& worker);
  void sample(const slicer::Actions& actions);
  void ends_sampled(const std::vector<LogSampler::Sample>& samples);
  void lows_sampled(const std::vector<LogSampler::Sample>& samples);

  // Durability.
  void persist();
  void persisted(std::uint64_t set, const Result<>& result);

  // The end.
  void fail(ErrorCode code, std::string reason);
  void drain();
  void finish_if_done();
  bool has_unrecorded() const;
  void leave_unrecorded();
  void commit_and_end();
  void end_execution();
  void over();

  Result<> refuse_unless_running(std::string_view what) const;
  std::vector<slicer::PartitionStatus> stored_partitions() const;
  WorkerLink* link(std::uint32_t slot, std::uint64_t incarnation);
  kafka::HostClient& client() const;
  kafka::TopicPartition name_of(slicer::TopicPartition tp) const;
  slicer::TopicPartition tp_of(const kafka::TopicPartition& where) const;
  std::string text_of(slicer::TopicPartition tp) const;
  Milliseconds now() const { return services_.clock.monotonic(); }

  static constexpr Milliseconds kTickPeriod{100};

  const HostServices& services_;
  JobPlan plan_;
  JobObserver* observer_;
  std::function<void()> ended_;
  log::Logger log_;
  Random random_;
  Milliseconds started_{0};
  std::optional<Milliseconds> ended_at_;

  JobState state_ = JobState::Starting;
  ErrorCode failure_ = ErrorCode::Internal;
  std::string reason_;

  StoredJob stored_;  ///< its partitions: those that have not been found yet

  std::vector<std::string> topics_;  ///< by number, in the slicer's and the workers' words
  PartitionSet resolved_;
  std::shared_ptr<const Frontiers> stored_frontiers_;  ///< as loaded, until all have been found
  std::set<std::uint16_t> topics_added_;
  std::set<std::string> absent_topics_;  ///< missing when they were last looked for
  std::vector<TopicProblem> topic_problems_;
  std::string kafka_problem_;
  std::map<kafka::TopicPartition, std::string> unanswered_;  ///< why their ends are not known
  std::string group_problem_;                                ///< others live in the group (S3)
  std::map<std::uint32_t, std::string> chain_problems_;  ///< by slot: why its plugins do not start
  bool first_start_ = true;                              ///< the store knew no partition of the job
  bool first_discovery_ = true;
  bool paused_ = false;
  bool pause_said_ = false;                   ///< by a user of this life: what is stored is older
  bool start_from_used_ = false;              ///< to be recorded with the next change set
  std::vector<state::GapRow> passed_ranges_;  ///< likewise

  std::unique_ptr<slicer::Slicer> slicer_;
  std::unique_ptr<supervisor::Supervisor> supervisor_;
  std::unique_ptr<GroupCommitter> committer_;
  std::unique_ptr<LogSampler> sampler_;
  std::vector<std::unique_ptr<WorkerLink>> links_;           ///< by slot
  std::map<std::uint32_t, supervisor::ProcSample> samples_;  ///< by slot, of its worker
  slicer::Actions actions_;
  bool deciding_ = false;
  bool decide_again_ = false;

  bool changes_under_way_ = false;
  bool store_refuses_ = false;  ///< has answered a set with an error: it gets no other
  std::optional<slicer::Outcome> outcome_;
  bool told_to_end_ = false;  ///< by a user, a signal or a failure; else it ends by itself
  bool drained_ = false;
  bool ending_ = false;
  bool over_ = false;  ///< ended_() has been called
  std::uint64_t worker_restarts_ = 0;

  std::unique_ptr<EventLoop::Watch> tick_watch_;
  std::unique_ptr<EventLoop::Watch> due_watch_;  ///< of the supervisor, before the next tick
  std::unique_ptr<EventLoop::Watch> deadline_watch_;
  std::optional<Milliseconds> deadline_;
  std::unique_ptr<EventLoop::Watch> discovery_watch_;
  std::unique_ptr<EventLoop::Watch> store_watch_;
  std::unique_ptr<EventLoop::Watch> end_watch_;
  Lifetime lifetime_;
};

}  // namespace sluice::job
