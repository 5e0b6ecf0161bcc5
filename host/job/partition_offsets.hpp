// An offset for some of a job's partitions. By topic and partition number, so that one costs 8
// bytes: in a map by name it would be 150, and a job may have 10,000 (P12).
//
// Requires: partition numbers are those of real partitions, so that the highest is near how many
// there are; offsets are at least 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/kafka/admin.hpp"

namespace sluice::job {

class PartitionOffsets {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void set(const kafka::TopicPartition& where, std::int64_t offset) { at(where) = offset; }
  /// Unless it has one.
  void add(const kafka::TopicPartition& where, std::int64_t offset) {
    auto& known = at(where);
    if (known == kNone) known = offset;
  }
  void clear() {
    topics_.clear();
    size_ = 0;
  }
  /// `call(where, offset)` in order of topic and partition.
  template <typename Call>
  void for_each(Call call) const {
    for (const auto& [topic, offsets] : topics_) {
      kafka::TopicPartition where{topic, 0};
      for (const auto offset : offsets) {
        if (offset != kNone) call(where, offset);
        ++where.partition;
      }
    }
  }

 private:
  static constexpr std::int64_t kNone = -1;

  /// Made if it is not there; counted as there from now on.
  std::int64_t& at(const kafka::TopicPartition& where) {
    auto& offsets = topics_[where.topic];
    const auto number = static_cast<std::size_t>(where.partition);
    if (number >= offsets.size()) offsets.resize(number + 1, kNone);
    if (offsets[number] == kNone) ++size_;
    return offsets[number];
  }

  std::map<std::string, std::vector<std::int64_t>> topics_;
  std::size_t size_ = 0;
};

}  // namespace sluice::job
