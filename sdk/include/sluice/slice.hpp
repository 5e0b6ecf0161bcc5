// Where a batch comes from: the slice, which is the unit of retry and commit, and the partitions
// that this worker owns. Views, valid until the call that handed them out returns. Read only: a
// plugin learns of its place here, it does not choose it.
#pragma once

#include <sluice/record.hpp>

namespace sluice {

class Slice {
 public:
  explicit Slice(const sluice_slice* raw) : raw_{raw} {}

  std::uint64_t id() const { return raw_->slice_id; }
  std::uint32_t attempt() const { return raw_->attempt; }  ///< 1 is the first

  /// These seven are the identity that an idempotent sink may use as a key, if it declares
  /// Capability::StableSlices: then a redelivered slice has the same range.
  Bytes job() const { return Bytes{raw_->job}; }
  Bytes topic() const { return Bytes{raw_->topic}; }
  std::uint32_t topic_incarnation() const { return raw_->topic_incarnation; }
  std::int32_t partition() const { return raw_->partition; }
  std::uint32_t lane() const { return raw_->lane; }
  std::int64_t start_offset() const { return raw_->start_offset; }
  std::int64_t end_offset() const { return raw_->end_offset; }  ///< one past the last

  std::uint32_t epoch() const { return raw_->epoch; }
  const sluice_slice& raw() const { return *raw_; }

 private:
  const sluice_slice* raw_;
};

struct Partition {
  Bytes topic;
  std::uint32_t topic_index = 0;
  std::uint32_t topic_incarnation = 0;
  std::int32_t number = 0;
};

/// Why partitions are opened or closed.
enum class Reason : std::int32_t {
  Assigned = SLUICE_REASON_ASSIGNED,  ///< open: new here
  Moved = SLUICE_REASON_MOVED,        ///< close: another worker goes on; open: another one had it
  Stopping = SLUICE_REASON_STOPPING,  ///< close: the worker stops
  Reset = SLUICE_REASON_RESET,        ///< the plugins are made anew; nothing changes hands
};

}  // namespace sluice
