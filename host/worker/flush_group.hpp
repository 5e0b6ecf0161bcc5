// What has been put since the last flush (delivery.md D4): which slices, which of their records,
// what became of them. The records stay in memory until flush returns, so that the group can run
// again after a failure (D5) and a record that a plugin fails late still has its bytes.
//
// One run per slice. A slice whose records are not all there yet may be flushed in the middle: its
// run then covers a part, and the rest comes in later groups.
// Vectors keep their memory from group to group. Task thread only.
#pragma once

#include <sluice/abi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/worker/plugin_failure.hpp"
#include "host/worker/record_source.hpp"
#include "host/worker/slice_work.hpp"
#include "host/worker/start_parameters.hpp"

namespace sluice::worker {

class PartitionFeed;

/// A record that a plugin failed.
struct ErrantRecord {
  const sluice_record* record = nullptr;
  std::string plugin;
  std::string stage;
  std::string why;
  bool has_letter = false;  ///< its dead letter is on its way
};

/// The records of one slice in a group.
struct SliceRun {
  SliceWork* slice = nullptr;
  PartitionFeed* feed = nullptr;
  std::int64_t next = 0;     ///< one past what has been put, holes included
  bool is_complete = false;  ///< the slice's end is reached
  std::vector<std::span<const sluice_record>> batches;
  std::vector<std::uint64_t> batch_bytes;
  RecordCounts counts;
  std::vector<ErrantRecord> errants;  ///< by offset, each once
  /// Flushed, but it may not be passed: a dead letter could not be written.
  std::unique_ptr<PluginFailure> failure;

  void clear_counts();
  /// The record of that offset, if it is of this run.
  const sluice_record* find(std::int64_t offset) const;
  /// False when it is there already.
  bool add_errant(ErrantRecord errant);
};

class FlushGroup {
 public:
  bool empty() const { return runs_.empty(); }
  std::vector<SliceRun>& runs() { return runs_; }
  const std::vector<SliceRun>& runs() const { return runs_; }
  SliceRun* find(std::uint64_t slice_id);
  bool has_complete_run() const { return complete_runs_ > 0; }
  /// A slice that must run as it is (kStable) is only half there: not a place to flush.
  bool has_partial_stable_run() const;

  /// The slice's run, made if there is none yet.
  SliceRun& ensure_run(SliceWork& slice, PartitionFeed& feed);
  /// Before it is put: what fails inside put is found in the group.
  void add_batch(SliceRun& run, std::span<const sluice_record> records, std::uint64_t bytes);
  /// The batch last added was not taken.
  void undo_batch(SliceRun& run);
  void complete(SliceRun& run);
  /// Leaves the group without a trace (a slice of which nothing was put).
  void drop_last_run();

  /// Keeps the memory of used-up blocks until free_blocks().
  std::vector<Block>& retired() { return retired_; }
  /// Requires: no records of theirs are needed any more, here or in runs that were taken.
  void free_blocks() { retired_.clear(); }

  /// When the first batch was put; only of a group that is not empty.
  std::int64_t first_put_us() const { return first_put_us_; }
  void set_first_put(std::int64_t now_us) { first_put_us_ = now_us; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t records() const { return records_; }
  bool is_full(const FlushLimits& limits) const {
    return records_ >= limits.records_max || bytes_ >= limits.bytes_max;
  }

  /// Takes the runs out, to run them again one by one; blocks stay.
  std::vector<SliceRun> take_runs();
  /// Takes one of them back, its counts cleared. Requires: empty.
  SliceRun& adopt(SliceRun run);
  /// Everything is durable and reported; blocks stay.
  void clear_runs();

 private:
  std::vector<SliceRun> runs_;
  std::vector<SliceRun> spare_runs_;  ///< their vectors have memory
  std::vector<Block> retired_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t complete_runs_ = 0;
  std::int64_t first_put_us_ = 0;
};

}  // namespace sluice::worker
