// A job as people see it: a copy of the numbers at one moment, for the command line's progress and
// summary and for REST. Holds nothing that could go stale under the reader.
// Made by JobRuntime::status() on the loop; a value, free to be passed to any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/error.hpp"
#include "host/slicer/actions.hpp"
#include "host/slicer/status.hpp"
#include "host/state/rows.hpp"
#include "host/supervisor/supervisor.hpp"

namespace sluice::job {

enum class JobState : std::uint8_t {
  Starting,  ///< reading its state, asking Kafka for partitions
  Running,
  Stopping,  ///< draining
  Completed,
  CompletedWithGaps,
  Failed,
  Stopped,  ///< by a user or a signal; the next start goes on at the frontier
  Paused,   ///< running, but publishing nothing; workers stay
};
std::string_view job_state_name(JobState state);

/// How a job stands whose slicer has ended like this, and what its execution's row says then.
JobState job_state_of(slicer::Outcome outcome);
state::ExecutionState execution_state_of(JobState ended);
JobState job_state_of(state::ExecutionState ended);

struct JobStatus {
  enum class Mode : std::uint8_t { Persistent, Once };
  std::string name;
  Mode mode = Mode::Persistent;
  JobState state = JobState::Starting;
  ErrorCode failure = ErrorCode::Internal;  ///< with Failed
  std::string reason;                       ///< with Failed: the sentence
  std::uint64_t execution = 0;
  std::vector<std::string> topics;  ///< by topic number
  slicer::Snapshot slices;
  std::vector<supervisor::SlotStatus> workers;
  std::vector<std::string> waiting;  ///< what the job waits for outside itself, one line each
  std::uint64_t worker_restarts = 0;
  std::uint64_t elapsed_ms = 0;
  Milliseconds taken_at{0};  ///< monotonic, as the times of `workers`
};

/// A worker that has work in hand and shows nothing new for this long is called stuck: long before
/// its deadline ends it, so that nobody reads RUNNING meanwhile.
inline constexpr Milliseconds kStuckAfter{3'000};

/// For how long it has been stuck; nothing: it is not.
std::optional<Milliseconds> stuck_for(const supervisor::SlotStatus& worker, Milliseconds now);
/// worker_state_name, or STUCK.
std::string_view worker_state_text(const supervisor::SlotStatus& worker, Milliseconds now);

}  // namespace sluice::job
