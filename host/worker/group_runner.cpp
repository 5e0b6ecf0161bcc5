#include "host/worker/group_runner.hpp"

#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"

namespace sluice::worker {

using ipc::Counter;
using ipc::Phase;

namespace {

/// Of a flush group that fails many records the first are named, the rest counted.
constexpr std::size_t kErrantLinesMax = 10;

ChainOptions chain_options(const StartParameters& parameters) {
  return {parameters.job, parameters.slot, parameters.batch.records_max, parameters.retry};
}

std::string at_offset(const PartitionFeed& feed, std::int64_t offset) {
  return feed.name() + "@" + std::to_string(offset);
}

}  // namespace

GroupRunner::GroupRunner(const StartParameters& parameters, std::vector<ChainLink> links,
                         dead_letter::OpenOutlet open_outlet, SliceIntake& intake, Outbox& outbox,
                         ipc::WorkerChannel& channel, LogPipe& log, Patience& patience,
                         const TaskTime& time)
    : parameters_{parameters},
      intake_{intake},
      outbox_{outbox},
      channel_{channel},
      log_{log},
      patience_{patience},
      time_{time},
      context_{*this, channel.pulse(), log, false},
      chain_{chain_options(parameters), std::move(links), context_, patience, time},
      errant_writer_{parameters, std::move(open_outlet), intake, outbox, channel, log, patience,
                     time} {}

void GroupRunner::free_unused_blocks() {
  if (group_.empty() && pending_.empty()) group_.free_blocks();
}

bool GroupRunner::run_batch(Assignment& assignment) {
  PartitionFeed& feed = assignment.feed;
  if (group_.empty()) group_.set_first_put(time_.now_us());
  SliceRun& run = group_.ensure_run(*feed.slices().front(), feed);
  group_.add_batch(run, feed.batch(), feed.batch_bytes());
  const CallEnd end = send(run, feed.batch(), feed.batch_bytes());
  channel_.pulse().enter(Phase::Fetch);
  if (end == CallEnd::Interrupted) {
    errant_failure_.reset();  // of this batch, which is as if it had never been offered
    group_.undo_batch(run);
    if (run.batches.empty()) group_.drop_last_run();
    return false;
  }
  feed.consume_batch();
  run.next = feed.next_offset();
  if (end == CallEnd::Failed) fail_group();
  return end == CallEnd::Ok;
}

/// One batch through the chain, and what became of it into the run.
CallEnd GroupRunner::send(SliceRun& run, std::span<const sluice_record> records,
                          std::uint64_t bytes) {
  if (run.slice->verdict) return set_aside(run, records, bytes);
  RecordCounts counts;
  channel_.counters().add(Counter::Batches);
  const CallEnd end =
      chain_.run(run.slice->command.slice_id, records, bytes, counts, run.slice->times);
  if (end != CallEnd::Ok) return end;
  if (errant_failure_) return CallEnd::Failed;
  for (const ErrantRecord& errant : run.errants) {
    // Not filtered: failed by a processor, so that no output was made of it.
    if (errant.record < records.data() || errant.record >= records.data() + records.size())
      continue;
    if (chain_.was_filtered(static_cast<std::size_t>(errant.record - records.data()))) {
      --counts.filtered;
    }
  }
  run.counts.add(counts);
  return CallEnd::Ok;
}

/// No plugin sees these records again: they become dead letters with the verdict's reason (F3).
CallEnd GroupRunner::set_aside(SliceRun& run, std::span<const sluice_record> records,
                               std::uint64_t bytes) {
  const ipc::FailureText& why = run.slice->verdict->text;
  for (const sluice_record& record : records) {
    run.add_errant({&record, why.plugin, why.stage, why.message});
  }
  RecordCounts counts;
  counts.records = static_cast<std::uint32_t>(records.size());
  counts.bytes = bytes;
  run.counts.add(counts);
  return CallEnd::Ok;
}

void GroupRunner::finish_slice(Assignment& assignment) {
  PartitionFeed& feed = assignment.feed;
  if (group_.empty()) group_.set_first_put(time_.now_us());
  SliceRun& run = group_.ensure_run(*feed.slices().front(), feed);
  group_.complete(run);
  feed.pop_slice();
}

bool GroupRunner::is_flush_due(bool at_slice_end) const {
  if (group_.empty()) return false;
  // A slice that must run as it is ends before the flush (slicer.md C5), whatever it weighs; but
  // one that waits for its records must not let those of others pile up in memory.
  if (group_.has_partial_stable_run()) return at_slice_end && group_.is_full(parameters_.flush);
  const std::int64_t age_us = time_.now_us() - group_.first_put_us();
  const bool is_due = group_.is_full(parameters_.flush) ||
                      context_.flush_requested.load(std::memory_order_relaxed) ||
                      age_us >= std::int64_t{parameters_.flush.interval_ms} * 1000;
  if (is_due) return true;
  return at_slice_end && age_us >= kCheapFlushFactor * last_flush_us_;
}

bool GroupRunner::is_flush_overdue() const {
  if (!group_.has_complete_run() || !group_.has_partial_stable_run()) return false;
  const std::int64_t age_us = time_.now_us() - group_.first_put_us();
  return age_us >= std::int64_t{parameters_.flush.interval_ms} * 1000;
}

CallEnd GroupRunner::flush() {
  if (group_.empty()) return CallEnd::Ok;
  if (group_.has_partial_stable_run()) {
    give_up();
    return CallEnd::Ok;
  }
  if (group_.runs().back().slice->has(ipc::kProbe)) {
    end_probe();
    return CallEnd::Ok;
  }
  PhaseTimes times;
  const CallEnd end = flush_chain(times);
  if (end == CallEnd::Interrupted) return end;
  if (end == CallEnd::Failed) {
    fail_group();
    return CallEnd::Ok;
  }
  if (errant_writer_.write(group_.runs(), times) != CallEnd::Ok) return CallEnd::Interrupted;
  settle(times);
  return CallEnd::Ok;
}

/// F3.4: the plugins have taken all of it, which is all that was asked. Nobody may ever find it in
/// the sink: they forget it. What they failed of its records is asked again of the slice itself.
void GroupRunner::end_probe() {
  forget(std::nullopt);
  SliceRun run = std::move(group_.take_runs().front());
  run.slice->counts.add(run.counts);
  outbox_.survived(*run.slice);
  intake_.free(run.slice);
  free_unused_blocks();
}

/// The plugins' part of a flush; nothing to do for slices of holes only and for dead letters.
CallEnd GroupRunner::flush_chain(PhaseTimes& times) {
  if (group_.records() == 0 || group_.runs().back().slice->verdict) return CallEnd::Ok;
  const CallEnd end = chain_.flush(times);
  channel_.pulse().enter(Phase::Fetch);
  if (end != CallEnd::Ok) return end;
  if (errant_failure_) return CallEnd::Failed;
  last_flush_us_ = static_cast<std::int64_t>(times.flush_us);
  return CallEnd::Ok;
}

/// Everything in the group is durable (D2), but for what its dead letters hold back.
void GroupRunner::settle(const PhaseTimes& group_times) {
  const auto group_slices = static_cast<std::uint32_t>(group_.runs().size());
  RecordCounts total;
  bool is_held_back = false;
  for (SliceRun& run : group_.runs()) {
    is_held_back = is_held_back || run.failure;
    if (is_held_back &&
        SliceIntake::is_closed(intake_.assignment_of(run.slice->command), run.slice->command)) {
      return_settled(run);
      continue;
    }
    settle(run, group_times, group_slices);
    if (!run.failure) total.add(run.counts);
  }
  ipc::CounterWriter& counters = channel_.counters();
  counters.add(Counter::Records, total.records);
  counters.add(Counter::Bytes, total.bytes);
  counters.add(Counter::Out, total.out);
  counters.add(Counter::Filtered, total.filtered);
  counters.add(Counter::Errant, total.errant);
  counters.add(Counter::FlushGroups);
  group_.clear_runs();
  rewinds_ = {};
  if (is_held_back) {
    release_closed_pending();
    for (const auto& assignment : intake_.assignments()) intake_.release_closed(*assignment);
  }
  free_unused_blocks();
}

void GroupRunner::settle(SliceRun& run, const PhaseTimes& group_times, std::uint32_t group_slices) {
  SliceWork& slice = *run.slice;
  slice.times.flush_us += group_times.flush_us / group_slices;
  slice.times.wait_us += group_times.wait_us / group_slices;
  if (run.failure) {
    Assignment& assignment = intake_.assignment_of(slice.command);
    if (!run.is_complete) assignment.feed.pop_slice();
    outbox_.failed(slice, *run.failure);
    intake_.close_lane(assignment, slice.command);
    intake_.free(&slice);
    return;
  }
  run.counts.errant = static_cast<std::uint32_t>(run.errants.size());
  report_errants(run);
  slice.durable = run.next;
  slice.counts.add(run.counts);
  if (!run.batches.empty()) slice.last = fingerprint_of(run.batches.back().back());
  if (!run.is_complete) return;
  outbox_.done(slice, group_slices);
  intake_.free(&slice);
}

/// It was flushed, but a slice of its lane before it was not passed: it runs again behind that one.
void GroupRunner::return_settled(SliceRun& run) {
  if (!run.is_complete) return;  // it still waits in its queue, and is released from there
  outbox_.released(*run.slice);
  intake_.free(run.slice);
}

void GroupRunner::report_errants(const SliceRun& run) {
  std::size_t lines = 0;
  for (const ErrantRecord& errant : run.errants) {
    const std::string where = at_offset(*run.feed, errant.record->offset);
    if (lines++ == kErrantLinesMax) {
      log_.say(LogLevel::Warning, "and " + std::to_string(run.errants.size() - kErrantLinesMax) +
                                      " more failed records of the same slice");
      return;
    }
    const std::string fate =
        parameters_.dead_letters ? "went to " + parameters_.dead_letters->topic : "is skipped";
    log_.write(
        LogLevel::Warning, errant.plugin,
        "record " + where + " failed in " + errant.stage + " and " + fate + ": " + errant.why);
  }
}

PluginFailure GroupRunner::take_failure() {
  if (!errant_failure_) return chain_.failure();
  PluginFailure failure = std::move(*errant_failure_);
  errant_failure_.reset();
  return failure;
}

void GroupRunner::reset_chain(const PluginFailure& failure) {
  const bool is_lost = failure.status == SLUICE_NOT_CONNECTED;
  forget(is_lost ? std::optional{failure.stage_index} : std::nullopt);
}

/// What has been put since the last flush is nobody's any more. `lost_stage`: of the plugin that
/// has lost its connection, if one has.
void GroupRunner::forget(std::optional<std::size_t> lost_stage) {
  errant_writer_.drop();
  channel_.counters().add(Counter::Resets);
  chain_.reset(lost_stage);
}

/// A slice that was alone is failed; of several each runs again by itself.
void GroupRunner::fail_group() {
  const PluginFailure failure = take_failure();
  reset_chain(failure);
  std::vector<SliceRun> runs = group_.take_runs();
  if (runs.size() == 1 && failure.status != SLUICE_NOT_CONNECTED && !intake_.is_stop_requested()) {
    return fail_run(std::move(runs.front()), failure);
  }
  const bool is_half = !runs.front().is_complete && runs.front().slice->is_indivisible();
  if (runs.size() == 1 && is_half) return reconnect_half_slice(std::move(runs), failure);
  log_.write(LogLevel::Warning, failure.text.plugin,
             failure.text.stage + " failed: " + failure.text.message + "; the " +
                 std::to_string(runs.size()) + " slices since the last flush run again one by one");
  reconnects_ = {};
  rewind_stable(runs);
  for (SliceRun& run : runs) pending_.push_back(std::move(run));
}

/// Half a stable slice does not run again: it begins anew, and is read anew, from its start.
void GroupRunner::rewind_stable(std::vector<SliceRun>& runs) {
  std::erase_if(runs, [](const SliceRun& run) {
    if (run.is_complete || !run.slice->is_indivisible()) return false;
    run.feed->forget(run.slice);
    return true;
  });
}

/// As patient as for slices that are pending. Its run goes first: while this waits, the slice may
/// be taken back.
void GroupRunner::reconnect_half_slice(std::vector<SliceRun> runs, const PluginFailure& failure) {
  const std::uint64_t slice_id = runs.front().slice->command.slice_id;
  Assignment& assignment = intake_.assignment_of(runs.front().slice->command);
  rewind_stable(runs);
  const std::int64_t timeout_ms = parameters_.retry.task_retry_timeout_ms;
  if (patience_.wait(failure, rewinds_, timeout_ms) != Verdict::UsedUp) return;
  rewinds_ = {};
  const auto& queue = assignment.feed.slices();
  const bool is_there = !queue.empty() && queue.front()->command.slice_id == slice_id;
  if (is_there) fail_first_slice(assignment, failure);
}

void GroupRunner::rerun_next() {
  SLUICE_ASSERT(chain_.is_up() && group_.empty() && !pending_.empty());
  SliceRun& run = group_.adopt(std::move(pending_.front()));
  pending_.pop_front();
  const CallEnd end = run_again(run);
  channel_.pulse().enter(Phase::Fetch);
  if (end == CallEnd::Ok) {
    reconnects_ = {};
    return;
  }
  if (end == CallEnd::Interrupted) return give_up();
  const PluginFailure failure = take_failure();
  reset_chain(failure);
  std::vector<SliceRun> runs = group_.take_runs();
  if (failure.status == SLUICE_NOT_CONNECTED) {
    // Never a charged attempt: the same slice again, as long as a RETRY would be repeated.
    const std::int64_t timeout_ms = parameters_.retry.task_retry_timeout_ms;
    if (patience_.wait(failure, reconnects_, timeout_ms) != Verdict::UsedUp) {
      pending_.push_front(std::move(runs.front()));
      return;
    }
  }
  reconnects_ = {};
  fail_run(std::move(runs.front()), failure);
}

CallEnd GroupRunner::run_again(SliceRun& run) {
  for (std::size_t i = 0; i < run.batches.size(); ++i) {
    const CallEnd end = send(run, run.batches[i], run.batch_bytes[i]);
    if (end != CallEnd::Ok) return end;
  }
  if (run.slice->has(ipc::kProbe)) {
    end_probe();
    return CallEnd::Ok;
  }
  PhaseTimes times;
  if (const CallEnd end = flush_chain(times); end != CallEnd::Ok) return end;
  if (errant_writer_.write(group_.runs(), times) != CallEnd::Ok) return CallEnd::Interrupted;
  settle(times);
  return CallEnd::Ok;
}

void GroupRunner::give_up(std::optional<std::size_t> lost) {
  errant_failure_.reset();
  forget(lost);
  std::vector<SliceRun> runs = group_.take_runs();
  rewind_stable(runs);
  pending_.insert(pending_.begin(), std::make_move_iterator(runs.begin()),
                  std::make_move_iterator(runs.end()));
}

void GroupRunner::fail_run(SliceRun run, const PluginFailure& failure) {
  SliceWork& slice = *run.slice;
  Assignment& assignment = intake_.assignment_of(slice.command);
  if (!run.is_complete) {
    SLUICE_ASSERT(assignment.feed.slices().front() == &slice);
    assignment.feed.pop_slice();
  }
  outbox_.failed(slice, failure);
  return_lane(assignment, slice.command);
  intake_.free(&slice);
  free_unused_blocks();
}

void GroupRunner::fail_first_slice(Assignment& assignment, const PluginFailure& failure) {
  SliceWork* slice = assignment.feed.pop_slice();
  outbox_.failed(*slice, failure);
  return_lane(assignment, slice->command);
  intake_.free(slice);
}

void GroupRunner::return_lane(Assignment& assignment, const ipc::Command& command) {
  intake_.close_lane(assignment, command);
  release_closed_pending();
  intake_.release_closed(assignment);
}

void GroupRunner::release_closed_pending() {
  std::erase_if(pending_, [this](SliceRun& run) {
    SliceWork& slice = *run.slice;
    if (!SliceIntake::is_closed(intake_.assignment_of(slice.command), slice.command)) return false;
    if (!run.is_complete) return true;  // it still waits in its queue, and is released from there
    outbox_.released(slice);
    intake_.free(&slice);
    return true;
  });
}

void GroupRunner::release_pending() {
  for (SliceRun& run : pending_) {
    if (!run.is_complete) continue;
    outbox_.released(*run.slice);
    intake_.free(run.slice);
  }
  pending_.clear();
  free_unused_blocks();
}

void GroupRunner::fail_everything(const PluginFailure& failure) {
  SLUICE_ASSERT(group_.empty());
  while (!pending_.empty()) {
    SliceRun run = std::move(pending_.front());
    pending_.pop_front();
    fail_run(std::move(run), failure);
  }
  for (const auto& assignment : intake_.assignments()) {
    while (!assignment->feed.slices().empty()) fail_first_slice(*assignment, failure);
  }
}

bool GroupRunner::concerns(const Assignment& assignment) const {
  const auto is_of = [&](const SliceRun& run) { return run.feed == &assignment.feed; };
  return std::any_of(group_.runs().begin(), group_.runs().end(), is_of) ||
         std::any_of(pending_.begin(), pending_.end(), is_of);
}

const SliceWork* GroupRunner::slice_in_hand() const {
  if (errant_writer_.slice_in_hand() != nullptr) return errant_writer_.slice_in_hand();
  if (!group_.empty()) return group_.runs().back().slice;
  return pending_.empty() ? nullptr : pending_.front().slice;
}

sluice_status GroupRunner::fail_record(const HostBridge& from, std::uint64_t slice_id,
                                       std::int64_t offset, std::string_view why) {
  SliceRun* run = group_.find(slice_id);
  const sluice_record* record = run == nullptr ? nullptr : run->find(offset);
  if (record == nullptr) return SLUICE_FAIL;
  if (!run->add_errant({record, from.alias(), from.call(), std::string{why}})) return SLUICE_OK;
  if (parameters_.tolerance == ErrorsTolerance::None && !errant_failure_) {
    PluginFailure failure;
    failure.failure_class = ipc::FailureClass::Errant;
    failure.stage_index = from.stage_index();
    failure.text = {from.alias(), from.call(),
                    "record " + at_offset(*run->feed, offset) + ": " + std::string{why}};
    errant_failure_ = std::move(failure);
  }
  return SLUICE_OK;
}

const sluice_slice* GroupRunner::slice(std::uint64_t slice_id) {
  const SliceRun* run = group_.find(slice_id);
  if (run == nullptr) return nullptr;
  const ipc::Command& command = run->slice->command;
  const TopicName& name = intake_.topic(command.topic);
  slice_view_ = {sizeof(sluice_slice),
                 command.attempt,
                 command.slice_id,
                 {parameters_.job.data(), parameters_.job.size()},
                 {name.name.data(), name.name.size()},
                 command.topic,
                 name.incarnation,
                 command.partition,
                 command.lane,
                 command.epoch,
                 0,
                 run->slice->shown_start(),
                 run->slice->shown_end()};
  return &slice_view_;
}

sluice_bytes GroupRunner::topic(std::uint32_t topic_index) {
  if (!intake_.knows_topic(topic_index)) return {nullptr, 0};
  const std::string& name = intake_.topic(topic_index).name;
  return {name.data(), name.size()};
}

}  // namespace sluice::worker
