#include "host/job/stored_job.hpp"

#include <algorithm>
#include <utility>

namespace sluice::job {
namespace {

void begin_at_frontier(state::PartitionRow& row) {
  row.start_offset = row.frontier;
  row.once_end.reset();
  row.slices_settled = 0;
  row.totals = {};
}

}  // namespace

std::optional<std::int64_t> StoredJob::once_end(const kafka::TopicPartition& where) const {
  const auto row = partitions.find(where);
  return row == partitions.end() ? std::nullopt : row->second.once_end;
}

KnownTopic StoredJob::topic(const std::string& name) const {
  const auto known = topics.find(name);
  return known == topics.end() ? KnownTopic{} : known->second;
}

bool StoredJob::is_outdated(const state::PartitionRow& row) const {
  return row.topic_incarnation < topic(row.topic).incarnation;
}

std::uint32_t StoredJob::first_count(const std::string& topic, std::uint32_t incarnation) const {
  for (const auto& row : first_counts) {
    if (row.topic == topic && row.topic_incarnation == incarnation) return row.count;
  }
  return 0;
}

// A persistent job that failed goes on when it is started again: that is what the user asks for. A
// once job that failed is over: its next run takes new ends.
bool goes_on(const state::ExecutionRow& last, state::ExecutionMode mode) {
  if (last.mode != mode) return false;
  return last.state == state::ExecutionState::Running ||
         last.state == state::ExecutionState::Stopped ||
         (last.state == state::ExecutionState::Failed && mode == state::ExecutionMode::Persistent);
}

StoredJob make_ready(state::JobState stored, state::ExecutionRow execution, bool continued) {
  StoredJob job;
  job.execution = std::move(execution);
  job.next_slice_id = stored.next_slice_id;
  if (continued) job.gaps = stored.gaps;
  job.first_counts = std::move(stored.first_counts);
  for (auto& row : stored.partitions) {
    if (!continued) begin_at_frontier(row);
    auto& topic = job.topics[row.topic];
    if (row.topic_incarnation > topic.incarnation) topic = {row.topic_incarnation, 0};
    if (row.topic_incarnation == topic.incarnation) {
      topic.partitions = std::max(topic.partitions, row.partition + 1);
    }
    const kafka::TopicPartition where{row.topic, row.partition};
    job.partitions.insert_or_assign(where, std::move(row));
  }
  for (auto& slice : stored.slices) {
    // What an earlier execution settled is its own record; what it left unfinished runs again (S5).
    if (slice.execution != job.execution.number && state::is_settled(slice.state)) continue;
    const kafka::TopicPartition where{slice.topic, slice.partition};
    job.slices[where].push_back(std::move(slice));
  }
  return job;
}

bool rests_at_start(const state::JobSettings& settings,
                    const std::optional<state::ExecutionRow>& last, state::ExecutionMode mode) {
  if (settings.target == state::JobSettings::Target::Stopped) return true;
  return mode == state::ExecutionMode::Once && last && !goes_on(*last, mode) && last->mode == mode;
}

Result<StoredJob> resume_or_begin(state::StateStore& store, const std::string& job,
                                  state::ExecutionMode mode, std::int64_t unix_ms, StartBy by) {
  auto stored = store.load_job(job);
  if (!stored) return stored.error();
  auto settings = store.settings(job);
  if (!settings) return settings.error();
  if (by == StartBy::Host && rests_at_start(*settings, stored->execution, mode)) {
    auto execution = stored->execution.value_or(state::ExecutionRow{});
    auto resting = make_ready(*std::move(stored), std::move(execution), true);
    resting.rests = true;
    return resting;
  }
  if (by == StartBy::User && settings->target != state::JobSettings::Target::Started) {
    settings->target = state::JobSettings::Target::Started;
    SLUICE_TRY(store.set_settings(job, *settings));
  }
  const bool continued = stored->execution && goes_on(*stored->execution, mode);
  auto execution = continued ? Result<state::ExecutionRow>{*stored->execution}
                             : store.begin_execution(job, mode, unix_ms);
  if (!execution) return execution.error();
  if (continued) {
    SLUICE_TRY(store.set_execution_state(job, execution->number, state::ExecutionState::Running, "",
                                         unix_ms));
  }
  auto ready = make_ready(*std::move(stored), *std::move(execution), continued);
  ready.paused = settings->target == state::JobSettings::Target::Paused;
  ready.start_from = std::move(settings->start_from);
  return ready;
}

}  // namespace sluice::job
