// The log as far as anybody here can see it: partitions that grow, lose their beginning, have holes
// (compaction, transaction markers) and are sometimes away. Records have no content; what a record
// does to a plugin stands in the scenario.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario.hpp"

namespace sluice::sim {

struct BrokerPartition {
  std::int64_t low = 0;
  std::int64_t end = 0;
};

struct Fetched {
  std::vector<std::int64_t> offsets;  ///< of the records that exist
  std::int64_t next = 0;              ///< position after them; moves over holes
  bool expired = false;               ///< the position is below the low watermark
  bool at_end = false;                ///< PARTITION_EOF at `next`
};

class Broker {
 public:
  explicit Broker(const Scenario& scenario) : scenario_{&scenario} {}

  void add_partition(std::int64_t records) { partitions_.push_back({0, records}); }
  std::int32_t count() const { return static_cast<std::int32_t>(partitions_.size()); }
  const BrokerPartition& at(std::int32_t partition) const {
    return partitions_[static_cast<std::size_t>(partition)];
  }
  void produce(std::int32_t partition, std::int64_t records) { change(partition).end += records; }
  void expire(std::int32_t partition, std::int64_t low) {
    change(partition).low = std::min(std::max(low, at(partition).low), at(partition).end);
  }

  bool away() const { return away_; }
  void set_away(bool away) { away_ = away; }

  bool exists(std::int32_t partition, std::int64_t offset) const {
    return offset < at(partition).end && !scenario_->hole(partition, offset);
  }

  /// Up to `records` records of [position, end). Requires: not away.
  Fetched fetch(std::int32_t partition, std::int64_t position, std::int64_t end,
                std::int64_t records) const {
    Fetched fetched;
    fetched.next = position;
    fetched.expired = position < at(partition).low;
    if (fetched.expired) return fetched;
    const std::int64_t log_end = at(partition).end;
    while (fetched.next < std::min(end, log_end) &&
           static_cast<std::int64_t>(fetched.offsets.size()) < records) {
      if (!scenario_->hole(partition, fetched.next)) fetched.offsets.push_back(fetched.next);
      ++fetched.next;
    }
    fetched.at_end = fetched.next >= log_end;
    return fetched;
  }

 private:
  BrokerPartition& change(std::int32_t partition) {
    return partitions_[static_cast<std::size_t>(partition)];
  }

  const Scenario* scenario_;
  std::vector<BrokerPartition> partitions_;
  bool away_ = false;
};

}  // namespace sluice::sim
