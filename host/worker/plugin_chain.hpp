// The plugins of a worker, processors in order and the sink last: one instance each, on the task
// thread. Brings the chain up, sends batches through it, flushes it, resets it (sdk.md 5.4) and
// takes it down. Every call is announced in the pulse first, and a call that answers RETRY is
// repeated as long as the Patience of the task loop lasts.
//
// Depth first: a processor that makes many records of one has its outputs cut into batches, and
// each goes through the rest of the chain before the next, so that emitted memory, which lives
// until the next call into the same instance, is always still there (abi.h). It knows batches, not
// slices, groups or partitions' queues.
#pragma once

#include <sluice/abi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/worker/host_bridge.hpp"
#include "host/worker/plugin_failure.hpp"
#include "host/worker/plugin_module.hpp"
#include "host/worker/plugin_settings.hpp"
#include "host/worker/slice_work.hpp"
#include "host/worker/start_parameters.hpp"
#include "host/worker/task_time.hpp"
#include "ipc/pulse.hpp"

namespace sluice::worker {

/// A run of failed attempts at one call.
struct Attempts {
  std::uint32_t count = 0;
  std::int64_t first_us = 0;  ///< when the first one failed
  std::int64_t waited_us = 0;
};

enum class Verdict { Again, UsedUp, Interrupted };

/// Decides over another attempt, and waits before it.
class Patience {
 public:
  virtual ~Patience() = default;
  /// `timeout_ms` -1: for ever.
  virtual Verdict wait(const PluginFailure& failure, Attempts& attempts,
                       std::int64_t timeout_ms) = 0;
  /// One turn of a wait that something else ends: pulse and commands. False: interrupted.
  virtual bool turn() = 0;
};

enum class CallEnd {
  Ok,
  Failed,       ///< failure() says how
  Interrupted,  ///< between two attempts: something else is wanted (stop, revoke)
};

/// One plugin as the chain is built from it.
struct ChainLink {
  PluginChoice choice;
  std::unique_ptr<PluginSettings> settings;
  std::string alias;
};

struct ChainOptions {
  std::string job;
  std::uint32_t worker_slot = 0;
  std::uint32_t batch_records_max = 0;
  RetryPolicy retry;
};

class PluginChain {
 public:
  PluginChain(ChainOptions options, std::vector<ChainLink> links, BridgeContext& context,
              Patience& patience, const TaskTime& time);
  /// Requires: taken down, or the process ends without destructors.
  ~PluginChain();
  PluginChain(const PluginChain&) = delete;
  PluginChain& operator=(const PluginChain&) = delete;

  bool is_up() const;
  /// Creates and starts what is not up, opens its partitions.
  CallEnd bring_up();
  /// close, stop, destroy of all that is up.
  void take_down(sluice_reason reason);

  CallEnd open(const sluice_partition& partition);
  void close(std::uint32_t topic_index, std::int32_t partition, sluice_reason reason);

  /// Requires: up; at most batch_records_max records. `bytes` are those of `records`. The counts
  /// hold when the answer is Ok.
  CallEnd run(std::uint64_t slice_id, std::span<const sluice_record> records, std::uint64_t bytes,
              RecordCounts& counts, PhaseTimes& times);
  /// Records of the last run() that no output was made of: index into it.
  bool was_filtered(std::size_t index) const { return !reached_.empty() && reached_[index] == 0; }

  CallEnd flush(PhaseTimes& times);
  /// Forgets what was put since the last OK flush: rollback() where offered, else the instance is
  /// destroyed (always that of `lost_stage`, which lost its connection), so that nothing of it can
  /// become durable any more. bring_up() makes the destroyed ones anew.
  void reset(std::optional<std::size_t> lost_stage);

  const PluginFailure& failure() const { return failure_; }

 private:
  struct Stage;

  template <typename Call>
  CallEnd call(Stage& stage, const char* name, Attempts& attempts, const Call& call);
  void note_failure(const Stage& stage, const char* name, sluice_status status);
  std::int64_t retry_timeout_ms(const Stage& stage) const;
  CallEnd bring_up(Stage& stage);
  CallEnd start(Stage& stage);
  CallEnd open_all(Stage& stage);
  void destroy(Stage& stage, sluice_reason reason);
  static const char* missing_function(const Stage& stage);
  bool roll_back(Stage& stage);
  CallEnd push(std::size_t index, std::span<const sluice_record> records,
               std::span<const std::uint32_t> origins);
  void enter(ipc::Phase phase, std::span<const sluice_record> records);
  CallEnd process(std::size_t index, std::span<const sluice_record> records,
                  std::span<const std::uint32_t> origins);
  CallEnd put(Stage& sink, std::span<const sluice_record> records);
  void mark_reached(std::span<const std::uint32_t> origins);

  ChainOptions options_;
  BridgeContext& context_;
  Patience& patience_;
  const TaskTime& time_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<sluice_partition> partitions_;  ///< open in every stage that is up
  PluginFailure failure_;

  // Of the batch that runs.
  std::uint64_t slice_id_ = 0;
  RecordCounts* counts_ = nullptr;
  PhaseTimes* times_ = nullptr;
  std::vector<std::uint8_t> reached_;  ///< per input record; empty without processors
};

}  // namespace sluice::worker
