// What the host must not forget: executions, frontiers, slice records, the gap ledger. One writer,
// on the state thread (state_thread.hpp); readers have connections of their own (store_reader.hpp).
//
// An interface, since the simulator and tests of the runtime put a store in memory in its place.
// Errors: code Io = the world outside (disk full, locked, read-only): nothing was lost, the same
// call may work later. Code Store = the store is damaged or foreign: no later call will work.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"
#include "host/state/rows.hpp"

namespace sluice::state {

struct StoreIdentity {
  std::string store_id;                ///< a random UUID, made with the store (slicer.md S4)
  std::uint64_t host_incarnation = 0;  ///< how often a host has opened it
};

/// What users said about a job; holds over restarts of the host (interfaces.md, "Who owns a job").
struct JobSettings {
  /// Stored by number: append only.
  enum class Target : std::uint8_t { Started = 0, Paused = 1, Stopped = 2 };
  Target target = Target::Started;
  std::string start_from;  ///< where its next start begins instead of its frontier (S7); empty: not

  bool operator==(const JobSettings&) const = default;
};

struct JobChanges {
  std::string job;
  ChangeSet changes;
  /// The start positions in it are those of JobSettings::start_from, which is empty from then on.
  bool start_from_used = false;
};

/// slicer.md R3. Whichever keeps fewer.
struct RetentionLimits {
  std::int64_t records_max = 10'000;
  std::int64_t age_max_ms = 86'400'000;
};

class StateStore {
 public:
  virtual ~StateStore() = default;

  virtual const StoreIdentity& identity() const = 0;

  /// A job that was never seen is no error: its state is empty.
  virtual Result<JobState> load_job(std::string_view job) = 0;

  /// Slices that recover can run again (S6): parked, and left unfinished when a reset passed them.
  /// By topic, partition, start; an unknown job has none.
  virtual Result<std::vector<SliceRow>> recoverable(std::string_view job) = 0;

  /// Of an unknown job: the defaults.
  virtual Result<JobSettings> settings(std::string_view job) = 0;
  /// Makes the job known.
  virtual Result<> set_settings(std::string_view job, const JobSettings& settings) = 0;

  /// The next execution of a job, Running; makes the job known.
  virtual Result<ExecutionRow> begin_execution(std::string_view job, ExecutionMode mode,
                                               std::int64_t now_ms) = 0;
  /// An end with its reason, or Running again when a stopped execution goes on (S5).
  virtual Result<> set_execution_state(std::string_view job, std::uint64_t execution,
                                       ExecutionState state, std::string_view reason,
                                       std::int64_t now_ms) = 0;

  /// All of it or nothing, durable when it returns: one transaction, one sync, for any number of
  /// jobs. Requires: each job is known.
  virtual Result<> apply(std::span<const JobChanges> batch) = 0;

  /// Folds completed rows beyond the limits into one per unbroken range, so that the audit (R5)
  /// still finds every offset. Answers how many rows it saved. Other rows and the ledger stay.
  virtual Result<std::uint64_t> fold(std::string_view job, const RetentionLimits& limits,
                                     std::int64_t now_ms) = 0;
};

}  // namespace sluice::state
