// What the state store knows of a job, made ready for a start (slicer.md S1, S5): which execution
// runs now, and the rows that its partitions go on with. A start resumes at the frontier; an
// execution that has ended stays ended, and the next one begins where it stood.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.hpp"
#include "host/kafka/admin.hpp"
#include "host/state/rows.hpp"
#include "host/state/state_store.hpp"

namespace sluice::job {

struct StoredJob {
  state::ExecutionRow execution;  ///< Running
  bool continued = false;         ///< it was stopped or killed and goes on
  std::uint64_t next_slice_id = 1;
  std::map<kafka::TopicPartition, state::PartitionRow> partitions;
  std::map<kafka::TopicPartition, std::vector<state::SliceRow>> slices;

  /// Mode once: the end that this execution took earlier, if it did.
  std::optional<std::int64_t> once_end(const kafka::TopicPartition& where) const;
};

/// What a start makes of the stored rows; `execution` is what the store has for this start.
StoredJob make_ready(state::JobState stored, state::ExecutionRow execution, bool continued);

/// Whether a start in `mode` goes on with `last` instead of beginning the next execution.
bool goes_on(const state::ExecutionRow& last, state::ExecutionMode mode);

/// [state thread] Loads the job and makes its execution Running, durably: the one that goes on, or
/// the next one.
Result<StoredJob> resume_or_begin(state::StateStore& store, const std::string& job,
                                  state::ExecutionMode mode, std::int64_t unix_ms);

}  // namespace sluice::job
