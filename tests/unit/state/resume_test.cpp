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

Ids recoverable_ids(OpenStore& store) {
  Ids ids;
  for (const SliceRow& row : store->recoverable("orders").value()) ids.push_back(row.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

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

// The frontier that was stored last was lower still: the slicer went past it, and back (F5).
TEST_CASE("a reset that does not lower the stored frontier is one when its row says so",
          "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet before;
  before.next_slice_id = 10;
  before.partitions = {lane_at(20)};
  before.slices_upserted = {some_slice(1, 0, 20, SliceState::Completed)};
  REQUIRE(store.apply("orders", before));
  ChangeSet reset;
  reset.next_slice_id = 20;
  reset.partitions = {lane_at(30)};
  reset.partitions[0].reset = true;
  reset.slices_upserted = {some_slice(2, 20, 50, SliceState::Completed)};
  REQUIRE(store.apply("orders", reset));
  CHECK(loaded_ids(store).empty());
  ChangeSet after;
  after.partitions = {lane_at(30)};
  after.slices_upserted = {some_slice(11, 40, 60, SliceState::Completed)};
  REQUIRE(store.apply("orders", after));
  CHECK(loaded_ids(store) == Ids{11});
}

TEST_CASE("what an execution has skipped and parked is counted over a restart (S1)", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
  const auto gap = [](std::int64_t start, Cause cause, std::uint64_t slice_id) {
    return GapRow{1, "orders", 3, 1, 2, start, start + 10, cause, 10, slice_id, kNowMs, ""};
  };
  ChangeSet changes;
  changes.partitions = {lane_at(40)};
  changes.slices_upserted = {some_slice(1, 0, 10, SliceState::Parked),
                             some_slice(2, 10, 20, SliceState::DeadLettered)};
  changes.gaps = {gap(0, Cause::Parked, 1), gap(10, Cause::DeadLettered, 2),
                  gap(20, Cause::Expired, 3), gap(30, Cause::Poison, 4)};
  REQUIRE(store.apply("orders", changes));
  store.reopen();
  // Dead letters alone leave no gap.
  CHECK(store->load_job("orders").value().gaps == 3);

  // A parked range that was recovered is a gap no more, though the ledger keeps its line.
  ChangeSet recovered;
  recovered.slices_upserted = {some_slice(1, 0, 10, SliceState::Completed)};
  REQUIRE(store.apply("orders", recovered));
  CHECK(store->load_job("orders").value().gaps == 2);

  store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
  CHECK(store->load_job("orders").value().gaps == 0);
}

TEST_CASE("recover finds what is parked, and what a reset left unfinished (S6)", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {lane_at(40)};
  changes.slices_upserted = {
      some_slice(1, 0, 10, SliceState::Parked), some_slice(2, 10, 20, SliceState::Completed),
      some_slice(3, 20, 30, SliceState::Parked), some_slice(4, 40, 50, SliceState::Retrying)};
  REQUIRE(store.apply("orders", changes));
  const auto ids = [&] {
    Ids found;
    for (const auto& row : store->recoverable("orders").value()) found.push_back(row.id);
    return found;
  };
  CHECK(ids() == Ids{1, 3});
  ChangeSet reset;
  reset.partitions = {lane_at(0)};
  REQUIRE(store.apply("orders", reset));
  CHECK(ids() == Ids{1, 3, 4});
  CHECK(store->recoverable("unknown").value().empty());
}

TEST_CASE("a slice that was open before a reset does not run again by itself (S6)", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {lane_at(40)};
  changes.slices_upserted = {some_slice(1, 40, 50, SliceState::Retrying),
                             some_slice(2, 60, 70, SliceState::Isolating)};
  REQUIRE(store.apply("orders", changes));
  CHECK(loaded_ids(store) == Ids{1, 2});
  ChangeSet reset;
  reset.partitions = {lane_at(0)};
  REQUIRE(store.apply("orders", reset));
  CHECK(loaded_ids(store).empty());
}

TEST_CASE("what a reset had done again is not recovered once more (S6)", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {lane_at(40)};
  changes.slices_upserted = {some_slice(1, 0, 10, SliceState::Parked),
                             some_slice(2, 20, 30, SliceState::Parked),
                             some_slice(3, 40, 50, SliceState::Retrying)};
  REQUIRE(store.apply("orders", changes));
  ChangeSet reset;
  reset.partitions = {lane_at(5)};
  REQUIRE(store.apply("orders", reset));
  ChangeSet again;
  again.partitions = {lane_at(45)};
  again.slices_upserted = {some_slice(4, 5, 25, SliceState::Completed),
                           some_slice(5, 25, 28, SliceState::Parked),
                           some_slice(6, 28, 45, SliceState::Completed)};
  REQUIRE(store.apply("orders", again));
  CHECK(recoverable_ids(store) == Ids{1, 3, 5});  // of 1 the beginning, of 3 the end is missing
  // Done twice, an offset does not stand for another.
  again.slices_upserted = {some_slice(7, 41, 44, SliceState::Completed),
                           some_slice(8, 42, 45, SliceState::Completed)};
  REQUIRE(store.apply("orders", again));
  CHECK(recoverable_ids(store) == Ids{1, 3, 5});
  again.slices_upserted = {some_slice(9, 45, 60, SliceState::Completed)};
  REQUIRE(store.apply("orders", again));
  CHECK(recoverable_ids(store) == Ids{1, 5});
}

TEST_CASE("a stable slice that a reset passed in the middle of its isolation is recovered (S6)",
          "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  SliceRow replaced = some_slice(2, 20, 30, SliceState::Isolating);
  replaced.stable = false;  // its parts have rows of their own
  ChangeSet changes;
  changes.partitions = {lane_at(10)};
  changes.slices_upserted = {some_slice(1, 10, 20, SliceState::Isolating), replaced,
                             some_slice(3, 14, 15, SliceState::DeadLettered),
                             some_slice(4, 20, 25, SliceState::Retrying)};
  REQUIRE(store.apply("orders", changes));
  CHECK(recoverable_ids(store).empty());
  ChangeSet reset;
  reset.partitions = {lane_at(11)};
  reset.partitions[0].reset = true;
  REQUIRE(store.apply("orders", reset));
  CHECK(recoverable_ids(store) == Ids{1, 4});
  // Its record that was set aside does not stand for the one before the reset.
  ChangeSet again;
  again.partitions = {lane_at(25)};
  again.slices_upserted = {some_slice(5, 11, 25, SliceState::Completed)};
  REQUIRE(store.apply("orders", again));
  CHECK(recoverable_ids(store) == Ids{1});
}

TEST_CASE("status counts of what a reset has passed only what recover would run", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  const auto reader = open_store_reader(folder.path()).value();
  const auto failed_and_parked = [&] {
    const auto counts = reader->trouble("orders").value();
    return std::vector<std::uint64_t>{counts.failed, counts.parked};
  };
  SliceRow replaced = some_slice(5, 50, 60, SliceState::Isolating);
  replaced.stable = false;
  ChangeSet changes;
  changes.partitions = {lane_at(30)};
  changes.slices_upserted = {some_slice(1, 0, 10, SliceState::Parked),
                             some_slice(2, 10, 20, SliceState::Parked),
                             some_slice(3, 30, 40, SliceState::Retrying),
                             some_slice(4, 40, 50, SliceState::Isolating),
                             replaced,
                             some_slice(6, 70, 80, SliceState::Ready),
                             some_slice(7, 80, 90, SliceState::DeadLettered),
                             some_slice(8, 90, 99, SliceState::Skipped)};
  REQUIRE(store.apply("orders", changes));
  CHECK(failed_and_parked() == std::vector<std::uint64_t>{3, 2});
  ChangeSet reset;
  reset.partitions = {lane_at(0)};
  REQUIRE(store.apply("orders", reset));
  CHECK(failed_and_parked() == std::vector<std::uint64_t>{2, 2});
  ChangeSet again;
  again.partitions = {lane_at(40)};
  again.slices_upserted = {some_slice(9, 0, 40, SliceState::Completed),
                           some_slice(10, 40, 45, SliceState::Retrying)};
  REQUIRE(store.apply("orders", again));
  CHECK(failed_and_parked() == std::vector<std::uint64_t>{2, 0});
  CHECK(reader->trouble("orders").value().dead_lettered == 1);
  CHECK(reader->trouble("orders").value().skipped == 1);
  CHECK(reader->trouble("unknown").value().failed == 0);
}

TEST_CASE("what was parked where the log was cut off is not recovered: others are there now (F5)",
          "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {lane_at(40)};
  changes.slices_upserted = {some_slice(1, 0, 10, SliceState::Parked),
                             some_slice(2, 20, 30, SliceState::Parked)};
  REQUIRE(store.apply("orders", changes));
  ChangeSet cut;
  cut.partitions = {lane_at(25)};
  cut.gaps = {GapRow{1, "orders", 3, 1, 2, 25, 40, Cause::Truncated, 15, 3, kNowMs, ""}};
  REQUIRE(store.apply("orders", cut));
  const auto left = store->recoverable("orders").value();
  REQUIRE(left.size() == 1);
  CHECK(left[0].id == 1);
  // What is parked at the same place later is of the log that is there.
  ChangeSet later;
  later.slices_upserted = {some_slice(4, 25, 30, SliceState::Parked)};
  REQUIRE(store.apply("orders", later));
  CHECK(store->recoverable("orders").value().size() == 2);
}

TEST_CASE(
    "a recreated topic's gap without records is on record and is no gap of the execution (S1)",
    "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {lane_at(0)};
  changes.gaps = {GapRow{1, "orders", 3, 1, 2, 40, 40, Cause::Recreated, 0, 3, kNowMs, ""}};
  REQUIRE(store.apply("orders", changes));
  CHECK(store->load_job("orders").value().gaps == 0);
  changes.gaps = {GapRow{1, "orders", 3, 1, 2, 40, 50, Cause::Recreated, 10, 4, kNowMs, ""}};
  REQUIRE(store.apply("orders", changes));
  CHECK(store->load_job("orders").value().gaps == 1);
}

}  // namespace sluice::state
