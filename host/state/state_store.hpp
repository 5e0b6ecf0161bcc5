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

#include "host/base/error.hpp"
#include "host/state/rows.hpp"

namespace sluice::state {

struct StoreIdentity {
  std::string store_id;                ///< a random UUID, made with the store (slicer.md S4)
  std::uint64_t host_incarnation = 0;  ///< how often a host has opened it
};

struct JobChanges {
  std::string job;
  ChangeSet changes;
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
