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

/// Who wants the job to start. A user's start takes back an earlier stop or pause; a host's own
/// start leaves alone what was stopped, and a once job that has ended.
enum class StartBy { User, Host };

/// A topic as the newest of its stored rows know it (slicer.md F5).
struct KnownTopic {
  std::uint32_t incarnation = 1;
  std::int32_t partitions = 0;  ///< one above the highest number with a row of this incarnation
};

struct StoredJob {
  state::ExecutionRow execution;  ///< Running, unless `rests`
  bool rests = false;             ///< not to be started: what it looks like, nothing more
  bool paused = false;
  std::string start_from;  ///< JobSettings::start_from
  std::uint64_t next_slice_id = 1;
  std::uint64_t gaps = 0;  ///< of this execution, if it goes on
  std::map<kafka::TopicPartition, state::PartitionRow> partitions;
  std::map<kafka::TopicPartition, std::vector<state::SliceRow>> slices;
  std::map<std::string, KnownTopic> topics;
  std::vector<state::FirstCountRow> first_counts;

  /// Mode once: the end that this execution took earlier, if it did.
  std::optional<std::int64_t> once_end(const kafka::TopicPartition& where) const;
  /// Of a topic without rows: the defaults.
  KnownTopic topic(const std::string& name) const;
  /// The row is of a topic that was deleted and created again since: history.
  bool is_outdated(const state::PartitionRow& row) const;
  /// What linear assignment remembers of the workers (topic empty) or a topic; 0: nothing.
  std::uint32_t first_count(const std::string& topic, std::uint32_t incarnation) const;
};

/// What a start makes of the stored rows; `execution` is what the store has for this start.
StoredJob make_ready(state::JobState stored, state::ExecutionRow execution, bool continued);

/// Whether a start in `mode` goes on with `last` instead of beginning the next execution.
bool goes_on(const state::ExecutionRow& last, state::ExecutionMode mode);

/// Whether a host that starts leaves the job alone.
bool rests_at_start(const state::JobSettings& settings,
                    const std::optional<state::ExecutionRow>& last, state::ExecutionMode mode);

/// [state thread] Loads the job and makes its execution Running, durably: the one that goes on, or
/// the next one.
Result<StoredJob> resume_or_begin(state::StateStore& store, const std::string& job,
                                  state::ExecutionMode mode, std::int64_t unix_ms,
                                  StartBy by = StartBy::User);

}  // namespace sluice::job
