#include "host/job/job_runtime.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "host/base/assert.hpp"
#include "host/job/notice_log.hpp"
#include "host/job/worker_setup.hpp"
#include "ipc/failure_text.hpp"

namespace sluice::job {
namespace {

constexpr Milliseconds kTickPeriod{100};
constexpr Milliseconds kDiscoveryRetry{1000};
/// How long an ending job waits for the group to take its last offsets. They are durable here, so
/// a broker that is away must not hold up the stop.
constexpr Milliseconds kCommitPatience{3000};

}  // namespace

JobRuntime::JobRuntime(const HostServices& services, JobPlan plan, JobObserver* observer,
                       std::function<void()> ended)
    : services_{services},
      plan_{std::move(plan)},
      observer_{observer},
      ended_{std::move(ended)},
      log_{services.log.with_job(plan_.config.name)},
      random_{Random::system_seed()} {}

JobRuntime::~JobRuntime() = default;

// --- Start -------------------------------------------------------------------------------------

void JobRuntime::start() {
  started_ = now();
  const auto mode = plan_.config.mode == config::Mode::Once ? state::ExecutionMode::Once
                                                            : state::ExecutionMode::Persistent;
  services_.state.run([this, token = lifetime_.token(), &loop = services_.loop, mode,
                       job = plan_.config.name,
                       unix_ms = services_.clock.unix_ms()](state::StateStore& store) {
    auto stored = std::make_shared<Result<StoredJob>>(resume_or_begin(store, job, mode, unix_ms));
    loop.post([this, token, stored] {
      if (const auto alive = token.lock()) state_loaded(std::move(*stored));
    });
  });
}

void JobRuntime::state_loaded(Result<StoredJob> loaded) {
  if (!loaded) return fail(loaded.error().code(), loaded.error().message());
  stored_ = *std::move(loaded);
  services_.state.set_retention(
      plan_.config.name, {plan_.config.slice_retention_records, plan_.config.slice_retention_ms});
  if (state_ != JobState::Starting) return;  // stopped meanwhile
  make_cores();
  if (state_ == JobState::Starting) discover_partitions();
}

void JobRuntime::make_cores() {
  auto options = slicer_options(plan_.config, services_.clock);
  options.execution = stored_.execution.number;
  options.next_slice_id = stored_.next_slice_id;
  options.slices_per_second_max = services_.slices_per_second_max;
  if (const auto valid = slicer::validate(options); !valid) {
    return fail(valid.error().code(), valid.error().message());
  }
  slicer_ = std::make_unique<slicer::Slicer>(options, Random{random_.next()});
  supervisor_ = std::make_unique<supervisor::Supervisor>(
      supervisor_options(plan_.config, services_.incarnation), Random{random_.next()});
  links_.resize(static_cast<std::size_t>(plan_.config.tasks_max));
  committer_ = std::make_unique<GroupCommitter>(
      client(), services_.clock, log_, group_name(plan_.config.name),
      commit_metadata(services_.store_id, services_.incarnation));
  sampler_ = std::make_unique<LogSampler>(client(), services_.kafka_thread, services_.loop);
  tick_watch_ = services_.loop.every(kTickPeriod, [this] { tick(); });
  // The workers load their plugins while Kafka is asked for the partitions.
  std::vector<supervisor::Action> actions;
  supervisor_->start(now(), actions);
  supervise(actions);
}

void JobRuntime::discover_partitions() {
  DiscoveryRequest request;
  request.job = plan_.config.name;
  request.group = group_name(plan_.config.name);
  request.store_id = services_.store_id;
  request.topics = plan_.config.topics;
  for (const auto& [where, row] : stored_.partitions) request.frontiers[where] = row.frontier;
  request.resolved = resolved_;
  request.reset = reset_policy(plan_.config);
  request.start_timestamp_ms = plan_.config.slicer_start_timestamp_ms;
  request.from = first_discovery_ ? plan_.from : std::nullopt;
  request.appeared = first_discovery_ && stored_.partitions.empty()
                         ? StartQuestion::Appeared::AtFirstStart
                         : StartQuestion::Appeared::Later;
  ask_on(
      services_.kafka_thread, services_.loop, lifetime_.token(),
      [&kafka = client(), request = std::move(request)] { return discover(kafka, request); },
      [this](Result<Discovery> discovery) { discovered(std::move(discovery)); });
}

void JobRuntime::discovered(Result<Discovery> discovery) {
  if (state_ > JobState::Running) return;
  auto again_after = Milliseconds{plan_.config.expansion_detect_ms};
  if (!discovery) {
    kafka_problem_ = discovery.error().message();
    log_.limited(log::Level::Warning, "kafka.discovery", kafka_problem_ + "; trying again");
    again_after = kDiscoveryRetry;
  } else if (discovery->refusal) {
    return fail(discovery->refusal->code, discovery->refusal->sentence);
  } else {
    kafka_problem_.clear();
    for (const auto& warning : discovery->warnings) log_.warning(warning);
    topic_problems_ = std::move(discovery->waiting);
    for (const auto& problem : topic_problems_) {
      log_.limited(log::Level::Warning, "topic." + problem.topic,
                   "topic " + problem.topic + ": " + problem.why + "; waiting for it");
    }
    for (const auto& found : discovery->found) add_partition(found);
    // A once job takes the ends of all its topics before it can know that it is done.
    const bool complete = plan_.config.mode == config::Mode::Persistent || topic_problems_.empty();
    if (first_discovery_ && complete) {
      slicer_->discovery_done(now());
      state_ = JobState::Running;
    }
    first_discovery_ = first_discovery_ && !complete;
    decide();
  }
  if (plan_.config.mode == config::Mode::Once && state_ != JobState::Starting) return;
  discovery_watch_ = services_.loop.after(again_after, [this] { discover_partitions(); });
}

void JobRuntime::add_partition(const FoundPartition& found) {
  slicer::FoundPartition partition;
  partition.tp = tp_of(found.where);
  const auto tp = partition.tp;
  partition.start_offset = found.start;
  partition.end = found.end;
  if (plan_.config.mode == config::Mode::Once) {
    partition.once_end = stored_.once_end(found.where).value_or(std::max(found.end, found.start));
  }
  std::uint32_t topic_incarnation = 1;
  if (const auto row = stored_.partitions.find(found.where); row != stored_.partitions.end()) {
    topic_incarnation = row->second.topic_incarnation;
    // --from moves the job away from its frontier: the row's slices are about the old place.
    if (row->second.frontier == found.start) {
      partition.row = row->second;
      partition.slices = std::move(stored_.slices[found.where]);
    }
  }
  if (topics_added_.insert(tp.topic).second) {
    slicer_->add_topic(tp.topic, found.where.topic, topic_incarnation);
  }
  resolved_.insert(found.where);
  log_.info(text_of(tp) + " starts at " + std::to_string(found.start) + " (" + found.reason +
            "), log is " + std::to_string(found.low) + ".." + std::to_string(found.end));
  slicer_->partition_found(std::move(partition), now());
  if (found.low > found.start) {
    slicer_->low_observed(tp, found.low, found.end, now());
  }
}

// --- Workers -----------------------------------------------------------------------------------

WorkerLink* JobRuntime::link(std::uint32_t slot, std::uint64_t incarnation) {
  if (slot >= links_.size() || !links_[slot]) return nullptr;
  return links_[slot]->incarnation() == incarnation ? links_[slot].get() : nullptr;
}

void JobRuntime::reported(std::uint32_t slot, std::uint64_t incarnation,
                          const ipc::ReceivedReport& received) {
  const auto kind = static_cast<ipc::ReportKind>(received.report.kind);
  const bool of_chain = received.report.slice_id == 0;
  if (of_chain && (kind == ipc::ReportKind::Failed || kind == ipc::ReportKind::Waiting)) {
    return chain_reported(slot, received);
  }
  if (kind == ipc::ReportKind::Ready) {
    const auto pid = links_[slot]->pid();
    chain_problems_.erase(slot);
    supervisor_->ready(slot, incarnation, now());
    slicer_->worker_ready(slot, {incarnation, pid}, now());
    if (observer_) observer_->worker_ready(slot, pid);
  }
  slicer_->report(slot, incarnation, received.report, received.text, now());
  if (observer_) observer_->reported(slot, received.report);
}

// The plugins as a whole, before there is a slice: they wait for their outside world, or cannot
// start.
void JobRuntime::chain_reported(std::uint32_t slot, const ipc::ReceivedReport& received) {
  const auto text = ipc::decode_failure_text(received.text);
  const auto problem = (text.plugin.empty() ? std::string{} : text.plugin + ": ") + text.message;
  const auto failure = static_cast<ipc::FailureClass>(received.report.failure);
  if (failure == ipc::FailureClass::Configuration) return fail(ErrorCode::Configuration, problem);
  chain_problems_[slot] = problem;
  log_.with_worker(slot).limited(log::Level::Warning, "chain." + std::to_string(slot), problem);
}

void JobRuntime::reports_drained() {
  decide();
}

void JobRuntime::violated(std::uint32_t slot, std::uint64_t incarnation, const std::string& rule) {
  std::vector<supervisor::Action> actions;
  supervisor_->violation(slot, incarnation, rule, now(), actions);
  supervise(actions);
}

void JobRuntime::crash_noted(std::uint32_t slot, std::uint64_t incarnation,
                             const ipc::CrashNote& note) {
  supervisor_->crash_noted(slot, incarnation, note, now());
}

void JobRuntime::exited(std::uint32_t slot, std::uint64_t incarnation,
                        const supervisor::ReapedWorker& reaped) {
  worker_cpu_us_ += reaped.user_us + reaped.system_us;
  std::vector<supervisor::Action> actions;
  supervisor_->exited(slot, incarnation, reaped.status, now(), actions);
  // The link was drained before it told us; its descriptors go now, but not under its own feet.
  services_.loop.post([dead = std::shared_ptr<WorkerLink>(std::move(links_[slot]))] {});
  supervise(actions);
  decide();
}

// --- Time --------------------------------------------------------------------------------------

void JobRuntime::tick() {
  for (const auto& worker : links_) {
    if (worker) worker->tick();
  }
  pass_pulses();
  std::vector<supervisor::Action> actions;
  supervisor_->tick(now(), actions);
  supervise(actions);
  committer_->tick();
  decide();
}

void JobRuntime::pass_pulses() {
  const auto snapshot = slicer_->snapshot(now());
  supervisor_->kafka(kafka_problem_.empty() ? supervisor::KafkaState::Answering
                                            : supervisor::KafkaState::Away);
  for (const auto& worker : links_) {
    if (!worker) continue;
    const bool loaded =
        worker->slot() < snapshot.slots.size() && snapshot.slots[worker->slot()].in_flight > 0;
    supervisor_->pulse(worker->slot(), worker->incarnation(), worker->pulse(),
                       loaded ? supervisor::Workload::InFlight : supervisor::Workload::None, now());
  }
}

void JobRuntime::arm_deadline() {
  const auto due = slicer_->next_deadline();
  if (due == deadline_) return;
  deadline_ = due;
  deadline_watch_.reset();
  if (!due) return;
  const auto delay = std::max(Milliseconds{0}, *due - now());
  deadline_watch_ = services_.loop.after(delay, [this] {
    deadline_.reset();
    decide();
  });
}

// --- Decisions ---------------------------------------------------------------------------------

void JobRuntime::decide() {
  if (!slicer_ || ending_) return;
  // What is carried out below may bring an event (a ring that is full): decided after this round.
  if (deciding_) {
    decide_again_ = true;
    return;
  }
  deciding_ = true;
  do {
    decide_again_ = false;
    slicer_->step(now(), actions_);
    for (const auto& commands : actions_.commands) publish(commands);
    for (const auto& violation : actions_.violations) {
      violated(violation.slot, violation.incarnation,
               std::string{slicer::rule_name(violation.rule)});
    }
    sample(actions_);
    for (const auto& halted : actions_.halted) log_halted(log_, plan_.config.topics, halted);
    for (const auto& notice : actions_.notices) log_notice(log_, plan_.config.topics, notice);
    if (actions_.job_failure) {
      fail(ErrorCode::Configuration, actions_.job_failure->error.message);
    }
    if (actions_.ended && !outcome_) outcome_ = actions_.ended;
  } while (decide_again_);
  deciding_ = false;
  persist();
  arm_deadline();
  finish_if_done();
}

void JobRuntime::publish(const slicer::SlotCommands& commands) {
  auto* const worker = link(commands.slot, commands.incarnation);
  if (worker == nullptr) return;  // gone meanwhile: worker_lost gives its slices back
  const auto published = worker->publish(commands.commands);
  if (published) return;
  log_.with_worker(commands.slot).error(published.error().message());
  violated(commands.slot, commands.incarnation, "command_ring_full");
}

void JobRuntime::supervise(const std::vector<supervisor::Action>& actions) {
  for (const auto& action : actions) {
    std::visit([this](const auto& one) { carry_out(one); }, action);
  }
}

void JobRuntime::carry_out(const supervisor::Spawn& spawn) {
  WorkerLinkOptions options;
  options.executable = services_.worker_executable;
  options.title = "sluice-worker: " + plan_.config.name + "/" + std::to_string(spawn.slot);
  options.slot = spawn.slot;
  options.incarnation = spawn.incarnation;
  options.host_alive = services_.host_alive;
  options.state_lock = services_.state_lock;
  options.start_parameters =
      worker::encode(start_parameters(plan_.config, plan_.plugins, services_.kafka,
                                      stored_.execution.number, spawn.slot, spawn.incarnation));
  auto spawned = WorkerLink::spawn(options, services_.loop, log_.with_worker(spawn.slot), *this);
  if (spawned) {
    links_[spawn.slot] = *std::move(spawned);
    supervisor_->spawned(spawn.slot, spawn.incarnation, links_[spawn.slot]->pid(), now());
    return;
  }
  log_.with_worker(spawn.slot).error(spawned.error().message());
  std::vector<supervisor::Action> actions;
  supervisor_->spawn_failed(spawn.slot, spawn.incarnation, spawned.error().message(), now(),
                            actions);
  supervise(actions);
}

void JobRuntime::carry_out(const supervisor::Stop& stop) {
  auto* const worker = link(stop.slot, stop.incarnation);
  if (worker == nullptr) return;
  ipc::Command command;
  command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Stop);
  const auto published = worker->publish({&command, 1});
  if (!published) violated(stop.slot, stop.incarnation, "command_ring_full");
}

void JobRuntime::carry_out(const supervisor::Signal& signal) {
  auto* const worker = link(signal.slot, signal.incarnation);
  if (worker == nullptr) return;
  log_.with_worker(signal.slot)
      .warning("signal " + std::to_string(signal.number) + " to pid " +
               std::to_string(worker->pid()) + ": " + signal.why);
  if (const auto sent = worker->signal(signal.number); !sent) {
    log_.with_worker(signal.slot).error(sent.error().message());
  }
}

void JobRuntime::carry_out(const supervisor::Lost& lost) {
  const bool expected = lost.accusation.cause == slicer::LossCause::Stopped;
  if (!expected) {
    ++worker_restarts_;
    log_.with_worker(lost.slot).warning("worker is gone: " + lost.accusation.text);
  }
  slicer_->worker_lost(lost.slot, lost.incarnation, lost.accusation, now());
  if (observer_ && !expected) observer_->worker_lost(lost.slot, lost.accusation);
}

void JobRuntime::carry_out(const supervisor::JobFailed& failed) {
  fail(ErrorCode::Configuration, failed.reason);
}

void JobRuntime::carry_out(const supervisor::Drained&) {
  drained_ = true;
  finish_if_done();
}

void JobRuntime::sample(const slicer::Actions& actions) {
  const auto names = [this](const std::vector<slicer::TopicPartition>& partitions) {
    std::vector<kafka::TopicPartition> named;
    for (const auto tp : partitions) named.push_back(name_of(tp));
    return named;
  };
  if (!actions.sample_ends.empty()) {
    sampler_->ends(names(actions.sample_ends), [this](const auto& got) { ends_sampled(got); });
  }
  if (!actions.sample_lows.empty()) {
    sampler_->lows(names(actions.sample_lows), [this](const auto& got) { lows_sampled(got); });
  }
}

void JobRuntime::ends_sampled(const std::vector<LogSampler::Sample>& samples) {
  kafka_problem_.clear();
  for (const auto& sample : samples) {
    const auto tp = tp_of(sample.where);
    if (sample.end) {
      slicer_->end_observed(tp, *sample.end, sample.leader, now());
    } else {
      kafka_problem_ = sample.why;
      slicer_->sample_failed(tp, now());
    }
  }
  if (!kafka_problem_.empty()) {
    log_.limited(log::Level::Warning, "kafka.ends", "end offsets: " + kafka_problem_);
  }
  decide();
}

void JobRuntime::lows_sampled(const std::vector<LogSampler::Sample>& samples) {
  for (const auto& sample : samples) {
    if (sample.low && sample.end) {
      slicer_->low_observed(tp_of(sample.where), *sample.low, *sample.end, now());
    } else {
      slicer_->sample_failed(tp_of(sample.where), now());
    }
  }
  decide();
}

// --- Durability --------------------------------------------------------------------------------

// The state thread spaces the commits (R3) and repeats a failed one until the disk takes it;
// nothing is claimed before.
void JobRuntime::persist() {
  if (changes_under_way_ || !slicer_->has_changes()) return;
  changes_under_way_ = true;
  auto changes = slicer_->take_changes(now());
  const auto set = changes.token;
  services_.state.apply(
      plan_.config.name, std::move(changes),
      [this, set, token = lifetime_.token(), &loop = services_.loop](const Result<>& result) {
        loop.post([this, set, token, result] {
          if (const auto alive = token.lock()) persisted(set, result);
        });
      });
}

void JobRuntime::persisted(std::uint64_t set, const Result<>& result) {
  changes_under_way_ = false;
  if (!result) return fail(result.error().code(), result.error().message());
  for (const auto& commit : slicer_->persisted(set, now())) {
    committer_->advance(name_of(commit.tp), commit.offset);
  }
  committer_->flush();
  decide();
}

// --- The end -----------------------------------------------------------------------------------

void JobRuntime::stop() {
  if (state_ >= JobState::Stopping) return;
  log_.info("stopping: workers finish what they hold");
  drain();
}

void JobRuntime::fail(ErrorCode code, std::string reason) {
  if (!reason_.empty() || ending_) return;
  log_.error(reason);
  failure_ = code;
  reason_ = std::move(reason);
  outcome_ = slicer::Outcome::Failed;
  drain();
}

void JobRuntime::drain() {
  state_ = JobState::Stopping;
  discovery_watch_.reset();
  if (slicer_) slicer_->stop(now());
  std::vector<supervisor::Action> actions;
  if (supervisor_) supervisor_->drain(now(), actions);
  supervise(actions);
  // A store that takes nothing must not hold the host for ever: what is lost is only proof of work,
  // and the slices run again (at least once).
  const auto patience = Milliseconds{plan_.config.task_stop_timeout_ms} + kCommitPatience;
  end_watch_ = services_.loop.after(patience, [this] { commit_and_end(); });
  if (!supervisor_) {  // nothing has been started yet
    drained_ = true;
    if (!outcome_) outcome_ = slicer::Outcome::Stopped;
  }
  decide();
  finish_if_done();
}

void JobRuntime::finish_if_done() {
  if (ending_ || !outcome_) return;
  if (!drained_) {
    // Everything is settled: the workers may go.
    std::vector<supervisor::Action> actions;
    if (state_ == JobState::Running) {
      state_ = JobState::Stopping;
      supervisor_->drain(now(), actions);
    }
    return supervise(actions);
  }
  if (changes_under_way_ || (slicer_ && slicer_->has_changes())) return;
  commit_and_end();
}

void JobRuntime::commit_and_end() {
  if (std::exchange(ending_, true)) return;
  deadline_watch_.reset();
  end_watch_ = services_.loop.after(kCommitPatience, [this] { end_execution(); });
  if (!committer_) return end_execution();
  committer_->when_idle([this] { end_execution(); });
}

void JobRuntime::end_execution() {
  end_watch_.reset();
  tick_watch_.reset();
  state_ = job_state_of(outcome_.value_or(slicer::Outcome::Stopped));
  ended_at_ = now();
  log_.info("execution " + std::to_string(stored_.execution.number) + " is " +
            std::string{job_state_name(state_)});
  services_.state.run([this, token = lifetime_.token(), &loop = services_.loop,
                       job = plan_.config.name, number = stored_.execution.number,
                       reached = execution_state_of(state_), reason = reason_,
                       unix_ms = services_.clock.unix_ms()](state::StateStore& store) {
    auto result =
        number == 0 ? Result<>{} : store.set_execution_state(job, number, reached, reason, unix_ms);
    loop.post([this, token, result = std::move(result)] {
      const auto alive = token.lock();
      if (!alive) return;
      if (!result) log_.error("end of the execution: " + result.error().message());
      ended_();
    });
  });
}

// --- Status ------------------------------------------------------------------------------------

JobStatus JobRuntime::status() const {
  JobStatus status;
  status.name = plan_.config.name;
  status.mode =
      plan_.config.mode == config::Mode::Once ? JobStatus::Mode::Once : JobStatus::Mode::Persistent;
  status.state = state_;
  status.failure = failure_;
  status.reason = reason_;
  status.execution = stored_.execution.number;
  status.topics = plan_.config.topics;
  if (slicer_) status.slices = slicer_->snapshot(now());
  if (supervisor_) status.workers = supervisor_->status();
  for (const auto& problem : topic_problems_) {
    status.waiting.push_back("topic " + problem.topic + ": " + problem.why);
  }
  if (!kafka_problem_.empty()) status.waiting.push_back("kafka: " + kafka_problem_);
  for (const auto& [slot, problem] : chain_problems_) {
    status.waiting.push_back("worker " + std::to_string(slot) + ": " + problem);
  }
  if (committer_ && !committer_->conflict().empty())
    status.waiting.push_back(committer_->conflict());
  status.worker_restarts = worker_restarts_;
  status.worker_cpu_us = worker_cpu_us_;
  status.elapsed_ms = static_cast<std::uint64_t>((ended_at_.value_or(now()) - started_).count());
  return status;
}

std::vector<state::SliceRow> JobRuntime::open_slices() const {
  return slicer_ ? slicer_->open_slices() : std::vector<state::SliceRow>{};
}

kafka::HostClient& JobRuntime::client() const {
  return plan_.config.isolation_level == config::Isolation::ReadCommitted
             ? services_.read_committed
             : services_.read_uncommitted;
}

kafka::TopicPartition JobRuntime::name_of(slicer::TopicPartition tp) const {
  return {plan_.config.topics[tp.topic], tp.partition};
}

slicer::TopicPartition JobRuntime::tp_of(const kafka::TopicPartition& where) const {
  const auto& topics = plan_.config.topics;
  const auto found = std::find(topics.begin(), topics.end(), where.topic);
  SLUICE_ASSERT(found != topics.end(), where.topic);
  return {static_cast<std::uint16_t>(found - topics.begin()), where.partition};
}

std::string JobRuntime::text_of(slicer::TopicPartition tp) const {
  return plan_.config.topics[tp.topic] + "-" + std::to_string(tp.partition);
}

}  // namespace sluice::job
