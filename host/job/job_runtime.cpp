#include "host/job/job_runtime.hpp"

#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"
#include "host/job/command_publisher.hpp"
#include "host/job/notice_log.hpp"
#include "host/job/worker_setup.hpp"

namespace sluice::job {
namespace {

constexpr Milliseconds kDiscoveryRetry{1000};
/// How long an ending job waits for the group to take its last offsets. They are durable here, so
/// a broker that is away must not hold up the stop.
constexpr Milliseconds kCommitPatience{3000};
/// How long a job that was told to end, and whose workers are gone, waits for the state store to
/// take something.
constexpr Milliseconds kStorePatience{3000};
/// With all brokers away it is all partitions; status shows one of them.
constexpr std::size_t kUnansweredMax = 100;

}  // namespace

JobRuntime::JobRuntime(const HostServices& services, JobPlan plan, JobObserver* observer,
                       std::function<void()> ended)
    : services_{services},
      plan_{std::move(plan)},
      observer_{observer},
      ended_{std::move(ended)},
      log_{services.log.with_job(plan_.config.name)},
      random_{Random::system_seed()},
      topics_{plan_.config.topics} {}

JobRuntime::~JobRuntime() = default;

// --- Start -------------------------------------------------------------------------------------

void JobRuntime::start(StartBy by) {
  started_ = now();
  const auto mode = plan_.config.mode == config::Mode::Once ? state::ExecutionMode::Once
                                                            : state::ExecutionMode::Persistent;
  services_.state.run([this, token = lifetime_.token(), &loop = services_.loop, mode,
                       job = plan_.config.name, by,
                       unix_ms = services_.clock.unix_ms()](state::StateStore& store) {
    auto stored =
        std::make_shared<Result<StoredJob>>(resume_or_begin(store, job, mode, unix_ms, by));
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
  first_start_ = stored_.partitions.empty();
  Frontiers frontiers;
  for (const auto& [where, row] : stored_.partitions) {
    const auto& pattern = plan_.config.topic_pattern;
    if (pattern && pattern->matches(where.topic)) learn_topic(where.topic);
    frontiers.emplace(where,
                      StoredFrontier{row.frontier, row.lowered_from, stored_.is_outdated(row)});
  }
  stored_frontiers_ = std::make_shared<const Frontiers>(std::move(frontiers));
  if (state_ != JobState::Starting) return;  // stopped meanwhile
  if (stored_.rests) return rest();
  if (!pause_said_) paused_ = stored_.paused;
  if (!stored_.start_from.empty() && !plan_.from) {
    const auto from = parse_start_from(stored_.start_from);
    if (!from) return fail(from.error().code(), from.error().message());
    plan_.from = *from;
  }
  make_cores();
  if (state_ == JobState::Starting) discover_partitions();
}

/// Not started: known, as it was left.
void JobRuntime::rest() {
  state_ = job_state_of(stored_.execution.state);
  reason_ = stored_.execution.reason;
  ended_at_ = now();
  ending_ = true;
  log_.info("is " + std::string{job_state_name(state_)} + " and stays so until it is resumed");
  over_ = true;
  ended_();
}

void JobRuntime::make_cores() {
  auto options = slicer_options(plan_.config, services_.clock);
  options.execution = stored_.execution.number;
  options.next_slice_id = stored_.next_slice_id;
  options.gaps_before = stored_.gaps;
  options.stable_slices = plan_.stable_slices;
  options.workers_first = stored_.first_count({}, 0);
  options.slices_per_second_max = services_.slices_per_second_max;
  if (const auto valid = slicer::validate(options); !valid) {
    return fail(valid.error().code(), valid.error().message());
  }
  slicer_ = std::make_unique<slicer::Slicer>(options, Random{random_.next()});
  if (paused_) slicer_->pause();
  supervisor_ = std::make_unique<supervisor::Supervisor>(
      supervisor_options(plan_.config, services_.incarnation), Random{random_.next()});
  links_.resize(static_cast<std::size_t>(plan_.config.tasks_max + plan_.config.worker_standby));
  committer_ = std::make_unique<GroupCommitter>(
      client(), services_.clock, log_, group_name(plan_.config.name),
      commit_metadata(services_.store_id, services_.incarnation));
  committer_->when_conflict([this] { group_lost(); });
  sampler_ = std::make_unique<LogSampler>(client(), services_.read_uncommitted,
                                          services_.kafka_thread, services_.loop);
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
  request.pattern = plan_.config.topic_pattern;
  request.frontiers = stored_frontiers_;
  request.resolved = resolved_;
  request.reset = reset_policy(plan_.config);
  request.start_timestamp_ms = plan_.config.slicer_start_timestamp_ms;
  request.from = first_discovery_ ? plan_.from : std::nullopt;
  if (first_discovery_) request.dead_letters = dead_letter_topic(plan_.config, services_.kafka);
  request.appeared = first_discovery_ && first_start_ ? StartQuestion::Appeared::AtFirstStart
                                                      : StartQuestion::Appeared::Later;
  ask_on(
      services_.kafka_thread, services_.loop, lifetime_.token(),
      [&kafka = client(), request = std::move(request)] { return discover(kafka, request); },
      [this](Result<Discovery> discovery) { discovered(std::move(discovery)); });
}

void JobRuntime::discovered(Result<Discovery> discovery) {
  if (state_ > JobState::Running || !committer_->conflict().empty()) return;
  group_problem_ = discovery ? discovery->conflict : std::string{};
  auto again_after = Milliseconds{plan_.config.expansion_detect_ms};
  if (!discovery) {
    kafka_problem_ = discovery.error().message();
    log_.limited(log::Level::Warning, "kafka.discovery", kafka_problem_ + "; trying again");
    again_after = kDiscoveryRetry;
  } else if (discovery->refusal) {
    return fail(discovery->refusal->code, discovery->refusal->sentence);
  } else if (!group_problem_.empty()) {
    log_.limited(log::Level::Warning, "group.members", group_problem_ + "; waiting for that");
    again_after = kDiscoveryRetry;
  } else {
    kafka_problem_.clear();
    for (const auto& warning : discovery->warnings) log_.warning(warning);
    for (const auto& note : discovery->notes) log_.info(note);
    topic_problems_ = std::move(discovery->waiting);
    for (const auto& problem : topic_problems_) {
      log_.limited(log::Level::Warning, "topic." + problem.topic,
                   "topic " + problem.topic + ": " + problem.why + "; waiting for it");
    }
    note_absent_topics(discovery->topics);
    for (const auto& found : discovery->found) {
      if (learn_topic(found.where.topic)) add_partition(found, discovery->topics);
    }
    if (stored_.partitions.empty()) stored_frontiers_.reset();
    tell_topics(discovery->topics);
    // A once job takes the ends of all its topics before it can know that it is done.
    const bool complete = plan_.config.mode == config::Mode::Persistent || topic_problems_.empty();
    if (first_discovery_ && complete) {
      if (topic_problems_.empty()) warn_of_idle_workers();
      slicer_->discovery_done(now());
      state_ = JobState::Running;
      start_from_used_ = plan_.from.has_value();
    }
    first_discovery_ = first_discovery_ && !complete;
    decide();
  }
  if (plan_.config.mode == config::Mode::Once && state_ != JobState::Starting) return;
  discovery_watch_ = services_.loop.after(again_after, [this] { discover_partitions(); });
}

// S3 at run time: whoever lives in the group works on the same partitions.
void JobRuntime::group_lost() {
  group_problem_ = committer_->conflict();
  discovery_watch_.reset();
  slicer_->halt_all({.stage = "GROUP", .plugin = {}, .code = 0, .message = group_problem_}, now());
  decide();
}

// --- Decisions ---------------------------------------------------------------------------------

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
    for (const auto& worker : actions_.fresh_workers) refresh(worker);
    for (const auto& violation : actions_.violations) {
      violated(violation.slot, violation.incarnation,
               std::string{slicer::rule_name(violation.rule)});
    }
    sample(actions_);
    for (const auto& halted : actions_.halted) log_halted(log_, topics_, halted);
    for (const auto& notice : actions_.notices) log_notice(log_, topics_, notice);
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
  const auto published = job::publish(*worker, commands.commands, actions_, plan_.plugins);
  if (published) return;
  log_.with_worker(commands.slot).error(published.error().message());
  violated(commands.slot, commands.incarnation, "command_ring_full");
}

void JobRuntime::sample(const slicer::Actions& actions) {
  const auto about = [this](const std::vector<slicer::TopicPartition>& partitions) {
    std::vector<LogSampler::Question> questions;
    questions.reserve(partitions.size());
    for (const auto tp : partitions) questions.push_back({name_of(tp), slicer_->promised_end(tp)});
    return questions;
  };
  if (!actions.sample_ends.empty()) {
    sampler_->ends(about(actions.sample_ends), [this](const auto& got) { ends_sampled(got); });
  }
  if (!actions.sample_lows.empty()) {
    sampler_->lows(about(actions.sample_lows), [this](const auto& got) { lows_sampled(got); });
  }
}

void JobRuntime::ends_sampled(const std::vector<LogSampler::Sample>& samples) {
  kafka_problem_.clear();
  std::string held_back;
  for (const auto& sample : samples) {
    const auto tp = tp_of(sample.where);
    if (sample.end) {
      unanswered_.erase(sample.where);
      slicer_->end_observed(tp, *sample.end, sample.leader, now());
    } else {
      if (unanswered_.size() < kUnansweredMax) unanswered_[sample.where] = sample.why;
      (sample.is_held_back ? held_back : kafka_problem_) = sample.why;
      slicer_->sample_failed(tp, now());
    }
  }
  if (!held_back.empty()) log_.limited(log::Level::Warning, "kafka.transaction", held_back);
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
  if (changes_under_way_ || store_refuses_ || !slicer_->has_changes()) return;
  changes_under_way_ = true;
  state::JobChanges changes{name(), slicer_->take_changes(now()),
                            std::exchange(start_from_used_, false)};
  const auto set = changes.changes.token;
  for (auto& gap : std::exchange(passed_ranges_, {}))
    changes.changes.gaps.push_back(std::move(gap));
  services_.state.apply(std::move(changes), [this, set, token = lifetime_.token(),
                                             &loop = services_.loop](const Result<>& result) {
    loop.post([this, set, token, result] {
      if (const auto alive = token.lock()) persisted(set, result);
    });
  });
}

void JobRuntime::persisted(std::uint64_t set, const Result<>& result) {
  changes_under_way_ = false;
  if (ending_) return;
  if (!result) {
    store_refuses_ = true;  // for good: what it may do about its set the state thread has tried
    return fail(result.error().code(), result.error().message());
  }
  store_watch_.reset();  // it takes rows, if slowly: who waits for it waits for the next ones anew
  for (const auto& commit : slicer_->persisted(set, now())) {
    committer_->advance(name_of(commit.tp), commit.offset);
  }
  committer_->flush();
  decide();
}

// --- Recover -----------------------------------------------------------------------------------

void JobRuntime::recover(const RecoverRequest& request,
                         std::function<void(Result<RecoverAnswer>)> answer) {
  if (state_ != JobState::Running) {
    return answer(Error{ErrorCode::Refused, "job " + name() + " is " +
                                                std::string{job_state_name(state_)} +
                                                "; only a running job can recover slices"});
  }
  services_.state.run([this, token = lifetime_.token(), &loop = services_.loop, job = name(),
                       request, answer = std::move(answer)](state::StateStore& store) {
    auto rows = std::make_shared<Result<std::vector<state::SliceRow>>>(store.recoverable(job));
    loop.post([this, token, request, answer, rows] {
      const auto alive = token.lock();
      if (!alive) return;
      if (!*rows) return answer(rows->error());
      auto selected = select_slices(request, **std::move(rows), topics_);
      if (!request.dry_run) start_recovery(selected.slices);
      answer(std::move(selected));
    });
  });
}

void JobRuntime::start_recovery(const std::vector<state::SliceRow>& rows) {
  std::map<kafka::TopicPartition, std::vector<state::SliceRow>> by_partition;
  for (const auto& row : rows) {
    by_partition[kafka::TopicPartition{row.topic, row.partition}].push_back(row);
  }
  std::uint64_t started = 0;
  for (const auto& [where, of_partition] : by_partition) {
    started += slicer_->recover(tp_of(where), of_partition, now()).slices;
  }
  if (started > 0) log_.info("recover: " + std::to_string(started) + " slices run again");
  decide();
}

// --- The end -----------------------------------------------------------------------------------

void JobRuntime::stop() {
  if (std::exchange(told_to_end_, true)) return;
  if (state_ >= JobState::Stopping) return finish_if_done();
  log_.info("stopping: workers finish what they hold");
  drain();
}

void JobRuntime::fail(ErrorCode code, std::string reason) {
  if (!reason_.empty() || ending_) return;
  log_.error(reason);
  failure_ = code;
  reason_ = std::move(reason);
  outcome_ = slicer::Outcome::Failed;
  told_to_end_ = true;
  drain();
}

void JobRuntime::drain() {
  state_ = JobState::Stopping;
  discovery_watch_.reset();
  if (slicer_) slicer_->stop(now());
  std::vector<supervisor::Action> actions;
  if (supervisor_) supervisor_->drain(now(), actions);
  supervise(actions);
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
  if (ending_) return;
  // A job that ends by itself waits for the store; one that was told to end has no time for that.
  if (told_to_end_ && drained_ && has_unrecorded() && !store_watch_) {
    store_watch_ = services_.loop.after(kStorePatience, [this] { leave_unrecorded(); });
  }
  if (!outcome_) return;
  if (!drained_) {
    // Everything is settled: the workers may go.
    std::vector<supervisor::Action> actions;
    if (state_ == JobState::Running) {
      state_ = JobState::Stopping;
      supervisor_->drain(now(), actions);
    }
    return supervise(actions);
  }
  if (!has_unrecorded()) commit_and_end();
}

bool JobRuntime::has_unrecorded() const {
  return !store_refuses_ && (changes_under_way_ || (slicer_ && slicer_->has_changes()));
}

/// The store takes nothing. What is lost is only proof of work: the slices run again (D1).
void JobRuntime::leave_unrecorded() {
  if (has_unrecorded() && outcome_ != slicer::Outcome::Failed) {
    outcome_ = slicer::Outcome::Failed;
    failure_ = ErrorCode::Io;
    reason_ =
        "stopped before the state store took what is done; the next start delivers that again";
    log_.error(reason_);
  }
  commit_and_end();
}

void JobRuntime::commit_and_end() {
  if (std::exchange(ending_, true)) return;
  deadline_watch_.reset();
  store_watch_.reset();
  end_watch_ = services_.loop.after(kCommitPatience, [this] { end_execution(); });
  if (!committer_) return end_execution();
  committer_->when_idle([this] { end_execution(); });
}

void JobRuntime::end_execution() {
  end_watch_ = services_.loop.after(kStorePatience, [this] {
    log_.error("the end of the execution is not on record: the state store takes no rows");
    over();
  });
  tick_watch_.reset();
  due_watch_.reset();
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
      over();
    });
  });
}

void JobRuntime::over() {
  end_watch_.reset();
  if (!std::exchange(over_, true)) ended_();
}

// --- Status ------------------------------------------------------------------------------------

JobStatus JobRuntime::status() const {
  JobStatus status;
  status.name = plan_.config.name;
  status.mode =
      plan_.config.mode == config::Mode::Once ? JobStatus::Mode::Once : JobStatus::Mode::Persistent;
  status.state = state();
  status.failure = failure_;
  status.reason = reason_;
  status.execution = stored_.execution.number;
  status.topics = topics_;
  if (slicer_) {
    status.slices = slicer_->snapshot(now());
  } else {
    status.slices.partitions = stored_partitions();
  }
  if (supervisor_) status.workers = supervisor_->status();
  for (const auto& problem : topic_problems_) {
    status.waiting.push_back("topic " + problem.topic + ": " + problem.why);
  }
  if (!kafka_problem_.empty()) {
    status.waiting.push_back("kafka: " + kafka_problem_);
  } else if (!unanswered_.empty()) {
    status.waiting.push_back("kafka: " + unanswered_.begin()->second);
  }
  for (const auto& [slot, problem] : chain_problems_) {
    status.waiting.push_back("worker " + std::to_string(slot) + ": " + problem);
  }
  if (!group_problem_.empty()) status.waiting.push_back(group_problem_);
  status.taken_at = now();
  for (const auto& worker : status.workers) {
    if (const auto still = stuck_for(worker, now())) {
      status.waiting.push_back("worker " + std::to_string(worker.slot) + ": " +
                               std::string{ipc::phase_name(worker.phase)} +
                               " has shown nothing new for " +
                               std::to_string(still->count() / 1000) + " s");
    }
  }
  status.worker_restarts = worker_restarts_;
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
  return {topics_[tp.topic], tp.partition};
}

slicer::TopicPartition JobRuntime::tp_of(const kafka::TopicPartition& where) const {
  const auto found = std::find(topics_.begin(), topics_.end(), where.topic);
  SLUICE_ASSERT(found != topics_.end(), where.topic);
  return {static_cast<std::uint16_t>(found - topics_.begin()), where.partition};
}

std::string JobRuntime::text_of(slicer::TopicPartition tp) const {
  return topics_[tp.topic] + "-" + std::to_string(tp.partition);
}

}  // namespace sluice::job
