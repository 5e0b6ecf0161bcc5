#include "host/worker/flush_group.hpp"

#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"

namespace sluice::worker {

namespace {

/// More would keep the memory of one burst for ever.
constexpr std::size_t kSpareRunsMax = 64;

}  // namespace

void SliceRun::clear_counts() {
  counts = {};
  errants.clear();
  failure.reset();
}

const sluice_record* SliceRun::find(std::int64_t offset) const {
  for (const auto& batch : batches) {
    if (batch.empty() || offset < batch.front().offset || offset > batch.back().offset) continue;
    const auto at = std::partition_point(
        batch.begin(), batch.end(), [=](const auto& record) { return record.offset < offset; });
    return at->offset == offset ? &*at : nullptr;
  }
  return nullptr;
}

bool SliceRun::add_errant(ErrantRecord errant) {
  const std::int64_t offset = errant.record->offset;
  const auto at = std::partition_point(errants.begin(), errants.end(), [=](const auto& known) {
    return known.record->offset < offset;
  });
  if (at != errants.end() && at->record->offset == offset) return false;
  errants.insert(at, std::move(errant));
  return true;
}

SliceRun* FlushGroup::find(std::uint64_t slice_id) {
  for (SliceRun& run : runs_) {
    if (run.slice->command.slice_id == slice_id) return &run;
  }
  return nullptr;
}

bool FlushGroup::has_partial_stable_run() const {
  return std::any_of(runs_.begin(), runs_.end(), [](const SliceRun& run) {
    return !run.is_complete && run.slice->is_indivisible();
  });
}

SliceRun& FlushGroup::ensure_run(SliceWork& slice, PartitionFeed& feed) {
  // The slice that runs is nearly always the one that was added last.
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (run->slice == &slice) return *run;
  }
  if (spare_runs_.empty()) {
    runs_.emplace_back();
  } else {
    runs_.push_back(std::move(spare_runs_.back()));
    spare_runs_.pop_back();
  }
  SliceRun& run = runs_.back();
  run.slice = &slice;
  run.feed = &feed;
  run.next = slice.durable;
  return run;
}

void FlushGroup::add_batch(SliceRun& run, std::span<const sluice_record> records,
                           std::uint64_t bytes) {
  run.batches.push_back(records);
  run.batch_bytes.push_back(bytes);
  records_ += records.size();
  bytes_ += bytes;
}

void FlushGroup::undo_batch(SliceRun& run) {
  SLUICE_ASSERT(!run.batches.empty());
  records_ -= run.batches.back().size();
  bytes_ -= run.batch_bytes.back();
  run.batches.pop_back();
  run.batch_bytes.pop_back();
  const std::int64_t next = run.next;
  std::erase_if(run.errants, [=](const auto& errant) { return errant.record->offset >= next; });
}

void FlushGroup::complete(SliceRun& run) {
  run.is_complete = true;
  run.next = run.slice->command.end;
  ++complete_runs_;
}

void FlushGroup::drop_last_run() {
  SLUICE_ASSERT(!runs_.empty() && !runs_.back().is_complete);
  runs_.pop_back();
}

std::vector<SliceRun> FlushGroup::take_runs() {
  records_ = 0;
  bytes_ = 0;
  complete_runs_ = 0;
  return std::exchange(runs_, {});
}

SliceRun& FlushGroup::adopt(SliceRun run) {
  SLUICE_ASSERT(runs_.empty());
  runs_.push_back(std::move(run));
  SliceRun& adopted = runs_.back();
  adopted.clear_counts();
  for (const auto& batch : adopted.batches) records_ += batch.size();
  for (const std::uint64_t bytes : adopted.batch_bytes) bytes_ += bytes;
  complete_runs_ = adopted.is_complete ? 1 : 0;
  return adopted;
}

void FlushGroup::clear_runs() {
  for (SliceRun& run : runs_) {
    if (spare_runs_.size() == kSpareRunsMax) break;
    run.slice = nullptr;
    run.feed = nullptr;
    run.is_complete = false;
    run.batches.clear();
    run.batch_bytes.clear();
    run.clear_counts();
    spare_runs_.push_back(std::move(run));
  }
  runs_.clear();
  records_ = 0;
  bytes_ = 0;
  complete_runs_ = 0;
}

}  // namespace sluice::worker
