#include "host/job/partition_offsets.hpp"

#include <catch2/catch.hpp>
#include <utility>

namespace sluice::job {
namespace {

using Entries = std::vector<std::pair<kafka::TopicPartition, std::int64_t>>;

Entries entries_of(const PartitionOffsets& offsets) {
  Entries entries;
  offsets.for_each([&](const kafka::TopicPartition& where, std::int64_t offset) {
    entries.emplace_back(where, offset);
  });
  return entries;
}

}  // namespace

TEST_CASE("the newest offset of a partition is the one that is there, 0 included",
          "[partition_offsets]") {
  PartitionOffsets offsets;
  CHECK(offsets.empty());
  offsets.set({"b", 3}, 7);
  offsets.set({"a", 1}, 0);
  offsets.set({"b", 3}, 9);
  CHECK(offsets.size() == 2);
  CHECK(entries_of(offsets) == Entries{{{"a", 1}, 0}, {{"b", 3}, 9}});
}

TEST_CASE("an offset that is added does not replace a newer one", "[partition_offsets]") {
  PartitionOffsets offsets;
  offsets.set({"t", 0}, 8);
  offsets.add({"t", 0}, 5);
  offsets.add({"t", 2}, 5);
  CHECK(entries_of(offsets) == Entries{{{"t", 0}, 8}, {{"t", 2}, 5}});
}

TEST_CASE("what has been handed over leaves nothing behind", "[partition_offsets]") {
  PartitionOffsets offsets;
  offsets.set({"t", 4}, 8);
  const auto sent = std::exchange(offsets, {});
  CHECK(sent.size() == 1);
  CHECK(offsets.empty());
  offsets.set({"t", 1}, 1);
  offsets.clear();
  CHECK(offsets.empty());
  CHECK(entries_of(offsets).empty());
}

}  // namespace sluice::job
