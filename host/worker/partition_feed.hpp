// One open partition: the slices that wait for it, in order, and the records that are at hand for
// them. Turns blocks of any size into batches that never cross a slice, and decides when a slice is
// over (slicer.md C4): position, a record at or beyond the end, end of partition, or the source's
// position. Time never ends one: without progress it fetches anew and says that it waits.
//
// Contiguous slices go on where the last one ended, within the same block, without a seek. A record
// beyond a slice stays for the next one. At most one block is held while no slice is open; its end
// is what the slicer learns of new records from (C2).
// It knows no plugin and reports nothing. Owned by the task loop, task thread only.
#pragma once

#include <sluice/abi.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/worker/record_source.hpp"
#include "host/worker/slice_work.hpp"
#include "host/worker/start_parameters.hpp"

namespace sluice::worker {

/// First re-fetch after that long without progress; doubles up to the second.
inline constexpr std::int64_t kStallUs = 1'000'000;
inline constexpr std::int64_t kStallMaxUs = 30'000'000;

enum class Supply {
  Batch,    ///< batch() holds the next records of the first slice
  End,      ///< the first slice is over: everything below its end has been handed out
  Short,    ///< the log ends inside it, at next_offset() (C3)
  Expired,  ///< next_offset() is not in the log any more
  Starved,  ///< nothing at hand; other partitions may go on
};

class PartitionFeed {
 public:
  PartitionFeed(std::uint16_t topic, std::string topic_name, std::int32_t partition)
      : topic_{topic}, topic_name_{std::move(topic_name)}, partition_{partition} {}

  std::uint16_t topic() const { return topic_; }
  std::int32_t partition() const { return partition_; }
  /// "orders-3", for people.
  std::string name() const { return topic_name_ + "-" + std::to_string(partition_); }

  bool is_open() const { return source_ != nullptr; }
  /// Fails while the source cannot; may be tried again.
  Result<> open(RecordSource& records, std::int64_t offset);
  void close(RecordSource& records, std::vector<Block>& retired);

  std::deque<SliceWork*>& slices() { return slices_; }
  const std::deque<SliceWork*>& slices() const { return slices_; }

  /// Requires: open, and a slice waits. Blocks that are used up are appended to `retired`: records
  /// of theirs may still be in a flush group.
  Supply supply(const BatchLimits& limits, std::int64_t now_us, std::vector<Block>& retired);
  std::span<const sluice_record> batch() const { return batch_; }
  std::uint64_t batch_bytes() const { return batch_bytes_; }
  /// The batch was taken; without it the next supply() offers it again.
  void consume_batch();
  /// The first slice leaves the queue (over, or given back).
  SliceWork* pop_slice();
  /// The slice leaves the queue by other hands; its place in memory may be used again.
  void forget(const SliceWork* slice) {
    if (begun_ == slice) begun_ = nullptr;
  }
  /// One past what has been handed out, holes included.
  std::int64_t next_offset() const { return next_; }

  /// No slice is open: looks for records, holding at most one block.
  void look_ahead(const BatchLimits& limits, std::vector<Block>& retired);
  /// One past everything that is known to exist.
  std::int64_t visible_end() const;

  /// Starved for so long that the next step against it is due.
  bool stall_is_due(std::int64_t now_us) const;
  /// When that will be; nothing while it is not starved.
  std::optional<std::int64_t> stall_due_us() const;
  /// Opens or fetches anew, and doubles the time to the next step.
  void break_stall(RecordSource& records, std::int64_t now_us, std::vector<Block>& retired);
  /// Steps against the present stall so far, its age, and the source's reason (may be empty).
  std::uint32_t stall_steps() const { return stall_steps_; }
  std::int64_t stalled_us(std::int64_t now_us) const;
  const std::string& stall_reason() const { return stall_reason_; }
  /// Marks it starved without asking the source, e.g. while it cannot be opened.
  void starve(std::int64_t now_us, std::string reason);

 private:
  std::span<const sluice_record> held() const { return block_.records().subspan(cursor_); }
  SliceWork& first() const { return *slices_.front(); }
  void begin_slice(std::vector<Block>& retired);
  void go_to(std::int64_t offset, std::vector<Block>& retired);
  void retire_block(std::vector<Block>& retired);
  void drop_held_below(std::int64_t offset);
  void skip_excluded();
  void offer(const BatchLimits& limits);
  Supply end_slice();
  /// Takes one fetch; true if it brought anything.
  bool fetch(std::size_t records_max, std::vector<Block>& retired);
  Supply judge_no_records(std::int64_t now_us);
  void note_progress();

  std::uint16_t topic_;
  std::string topic_name_;
  std::int32_t partition_;
  PartitionSource* source_ = nullptr;
  std::deque<SliceWork*> slices_;
  const SliceWork* begun_ = nullptr;  ///< the slice whose start has been gone to

  Block block_;
  std::size_t cursor_ = 0;  ///< into block_: the first record not handed out
  std::int64_t next_ = 0;
  std::optional<std::int64_t> eof_;
  bool expired_ = false;
  bool drained_ = true;
  std::span<const sluice_record> batch_;
  std::uint64_t batch_bytes_ = 0;

  std::optional<std::int64_t> starved_since_us_;
  std::int64_t last_position_ = 0;
  std::int64_t next_step_us_ = 0;
  std::int64_t step_delay_us_ = kStallUs;
  std::uint32_t stall_steps_ = 0;
  bool eof_after_step_ = false;  ///< end of partition met after a re-fetch: the log does end there
  std::string stall_reason_;
};

}  // namespace sluice::worker
