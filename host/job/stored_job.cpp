#include "host/job/stored_job.hpp"

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
  job.continued = continued;
  job.next_slice_id = stored.next_slice_id;
  for (auto& row : stored.partitions) {
    if (!continued) begin_at_frontier(row);
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

Result<StoredJob> resume_or_begin(state::StateStore& store, const std::string& job,
                                  state::ExecutionMode mode, std::int64_t unix_ms) {
  auto stored = store.load_job(job);
  if (!stored) return stored.error();
  if (stored->execution && goes_on(*stored->execution, mode)) {
    auto execution = *stored->execution;
    SLUICE_TRY(store.set_execution_state(job, execution.number, state::ExecutionState::Running, "",
                                         unix_ms));
    return make_ready(*std::move(stored), std::move(execution), true);
  }
  auto execution = store.begin_execution(job, mode, unix_ms);
  if (!execution) return execution.error();
  return make_ready(*std::move(stored), *std::move(execution), false);
}

}  // namespace sluice::job
