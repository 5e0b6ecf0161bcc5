// What a start gets back from the store (slicer.md R1, R2, S5, S7): settled ranges above a hole are
// not done again, and a reset is not undone by rows from before it. Each case writes a history and
// asks what the next host would load.
#include <algorithm>
#include <vector>

#include "store_fixture.hpp"

namespace sluice::state {
namespace {

/// The lane of some_slice(): partition 3, lane 1, incarnation 2.
PartitionRow lane_at(std::int64_t frontier) {
  PartitionRow row = some_partition("orders", 3);
  row.frontier = frontier;
  return row;
}

std::vector<std::uint64_t> loaded_ids(OpenStore& store) {
  std::vector<std::uint64_t> ids;
  for (const SliceRow& row : store->load_job("orders").value().slices) ids.push_back(row.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("what is settled above a hole is loaded, so that it is not done again", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {lane_at(10)};
  changes.slices_upserted = {
      some_slice(1, 0, 10, SliceState::Completed), some_slice(2, 10, 20, SliceState::Retrying),
      some_slice(3, 20, 30, SliceState::Completed), some_slice(4, 30, 40, SliceState::Parked),
      some_slice(5, 40, 50, SliceState::DeadLettered)};
  REQUIRE(store.apply("orders", changes));
  CHECK(loaded_ids(store) == Ids{1, 2, 3, 4, 5});
}

TEST_CASE("what was settled before a reset does not count after it, in the same execution too",
          "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet before;
  before.partitions = {lane_at(20)};
  before.slices_upserted = {some_slice(1, 0, 10, SliceState::Completed),
                            some_slice(2, 10, 20, SliceState::Parked)};
  REQUIRE(store.apply("orders", before));
  ChangeSet reset;
  reset.partitions = {lane_at(0)};
  REQUIRE(store.apply("orders", reset));
  store.reopen();
  CHECK(loaded_ids(store).empty());

  // Work goes on from there: newer rows count, older ones still do not.
  ChangeSet after;
  after.partitions = {lane_at(5)};
  after.slices_upserted = {some_slice(3, 0, 5, SliceState::Completed),
                           some_slice(4, 8, 12, SliceState::Completed)};
  REQUIRE(store.apply("orders", after));
  CHECK(loaded_ids(store) == Ids{3, 4});
}

TEST_CASE("rows of a topic's earlier incarnation do not count in the new one", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {lane_at(20)};
  changes.slices_upserted = {some_slice(1, 0, 20, SliceState::Completed),
                             some_slice(2, 30, 40, SliceState::Parked)};
  REQUIRE(store.apply("orders", changes));
  ChangeSet recreated;
  // Not lower than before, so that it is no reset.
  recreated.partitions = {lane_at(20)};
  recreated.partitions[0].topic_incarnation = 3;
  REQUIRE(store.apply("orders", recreated));
  CHECK(loaded_ids(store).empty());
}

TEST_CASE("numbers of slices that a merged row hides are not used again", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.next_slice_id = 1'001;
  changes.slices_upserted = {some_slice(1, 0, 1'000, SliceState::Completed)};
  REQUIRE(store.apply("orders", changes));
  // A set that does not say it, or says less, takes nothing back.
  changes.next_slice_id = 0;
  REQUIRE(store.apply("orders", changes));
  store.reopen();
  CHECK(store->load_job("orders").value().next_slice_id == 1'001);
}

TEST_CASE("a set that is applied again changes nothing", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {lane_at(10)};
  changes.slices_upserted = {some_slice(2, 10, 20, SliceState::Ready)};
  changes.slices_deleted = {1};
  changes.gaps = {
      GapRow{1, "orders", 3, 1, 2, 0, 10, Cause::Expired, 10, 0, kNowMs, "low watermark 10"},
      GapRow{1, "orders", 3, 1, 2, 0, 10, Cause::Expired, 10, 0, kNowMs + 1, "expired again"}};
  REQUIRE(store.apply("orders", changes));
  const JobState once = store->load_job("orders").value();
  REQUIRE(store.apply("orders", changes));
  const JobState twice = store->load_job("orders").value();
  CHECK(once.partitions == twice.partitions);
  CHECK(once.slices == twice.slices);
  CHECK(once.next_slice_id == twice.next_slice_id);
  const auto reader = open_store_reader(folder.path()).value();
  CHECK(reader->gaps("orders", {}).value().gaps.size() == 2);
}

}  // namespace sluice::state
