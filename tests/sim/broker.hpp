// The log as far as anybody here can see it: partitions that grow, lose their beginning or their
// end, have holes (compaction, transaction markers), are sometimes away, and belong to a topic that
// may be deleted and created again. Of a record's content it is known which writing of its offset
// it is; what a record does to a plugin stands in the scenario.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "sim/scenario.hpp"

namespace sluice::sim {

struct BrokerPartition {
  std::int64_t low = 0;
  std::int64_t end = 0;
  std::map<std::int64_t, std::uint32_t> writings{};  ///< first offset -> which writing, from there
  std::uint32_t leader = 0;                          ///< counts up with each election
  bool shrunk_unseen = false;  ///< it lost its end, and no host that has looked is sure to know
};

struct Fetched {
  std::vector<std::int64_t> offsets;  ///< of the records that exist
  std::int64_t next = 0;              ///< position after them; moves over holes
  bool expired = false;               ///< the position is not in the log
  bool at_end = false;                ///< PARTITION_EOF at `next`
};

class Broker {
 public:
  explicit Broker(const Scenario& scenario) : scenario_{&scenario} {}

  void add_partition(std::int64_t records) {
    partitions_.push_back({0, records, {{0, ++writings_}}});
  }
  std::int32_t count() const { return static_cast<std::int32_t>(partitions_.size()); }
  const BrokerPartition& at(std::int32_t partition) const {
    return partitions_[static_cast<std::size_t>(partition)];
  }
  void produce(std::int32_t partition, std::int64_t records) { change(partition).end += records; }
  /// An unclean election: what comes next is another writing.
  void truncate(std::int32_t partition, std::int64_t end) {
    BrokerPartition& log = change(partition);
    log.end = end;
    log.writings.erase(log.writings.lower_bound(end), log.writings.end());
    log.writings[end] = ++writings_;
    log.shrunk_unseen = true;
    ++log.leader;
  }
  /// By a host, while `leader` was its leader.
  void seen(std::int32_t partition, std::uint32_t leader) {
    BrokerPartition& log = change(partition);
    if (log.leader == leader) log.shrunk_unseen = false;
  }
  void delete_topic() {
    absent_ = true;
    for (BrokerPartition& log : partitions_) {
      log = {0, 0, {{0, ++writings_}}, log.leader + 1, false};
    }
  }
  void create_topic() { absent_ = false; }
  bool absent() const { return absent_; }
  std::uint32_t writing(std::int32_t partition, std::int64_t offset) const {
    return std::prev(at(partition).writings.upper_bound(offset))->second;
  }
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
    fetched.expired = position < at(partition).low || position > at(partition).end;
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
  std::uint32_t writings_ = 0;
  bool away_ = false;
  bool absent_ = false;
};

}  // namespace sluice::sim
