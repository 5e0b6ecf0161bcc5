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
                         SliceIntake& intake, Outbox& outbox, ipc::WorkerChannel& channel,
                         LogPipe& log, Patience& patience, const TaskTime& time)
    : parameters_{parameters},
      intake_{intake},
      outbox_{outbox},
      channel_{channel},
      log_{log},
      patience_{patience},
      time_{time},
      context_{*this, channel.pulse(), log, false},
      chain_{chain_options(parameters), std::move(links), context_, patience, time} {}

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

void GroupRunner::finish_slice(Assignment& assignment) {
  PartitionFeed& feed = assignment.feed;
  if (group_.empty()) group_.set_first_put(time_.now_us());
  SliceRun& run = group_.ensure_run(*feed.slices().front(), feed);
  group_.complete(run);
  feed.pop_slice();
}

bool GroupRunner::is_flush_due(bool at_slice_end) const {
  if (group_.empty()) return false;
  // A slice that must run as it is ends before the flush, as long as memory allows (slicer.md C5).
  if (group_.has_partial_stable_run()) return group_.bytes() >= 2 * parameters_.flush.bytes_max;
  const std::int64_t age_us = time_.now_us() - group_.first_put_us();
  const bool is_due = group_.is_full(parameters_.flush) ||
                      context_.flush_requested.load(std::memory_order_relaxed) ||
                      age_us >= std::int64_t{parameters_.flush.interval_ms} * 1000;
  if (is_due) return true;
  return at_slice_end && age_us >= kCheapFlushFactor * last_flush_us_;
}

CallEnd GroupRunner::flush() {
  if (group_.empty()) return CallEnd::Ok;
  PhaseTimes times;
  if (group_.records() > 0) {  // else nothing was put: slices of holes only
    const CallEnd end = chain_.flush(times);
    channel_.pulse().enter(Phase::Fetch);
    if (end == CallEnd::Interrupted) return end;
    if (end == CallEnd::Failed || errant_failure_) {
      fail_group();
      return CallEnd::Ok;
    }
    last_flush_us_ = static_cast<std::int64_t>(times.flush_us);
  }
  settle(times);
  return CallEnd::Ok;
}

/// Everything in the group is durable (D2).
void GroupRunner::settle(const PhaseTimes& group_times) {
  const auto group_slices = static_cast<std::uint32_t>(group_.runs().size());
  RecordCounts total;
  for (SliceRun& run : group_.runs()) {
    run.counts.errant = static_cast<std::uint32_t>(run.errants.size());
    report_errants(run);
    SliceWork& slice = *run.slice;
    slice.durable = run.next;
    slice.counts.add(run.counts);
    slice.times.flush_us += group_times.flush_us / group_slices;
    slice.times.wait_us += group_times.wait_us / group_slices;
    total.add(run.counts);
    if (!run.is_complete) continue;
    outbox_.done(slice, group_slices);
    intake_.free(&slice);
  }
  ipc::CounterWriter& counters = channel_.counters();
  counters.add(Counter::Records, total.records);
  counters.add(Counter::Bytes, total.bytes);
  counters.add(Counter::Out, total.out);
  counters.add(Counter::Filtered, total.filtered);
  counters.add(Counter::Errant, total.errant);
  counters.add(Counter::FlushGroups);
  group_.clear_runs();
  free_unused_blocks();
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
    log_.write(LogLevel::Warning, errant.plugin,
               "record " + where + " failed in " + errant.stage + " and is skipped: " + errant.why);
  }
}

PluginFailure GroupRunner::take_failure() {
  if (!errant_failure_) return chain_.failure();
  PluginFailure failure = std::move(*errant_failure_);
  errant_failure_.reset();
  return failure;
}

void GroupRunner::reset_chain(const PluginFailure& failure) {
  channel_.counters().add(Counter::Resets);
  const bool is_lost = failure.status == SLUICE_NOT_CONNECTED;
  chain_.reset(is_lost ? std::optional{failure.stage_index} : std::nullopt);
}

/// A slice that was alone is failed; of several each runs again by itself.
void GroupRunner::fail_group() {
  const PluginFailure failure = take_failure();
  reset_chain(failure);
  std::vector<SliceRun> runs = group_.take_runs();
  if (runs.size() == 1 && failure.status != SLUICE_NOT_CONNECTED && !intake_.is_stop_requested()) {
    return fail_run(std::move(runs.front()), failure);
  }
  log_.write(LogLevel::Warning, failure.text.plugin,
             failure.text.stage + " failed: " + failure.text.message + "; the " +
                 std::to_string(runs.size()) + " slices since the last flush run again one by one");
  reconnects_ = {};
  for (SliceRun& run : runs) pending_.push_back(std::move(run));
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
  PhaseTimes times;
  if (!run.batches.empty()) {
    const CallEnd end = chain_.flush(times);
    if (end != CallEnd::Ok) return end;
    if (errant_failure_) return CallEnd::Failed;
  }
  settle(times);
  return CallEnd::Ok;
}

void GroupRunner::give_up() {
  errant_failure_.reset();
  channel_.counters().add(Counter::Resets);
  chain_.reset(std::nullopt);
  std::vector<SliceRun> runs = group_.take_runs();
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
                 command.start,
                 command.end};
  return &slice_view_;
}

sluice_bytes GroupRunner::topic(std::uint32_t topic_index) {
  if (!intake_.knows_topic(topic_index)) return {nullptr, 0};
  const std::string& name = intake_.topic(topic_index).name;
  return {name.data(), name.size()};
}

}  // namespace sluice::worker
