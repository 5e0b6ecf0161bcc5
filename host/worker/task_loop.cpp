#include "host/worker/task_loop.hpp"

#include <algorithm>
#include <utility>

namespace sluice::worker {

using ipc::Counter;
using ipc::FailureClass;
using ipc::Phase;

namespace {

constexpr std::int64_t kUsPerMs = 1000;
/// SEEN of one partition at most so often (slicer.md C2: a hint, coalesced).
constexpr std::int64_t kSeenIntervalUs = 1000;
/// The longest sleep: the loop must be seen turning, and the source wants to be polled.
constexpr std::int64_t kSleepMaxUs = 100 * kUsPerMs;
constexpr std::int64_t kPollIntervalUs = 100 * kUsPerMs;
/// Above this, partitions that have nothing to do are closed at the source: it is as many as
/// worker.credit.slices lets run at a time. The host takes a worker that has more of them for one
/// that does not see all ends (host/slicer/sensing.cpp).
constexpr std::size_t kAwakePartitionsMax = 256;
/// A look at all that are awake costs about 1 us each: beside work not more than a 16th of the
/// time.
constexpr std::int64_t kLookIntervalUs = 16;
/// First delay before a call is repeated; doubles to errors.retry.delay.max.ms (slicer.md 4).
constexpr std::int64_t kRetryDelayUs = 100 * kUsPerMs;
/// The longest pause that a plugin gets (abi.h): what an outside system names may be any number.
constexpr std::int64_t kRetryAfterMaxMs = 900'000;

}  // namespace

TaskLoop::TaskLoop(const StartParameters& parameters, std::vector<ChainLink> links,
                   ipc::WorkerChannel& channel, RecordSource& records, LogPipe& log, TaskTime& time,
                   Random random, dead_letter::OpenOutlet open_outlet)
    : parameters_{parameters},
      channel_{channel},
      records_{records},
      log_{log},
      time_{time},
      random_{random},
      outbox_{channel},
      intake_{parameters, channel, outbox_},
      runner_{parameters,
              std::move(links),
              std::move(open_outlet),
              intake_,
              outbox_,
              channel,
              log,
              *this,
              time} {}

int TaskLoop::run() {
  bool is_ready = false;
  while (!must_leave()) {
    channel_.pulse().beat();
    intake_.take();
    if (intake_.is_stop_requested()) {
      stop();
      continue;
    }
    if (intake_.is_revoke_pending()) carry_out_revokes();
    if ((!is_ready || is_work_waiting()) && !ensure_chain()) continue;
    if (!is_ready) {
      outbox_.ready();
      is_ready = true;
    }
    if (runner_.has_pending()) {
      runner_.rerun_next();
      continue;
    }
    if (!work()) rest();
  }
  return *exit_code_;
}

bool TaskLoop::must_leave() {
  if (exit_code_) return true;
  if (!intake_.nonsense().empty() || outbox_.is_broken()) {
    log_.say(LogLevel::Error,
             "the host cannot be understood: " +
                 (outbox_.is_broken() ? "the report ring is damaged" : intake_.nonsense()));
    exit_code_ = kExitInternal;
  }
  return exit_code_.has_value();
}

bool TaskLoop::is_work_waiting() const {
  if (runner_.has_pending()) return true;
  const auto& assignments = intake_.assignments();
  return std::any_of(assignments.begin(), assignments.end(),
                     [](const auto& assignment) { return !assignment->feed.slices().empty(); });
}

bool TaskLoop::ensure_chain() {
  PluginChain& chain = runner_.chain();
  if (chain.is_up()) return true;
  switch (chain.bring_up()) {
    case CallEnd::Ok:
      return true;
    case CallEnd::Interrupted:
      return false;
    case CallEnd::Failed:
      break;
  }
  leave_because_of(chain.failure());
  return false;
}

/// The chain cannot be started. Patience used up fails what waits and tries again with the next
/// slice; before READY there is nothing to fail, and a new process may find other circumstances.
void TaskLoop::leave_because_of(const PluginFailure& failure) {
  const bool is_patience_over = failure.failure_class == FailureClass::RetryUsedUp ||
                                failure.failure_class == FailureClass::NotConnected;
  if (is_patience_over && is_work_waiting()) return runner_.fail_everything(failure);
  outbox_.chain_failed(failure);
  runner_.chain().take_down(SLUICE_REASON_STOPPING);
  const bool is_configuration = failure.failure_class == FailureClass::Configuration;
  exit_code_ = is_configuration ? kExitConfiguration : kExitTryAgain;
}

// --- Work --------------------------------------------------------------------------------------

/// One batch, or the end of a slice, of the first partition that has something; false if none has.
bool TaskLoop::work() {
  look_around(time_.now_us());
  const auto& assignments = intake_.assignments();
  for (std::size_t tried = 0; tried < assignments.size(); ++tried) {
    if (turn_ >= assignments.size()) turn_ = 0;
    Assignment& assignment = *assignments[turn_];
    if (!assignment.feed.slices().empty() && step(assignment) == Step::Progress) return true;
    ++turn_;
  }
  return false;
}

bool TaskLoop::is_group_alone() const {
  const auto& runs = runner_.group().runs();
  return !runs.empty() && runs.back().slice->is_alone();
}

/// A suspect or a dead letter is a group of its own (slicer.md F1): nothing before, nothing after.
bool TaskLoop::must_flush_before(const SliceWork& slice) const {
  const auto& runs = runner_.group().runs();
  if (runs.empty() || runs.back().slice == &slice) return false;
  return slice.is_alone() || is_group_alone();
}

TaskLoop::Step TaskLoop::step(Assignment& assignment) {
  if (assignment.feed.slices().front()->has(ipc::kCompare)) return look_at_record(assignment);
  if (must_flush_before(*assignment.feed.slices().front())) {
    runner_.flush();
    return Step::Progress;
  }
  const std::int64_t before_us = time_.now_us();
  if (!ensure_open(assignment, before_us)) {
    // Starved while the source cannot open it; anything else has changed the queues.
    return assignment.feed.stall_due_us() ? Step::Starved : Step::Progress;
  }
  // While the chain opened it, retries may have waited, and revokes come.
  return assignment.feed.slices().empty() ? Step::Progress : advance(assignment);
}

TaskLoop::Step TaskLoop::advance(Assignment& assignment) {
  PartitionFeed& feed = assignment.feed;
  SliceWork& slice = *feed.slices().front();
  const std::int64_t before_us = time_.now_us();
  const std::int64_t stalled_us = feed.stalled_us(before_us);
  const Supply supply = feed.supply(parameters_.batch, before_us, runner_.retired());
  slice.times.fetch_us += static_cast<std::uint64_t>(time_.now_us() - before_us);
  if (supply != Supply::Starved) slice.times.wait_us += static_cast<std::uint64_t>(stalled_us);
  switch (supply) {
    case Supply::Batch:
      if (runner_.run_batch(assignment) && feed.next_offset() >= slice.command.end) {
        end_slice(assignment);
      } else if (runner_.is_flush_due(false)) {
        runner_.flush();
      }
      return Step::Progress;
    case Supply::End:
      end_slice(assignment);
      return Step::Progress;
    case Supply::Short:
    case Supply::Expired:
      end_short(assignment, supply);
      return Step::Progress;
    case Supply::Starved:
      // A suspect that waits must not hold up the others.
      if (is_group_alone() && !runner_.group().has_partial_stable_run()) runner_.flush();
      return Step::Starved;
  }
  return Step::Starved;
}

/// False: not open, nothing to be done with this partition in this turn.
bool TaskLoop::ensure_open(Assignment& assignment, std::int64_t now_us) {
  PartitionFeed& feed = assignment.feed;
  // Else no plugin is called (F3, F5).
  const SliceWork& first = *feed.slices().front();
  const bool needs_chain = !first.verdict && !first.has(ipc::kCompare);
  if (feed.is_open() && (assignment.is_open_in_chain || !needs_chain)) return true;
  if (!feed.is_open()) {
    if (feed.stall_due_us()) return false;  // break_stalls() tries again
    if (const auto opened = feed.open(records_, feed.slices().front()->durable); !opened) {
      feed.starve(now_us, opened.error().message());
      return false;
    }
  }
  if (assignment.is_open_in_chain || !needs_chain) return true;
  open_in_chain(assignment);
  return assignment.is_open_in_chain;
}

void TaskLoop::open_in_chain(Assignment& assignment) {
  // A reset now would concern slices that have nothing to do with it; half a stable one, which no
  // flush may end, puts up with that.
  if (!runner_.group().has_partial_stable_run()) runner_.flush();
  if (runner_.has_pending()) return;
  PartitionFeed& feed = assignment.feed;
  const TopicName& topic = intake_.topic(feed.topic());
  const sluice_partition partition{sizeof(sluice_partition), feed.topic(), topic.incarnation,
                                   feed.partition()};
  PluginChain& chain = runner_.chain();
  const CallEnd end = chain.open(partition);
  channel_.pulse().enter(Phase::Fetch);
  if (end == CallEnd::Ok) {
    assignment.is_open_in_chain = true;
    outbox_.opened(feed.topic(), feed.partition(), feed.next_offset());
    return;
  }
  if (end == CallEnd::Interrupted || feed.slices().empty()) return;
  const PluginFailure failure = chain.failure();
  const bool is_lost = failure.status == SLUICE_NOT_CONNECTED;
  runner_.give_up(is_lost ? std::optional{failure.stage_index} : std::nullopt);
  Attempts attempts;
  const std::int64_t timeout_ms = parameters_.retry.task_retry_timeout_ms;
  if (is_lost && wait(failure, attempts, timeout_ms) != Verdict::UsedUp) return;
  if (!feed.slices().empty()) runner_.fail_first_slice(assignment, failure);
}

void TaskLoop::end_slice(Assignment& assignment) {
  runner_.finish_slice(assignment);
  assignment.told_end = std::max(assignment.told_end, assignment.feed.next_offset());
  assignment.used = ++used_;
  ++turn_;
  if (is_group_alone() || runner_.is_flush_due(true)) runner_.flush();
}

/// The flush may have failed the slice, or have waited while it was taken back.
bool TaskLoop::is_front_after_flush(const Assignment& assignment, std::uint64_t slice_id) {
  const bool is_flushed = runner_.flush() == CallEnd::Ok && !runner_.has_pending();
  const auto& queue = assignment.feed.slices();
  return is_flushed && !queue.empty() && queue.front()->command.slice_id == slice_id;
}

/// The log ends inside the slice, or does not have its position any more: what is done of it
/// becomes durable, the rest goes back to the host, which alone may judge (slicer.md C3).
void TaskLoop::end_short(Assignment& assignment, Supply supply) {
  const std::uint64_t slice_id = assignment.feed.slices().front()->command.slice_id;
  const std::int64_t position = assignment.feed.next_offset();
  if (!is_front_after_flush(assignment, slice_id)) return;
  SliceWork* slice = assignment.feed.pop_slice();
  if (supply == Supply::Expired && slice->durable == slice->command.start) {
    outbox_.expired(*slice, position);
  } else {
    slice->durable = std::max(slice->durable, position);
    outbox_.released(*slice);
  }
  intake_.close_lane(assignment, slice->command);
  intake_.release_closed(assignment);
  intake_.free(slice);
}

// --- Rest --------------------------------------------------------------------------------------

void TaskLoop::rest() {
  looked_around_us_ = 0;
  look_around(time_.now_us());
  // Everything that is ready has run: what is complete becomes durable (D4).
  const FlushGroup& group = runner_.group();
  const bool is_flushable = group.has_complete_run() && !group.has_partial_stable_run();
  if (is_flushable || runner_.is_flush_due(false) || runner_.is_flush_overdue()) {
    runner_.flush();
    return;
  }
  runner_.free_unused_blocks();
  if (!exit_code_) pause();
}

/// What must be looked at although another partition keeps the loop busy: once a millisecond, with
/// many partitions less often.
void TaskLoop::look_around(std::int64_t now_us) {
  const auto awake = static_cast<std::int64_t>(intake_.assignments().size());
  if (now_us - looked_around_us_ < std::max(kSeenIntervalUs, awake * kLookIntervalUs)) return;
  looked_around_us_ = now_us;
  look_ahead(now_us);
  close_quiet();
  break_stalls(now_us);
  poll_source(now_us);
}

/// Partitions without an open slice: what has arrived in them is told to the slicer (C2).
void TaskLoop::look_ahead(std::int64_t now_us) {
  for (const auto& assignment : intake_.assignments()) {
    PartitionFeed& feed = assignment->feed;
    if (!feed.is_open() || !feed.slices().empty()) continue;
    feed.look_ahead(parameters_.batch, runner_.retired());
    const std::int64_t end = feed.visible_end();
    if (end <= assignment->told_end || now_us - assignment->told_us < kSeenIntervalUs) continue;
    assignment->told_end = end;
    assignment->told_us = now_us;
    outbox_.seen(feed.topic(), feed.partition(), end);
  }
}

/// The source keeps only so many partitions open: each Fetch names all of them (ipc facts 4.3). The
/// plugins keep what they opened. The host knows that nobody watches a partition of so many (C2).
void TaskLoop::close_quiet() {
  const auto& assignments = intake_.assignments();
  while (assignments.size() > kAwakePartitionsMax) {
    Assignment* const quiet = quietest();
    if (quiet == nullptr) return;
    if (quiet->feed.is_open()) quiet->feed.close(records_, runner_.retired());
    const auto place = std::find(assignments.begin(), assignments.end(), quiet);
    if (static_cast<std::size_t>(place - assignments.begin()) < turn_) --turn_;
    intake_.put_to_rest(*quiet);
  }
}

/// Has nothing to do and nothing to tell, for the longest time; null: there is none.
Assignment* TaskLoop::quietest() const {
  Assignment* quietest = nullptr;
  for (Assignment* const assignment : intake_.assignments()) {
    if (quietest != nullptr && quietest->used <= assignment->used) continue;
    const PartitionFeed& feed = assignment->feed;
    if (!feed.slices().empty() || assignment->to_revoke) continue;
    if (feed.is_open() && feed.visible_end() > assignment->told_end) continue;
    if (!runner_.concerns(*assignment)) quietest = assignment;
  }
  return quietest;
}

void TaskLoop::break_stalls(std::int64_t now_us) {
  for (const auto& assignment : intake_.assignments()) {
    PartitionFeed& feed = assignment->feed;
    if (feed.slices().empty()) continue;
    if (oversize_.explains(feed.stalled_us(now_us), now_us)) return fail_oversize(*assignment);
    if (!feed.stall_is_due(now_us)) continue;
    feed.break_stall(records_, now_us, runner_.retired());
    channel_.counters().add(Counter::Refetches);
    std::string why = "no record of " + feed.name() + " from offset " +
                      std::to_string(feed.next_offset()) + " on";
    const std::string& reason = feed.stall_reason().empty() ? source_says_ : feed.stall_reason();
    if (!reason.empty()) why += ": " + reason;
    outbox_.waiting(feed.slices().front(), FailureClass::Kafka, feed.stall_steps(),
                    feed.stalled_us(now_us), {"", "fetch", why});
  }
}

/// B11: the record at this position cannot come as long as the client's limits stand. Time does not
/// mend that, and only a person may skip it. What came before it becomes durable first.
void TaskLoop::fail_oversize(Assignment& assignment) {
  PartitionFeed& feed = assignment.feed;
  PluginFailure failure;
  failure.failure_class = FailureClass::Configuration;
  failure.text = {"", "fetch", oversize_.sentence(feed.name(), feed.next_offset())};
  for (const auto& other : intake_.assignments()) {
    const bool waits = other != &assignment && !other->feed.slices().empty() &&
                       other->feed.stall_due_us().has_value();
    if (!waits) continue;
    failure.text.message += "; " + other->feed.name() + " waits at offset " +
                            std::to_string(other->feed.next_offset()) + " as well";
  }
  const std::uint64_t slice_id = feed.slices().front()->command.slice_id;
  const std::int64_t position = feed.next_offset();
  if (!is_front_after_flush(assignment, slice_id)) return;
  SliceWork& slice = *feed.slices().front();
  slice.durable = std::max(slice.durable, position);
  runner_.fail_first_slice(assignment, failure);
}

void TaskLoop::poll_source(std::int64_t now_us) {
  if (now_us - polled_us_ < kPollIntervalUs) return;
  polled_us_ = now_us;
  for (SourceEvent& event : records_.poll()) {
    const bool is_fatal = event.kind == SourceEvent::Kind::Fatal;
    if (!event.repeated) log_.say(is_fatal ? LogLevel::Error : LogLevel::Warning, event.text);
    if (is_fatal) exit_code_ = kExitTryAgain;
    if (event.kind == SourceEvent::Kind::Disconnected) oversize_.forget();
    if (event.kind == SourceEvent::Kind::TooLarge) oversize_.note(now_us, event.text);
    source_says_ = std::move(event.text);
  }
  if (const std::uint32_t lost = log_.take_lost(); lost > 0) {
    channel_.counters().add(Counter::LogLinesLost, lost);
    outbox_.log_lost(lost);
  }
}

std::int64_t TaskLoop::pause_us(std::int64_t now_us) const {
  std::int64_t until_us = now_us + kSleepMaxUs;
  const FlushGroup& group = runner_.group();
  if (!group.empty() && (!group.has_partial_stable_run() || group.has_complete_run())) {
    const std::int64_t interval_us = std::int64_t{parameters_.flush.interval_ms} * kUsPerMs;
    until_us = std::min(until_us, group.first_put_us() + interval_us);
  }
  for (const auto& assignment : intake_.assignments()) {
    const PartitionFeed& feed = assignment->feed;
    if (const auto due_us = feed.stall_due_us(); due_us && !feed.slices().empty()) {
      until_us = std::min(until_us, *due_us);
    }
    const bool is_seen_late =
        feed.is_open() && feed.slices().empty() && feed.visible_end() > assignment->told_end;
    if (is_seen_late) until_us = std::min(until_us, assignment->told_us + kSeenIntervalUs);
  }
  return std::max<std::int64_t>(until_us - now_us, 0);
}

void TaskLoop::pause() {
  const bool is_idle = !is_work_waiting() && runner_.group().empty();
  channel_.pulse().enter(is_idle ? Phase::Idle : Phase::Fetch);
  if (channel_.spin_for_commands()) return;
  channel_.prepare_to_sleep();
  if (!channel_.has_commands()) {
    channel_.counters().add(Counter::Sleeps);
    time_.pause(pause_us(time_.now_us()), Wake::AnyWork);
  }
  channel_.woken();
}

// --- Patience ----------------------------------------------------------------------------------

std::int64_t TaskLoop::retry_delay_us(std::uint32_t attempt, std::int64_t retry_after_ms) {
  const std::int64_t max_us = std::int64_t{parameters_.retry.delay_max_ms} * kUsPerMs;
  const std::uint32_t doublings = std::min(attempt - 1, 30U);
  const std::int64_t delay_us = std::min(kRetryDelayUs << doublings, max_us);
  // Workers of one job lose their database in the same moment, and must not come back in one.
  const auto jittered_us =
      static_cast<std::int64_t>(static_cast<double>(delay_us) * (0.75 + 0.5 * random_.fraction()));
  return std::max(std::min(jittered_us, max_us),
                  std::min(retry_after_ms, kRetryAfterMaxMs) * kUsPerMs);
}

Verdict TaskLoop::wait(const PluginFailure& failure, Attempts& attempts, std::int64_t timeout_ms) {
  const std::int64_t begun_us = time_.now_us();
  if (attempts.count++ == 0) attempts.first_us = begun_us;
  channel_.counters().add(Counter::Retries);
  std::int64_t until_us = begun_us + retry_delay_us(attempts.count, failure.retry_after_ms);
  if (timeout_ms >= 0) {
    const std::int64_t last_us = attempts.first_us + timeout_ms * kUsPerMs;
    if (begun_us >= last_us) return Verdict::UsedUp;
    until_us = std::min(until_us, last_us);
  }
  outbox_.waiting(runner_.slice_in_hand(), failure.failure_class, attempts.count,
                  begun_us - attempts.first_us, failure.text);
  channel_.pulse().enter(Phase::Wait);
  Verdict verdict = Verdict::Again;
  for (std::int64_t now_us = begun_us; now_us < until_us; now_us = time_.now_us()) {
    if (!turn()) {
      verdict = Verdict::Interrupted;
      break;
    }
    channel_.prepare_to_sleep();
    if (!channel_.has_commands()) {
      time_.pause(std::min(until_us - now_us, kSleepMaxUs), Wake::CommandsOnly);
    }
    channel_.woken();
  }
  attempts.waited_us += time_.now_us() - begun_us;
  return verdict;
}

bool TaskLoop::turn() {
  channel_.pulse().beat();
  intake_.take();
  release_bystanders();
  return !must_interrupt() && intake_.nonsense().empty() && !outbox_.is_broken();
}

bool TaskLoop::is_grace_over() const {
  return !grace_until_us_ || time_.now_us() >= *grace_until_us_;
}

bool TaskLoop::must_interrupt() const {
  if (intake_.is_stop_requested()) return is_grace_over();
  if (!intake_.is_revoke_pending()) return false;
  const auto& assignments = intake_.assignments();
  const bool is_concerned =
      std::any_of(assignments.begin(), assignments.end(), [this](const auto& assignment) {
        return assignment->to_revoke.has_value() && runner_.concerns(*assignment);
      });
  return is_concerned && is_grace_over();
}

/// Partitions that are to be given back and have nothing in the call that waits.
void TaskLoop::release_bystanders() {
  if (!intake_.is_revoke_pending()) return;
  for (const auto& assignment : intake_.assignments()) {
    if (!assignment->to_revoke || runner_.concerns(*assignment)) continue;
    intake_.close_up_to(*assignment, *assignment->to_revoke);
    intake_.release_closed(*assignment);
  }
}

// --- Revoke and stop ---------------------------------------------------------------------------

void TaskLoop::carry_out_revokes() {
  const auto& assignments = intake_.assignments();
  const bool is_concerned =
      std::any_of(assignments.begin(), assignments.end(), [this](const auto& assignment) {
        return assignment->to_revoke.has_value() && runner_.concerns(*assignment);
      });
  if (is_concerned) {
    grace_until_us_ = time_.now_us() + std::int64_t{parameters_.stop_timeout_ms} * kUsPerMs / 2;
    if (runner_.flush() != CallEnd::Ok) runner_.give_up();
    grace_until_us_.reset();
  }
  for (std::size_t i = 0; i < assignments.size(); ++i) {  // a call that waits may take commands
    Assignment* const assignment = assignments[i];
    if (!assignment->to_revoke) continue;
    intake_.close_up_to(*assignment, *assignment->to_revoke);
    runner_.release_closed_pending();
    intake_.release_closed(*assignment);
    // A higher fence may already have brought it back.
    const bool is_gone = assignment->feed.slices().empty() && !runner_.concerns(*assignment);
    if (is_gone) close(*assignment, SLUICE_REASON_MOVED);
    intake_.revoke_is_done(*assignment);
  }
}

void TaskLoop::close(Assignment& assignment, sluice_reason reason) {
  PartitionFeed& feed = assignment.feed;
  if (assignment.is_open_in_chain) runner_.chain().close(feed.topic(), feed.partition(), reason);
  assignment.is_open_in_chain = false;
  assignment.told_end = -1;
  if (feed.is_open()) feed.close(records_, runner_.retired());
}

/// Flushes what is done, gives back the rest, takes the chain down. What could not be flushed is
/// rolled back or destroyed before it is given back: nobody may become durable behind a new owner.
void TaskLoop::stop() {
  grace_until_us_ = time_.now_us() + std::int64_t{parameters_.stop_timeout_ms} * kUsPerMs / 2;
  if (runner_.flush() != CallEnd::Ok) runner_.give_up();
  runner_.release_pending();
  for (const auto& assignment : intake_.assignments()) {
    constexpr std::uint32_t kEveryFence = ~std::uint32_t{0};
    intake_.close_up_to(*assignment, kEveryFence);
    intake_.release_closed(*assignment);
  }
  channel_.pulse().enter(Phase::Stop);
  runner_.chain().take_down(SLUICE_REASON_STOPPING);
  exit_code_ = kExitDone;
}

}  // namespace sluice::worker
