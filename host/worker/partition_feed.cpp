#include "host/worker/partition_feed.hpp"

#include <algorithm>

#include "host/base/assert.hpp"

namespace sluice::worker {

namespace {

std::uint64_t payload_bytes(std::span<const sluice_record> records) {
  std::uint64_t bytes = 0;
  for (const sluice_record& record : records) bytes += record.key.size + record.value.size;
  return bytes;
}

/// How many of the first records fit into `bytes_max`; at least one, however large.
std::size_t fitting(std::span<const sluice_record> records, std::uint64_t bytes_max) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    bytes += records[i].key.size + records[i].value.size;
    if (bytes > bytes_max) return std::max<std::size_t>(i, 1);
  }
  return records.size();
}

std::size_t count_below(std::span<const sluice_record> records, std::int64_t offset) {
  const auto end = std::partition_point(records.begin(), records.end(),
                                        [=](const auto& record) { return record.offset < offset; });
  return static_cast<std::size_t>(end - records.begin());
}

/// How many there are before the next one that is left out.
std::size_t count_before_excluded(std::span<const sluice_record> records,
                                  const ipc::SliceTerms& terms) {
  const auto& excluded = terms.excluded;
  const auto next = std::lower_bound(excluded.begin(), excluded.end(), records.front().offset);
  return next == excluded.end() ? records.size() : count_below(records, *next);
}

}  // namespace

Result<> PartitionFeed::open(RecordSource& records, std::int64_t offset) {
  const auto source = records.open(topic_name_, topic_, partition_, offset);
  if (!source) return source.error();
  source_ = *source;
  next_ = offset;
  eof_.reset();
  expired_ = false;
  return {};
}

void PartitionFeed::close(RecordSource& records, std::vector<Block>& retired) {
  retire_block(retired);
  if (source_ != nullptr) records.close(*source_);
  source_ = nullptr;
  begun_ = nullptr;
  note_progress();
}

void PartitionFeed::retire_block(std::vector<Block>& retired) {
  if (!block_.empty()) retired.push_back(std::move(block_));
  block_ = Block{};
  cursor_ = 0;
}

void PartitionFeed::drop_held_below(std::int64_t offset) {
  cursor_ += count_below(held(), offset);
}

/// Records that no plugin may see (slicer.md F3.4) are passed as if the log had holes there.
void PartitionFeed::skip_excluded() {
  if (!first().terms) return;
  for (const std::int64_t offset : first().terms->excluded) {
    if (held().empty() || held().front().offset != offset) continue;
    ++cursor_;
    next_ = offset + 1;
  }
}

void PartitionFeed::go_to(std::int64_t offset, std::vector<Block>& retired) {
  const auto records = held();
  const bool is_held =
      !records.empty() && records.front().offset <= offset && offset <= records.back().offset;
  if (expired_) {
    retire_block(retired);
    // An error here shows as a stall, whose cure is the same call.
    if (source_->refetch(offset)) expired_ = false;
    eof_.reset();
  } else if (offset != next_ && !is_held) {
    retire_block(retired);
    source_->seek(offset);
    eof_.reset();
  }
  next_ = offset;
  drop_held_below(offset);
}

void PartitionFeed::begin_slice(std::vector<Block>& retired) {
  begun_ = &first();
  go_to(first().durable, retired);
  note_progress();
}

Supply PartitionFeed::end_slice() {
  next_ = std::max(next_, first().command.end);
  note_progress();
  return Supply::End;
}

Supply PartitionFeed::supply(const BatchLimits& limits, std::int64_t now_us,
                             std::vector<Block>& retired) {
  SLUICE_ASSERT(is_open() && !slices_.empty());
  if (begun_ != &first()) begin_slice(retired);
  const std::int64_t end = first().command.end;
  for (bool fetched = false;; fetched = true) {
    skip_excluded();
    if (next_ >= end) return end_slice();  // C4 (a)
    if (const auto records = held(); !records.empty()) {
      if (records.front().offset >= end) return end_slice();  // C4 (b)
      offer(limits);
      return Supply::Batch;
    }
    if (eof_ && *eof_ >= end) return end_slice();  // C4 (c)
    if (fetched && drained_) return judge_no_records(now_us);
    if (!fetch(limits.records_max, retired) && drained_) return judge_no_records(now_us);
  }
}

void PartitionFeed::offer(const BatchLimits& limits) {
  const auto records = held();
  std::size_t count = records.size();
  if (records.back().offset >= first().command.end)
    count = count_below(records, first().command.end);
  count = std::min<std::size_t>(count, limits.records_max);
  if (first().terms) count = std::min(count, count_before_excluded(records, *first().terms));
  if (block_.bytes() > limits.bytes_max) count = fitting(records.first(count), limits.bytes_max);
  batch_ = records.first(count);
  const bool is_whole_block = count == block_.records().size();
  batch_bytes_ = is_whole_block ? block_.bytes() : payload_bytes(batch_);
}

void PartitionFeed::consume_batch() {
  SLUICE_ASSERT(!batch_.empty());
  next_ = batch_.back().offset + 1;
  cursor_ += batch_.size();
  batch_ = {};
}

SliceWork* PartitionFeed::pop_slice() {
  SliceWork* slice = slices_.front();
  slices_.pop_front();
  forget(slice);
  return slice;
}

bool PartitionFeed::fetch(std::size_t records_max, std::vector<Block>& retired) {
  retire_block(retired);
  Fetched fetched = source_->fetch(records_max);
  drained_ = fetched.drained;
  if (fetched.error) stall_reason_ = fetched.error->message();
  if (fetched.expired) expired_ = true;
  if (fetched.eof_offset) {
    eof_ = *fetched.eof_offset;
    eof_after_step_ = stall_steps_ > 0;
  }
  if (!fetched.block.empty()) {
    block_ = std::move(fetched.block);
    cursor_ = 0;
    drop_held_below(next_);
  }
  const bool brought = !held().empty();
  if (brought) note_progress();
  return brought || fetched.eof_offset.has_value();
}

Supply PartitionFeed::judge_no_records(std::int64_t now_us) {
  const std::int64_t end = first().command.end;
  if (expired_) return Supply::Expired;
  const std::int64_t position = source_->position();
  if (position >= end) return end_slice();  // C4 (d)
  const bool ends_here = eof_after_step_ && eof_ && *eof_ >= next_;
  if (ends_here && !first().is_indivisible()) {
    next_ = *eof_;
    return Supply::Short;
  }
  if (position != last_position_) {
    last_position_ = position;
    note_progress();
  }
  if (!starved_since_us_) {
    starved_since_us_ = now_us;
    next_step_us_ = now_us + step_delay_us_;
  }
  return Supply::Starved;
}

void PartitionFeed::note_progress() {
  starved_since_us_.reset();
  step_delay_us_ = kStallUs;
  stall_steps_ = 0;
  eof_after_step_ = false;
  stall_reason_.clear();
}

void PartitionFeed::look_ahead(const BatchLimits& limits, std::vector<Block>& retired) {
  if (!is_open() || expired_ || !held().empty()) return;
  do {
    if (fetch(limits.records_max, retired) && !held().empty()) return;
  } while (!drained_);
}

std::int64_t PartitionFeed::visible_end() const {
  std::int64_t end = next_;
  if (!held().empty()) end = std::max(end, held().back().offset + 1);
  if (eof_) end = std::max(end, *eof_);
  return end;
}

std::optional<std::int64_t> PartitionFeed::stall_due_us() const {
  if (!starved_since_us_) return std::nullopt;
  return next_step_us_;
}

bool PartitionFeed::stall_is_due(std::int64_t now_us) const {
  return starved_since_us_ && now_us >= next_step_us_;
}

std::int64_t PartitionFeed::stalled_us(std::int64_t now_us) const {
  return starved_since_us_ ? now_us - *starved_since_us_ : 0;
}

void PartitionFeed::break_stall(RecordSource& records, std::int64_t now_us,
                                std::vector<Block>& retired) {
  ++stall_steps_;
  step_delay_us_ = std::min(step_delay_us_ * 2, kStallMaxUs);
  next_step_us_ = now_us + step_delay_us_;
  eof_.reset();
  eof_after_step_ = false;
  retire_block(retired);
  const auto done = is_open() ? source_->refetch(next_) : open(records, first().durable);
  if (!done) stall_reason_ = done.error().message();
}

void PartitionFeed::starve(std::int64_t now_us, std::string reason) {
  stall_reason_ = std::move(reason);
  if (starved_since_us_) return;
  starved_since_us_ = now_us;
  next_step_us_ = now_us + step_delay_us_;
}

}  // namespace sluice::worker
