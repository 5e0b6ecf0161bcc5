// The fixture language of the store's tests: a store in a folder of its own that lives as often as
// hosts do, and rows with every field set to a number of its own, so that a forgotten or swapped
// column shows.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "host/state/sqlite_store.hpp"
#include "host/state/store_reader.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::state {

constexpr std::int64_t kNowMs = 1'800'000'000'000;

/// Opens, closes and opens again: a host's lives.
class OpenStore {
 public:
  explicit OpenStore(const TemporaryFolder& folder) : folder_{folder} { reopen(); }

  void reopen() {
    close();
    lock_.emplace(DirectoryLock::try_acquire(folder_.path()).value());
    store_ = open_sqlite_store(*lock_).value();
  }
  void close() {
    store_.reset();
    lock_.reset();
  }
  StateStore& operator*() { return *store_; }
  StateStore* operator->() { return store_.get(); }
  std::unique_ptr<StateStore> take() { return std::move(store_); }

  /// One job's changes.
  Result<> apply(const std::string& job, ChangeSet changes) {
    const JobChanges batch[] = {{job, std::move(changes)}};
    return store_->apply(batch);
  }

 private:
  const TemporaryFolder& folder_;
  std::optional<DirectoryLock> lock_;
  std::unique_ptr<StateStore> store_;
};

inline PartitionRow some_partition(const std::string& topic, std::int32_t partition) {
  PartitionRow row;
  row.topic = topic;
  row.partition = partition;
  row.lane = 1;
  row.topic_incarnation = 2;
  row.epoch = 3;
  row.start_offset = 4;
  row.frontier = 5;
  row.worker_slot = 6;
  row.once_end = 7;
  row.slices_settled = 8;
  row.totals = Counts{9, 10, 11, 12, 13};
  row.fingerprints = "14:15:16";
  row.lowered_from = 17;
  return row;
}

inline SliceRow some_slice(std::uint64_t id, std::int64_t start, std::int64_t end,
                           SliceState slice_state) {
  SliceRow row;
  row.id = id;
  row.execution = 1;
  row.topic = "orders";
  row.partition = 3;
  row.lane = 1;
  row.topic_incarnation = 2;
  row.start = start;
  row.end = end;
  row.epoch = 4;
  row.attempt = 5;
  row.worker = WorkerStamp{6, 7, 8};
  row.state = slice_state;
  row.halted = true;
  row.stable = true;
  row.slice_count = 9;
  row.counts = Counts{10, 11, 12, 13, 14};
  row.times = PhaseTimes{15, 16, 17, 18, 19, 20};
  row.created_ms = kNowMs;
  row.dispatched_ms = kNowMs + 1;
  row.settled_ms = kNowMs + 2;
  row.cause = Cause::Poison;
  row.excluded = "21,22";
  row.error = SliceError{"TASK_PUT", "file", -28, "No space left on device"};
  return row;
}

}  // namespace sluice::state
