// Retention folds old completed rows and keeps every offset covered exactly as before (R3, R5).
#include "host/state/fold.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "host/base/random.hpp"
#include "store_fixture.hpp"

namespace sluice::state {
namespace {

SliceRow completed(std::uint64_t id, std::int64_t start, std::int64_t end, std::int64_t age_ms) {
  SliceRow row;
  row.id = id;
  row.execution = 1;
  row.topic = "orders";
  row.start = start;
  row.end = end;
  row.state = SliceState::Completed;
  row.counts = Counts{static_cast<std::uint64_t>(end - start), 2, 3, 4, 5};
  row.times = PhaseTimes{1, 2, 3, 4, 5, 6};
  row.created_ms = kNowMs - age_ms;
  row.dispatched_ms = kNowMs - age_ms;
  row.settled_ms = kNowMs - age_ms;
  return row;
}

std::vector<SliceRow> all_rows(const TemporaryFolder& folder) {
  auto rows =
      open_store_reader(folder.path()).value()->slices("orders", {.rows_max = 10'000}).value();
  std::reverse(rows.begin(), rows.end());
  return rows;
}

constexpr RetentionLimits kKeepNone{.records_max = 0, .age_max_ms = 0};

struct FoldStore {
  FoldStore() { store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value(); }

  void put(std::vector<SliceRow> rows) {
    ChangeSet changes;
    changes.slices_upserted = std::move(rows);
    REQUIRE(store.apply("orders", changes));
  }
  std::uint64_t fold(const RetentionLimits& limits) {
    return store->fold("orders", limits, kNowMs).value();
  }

  TemporaryFolder folder;
  OpenStore store{folder};
};

}  // namespace

TEST_CASE("old completed rows become one with their sums, and the newest stays", "[state]") {
  FoldStore store;
  store.put({completed(1, 0, 10, 400), completed(2, 10, 30, 300), completed(3, 30, 35, 200),
             completed(4, 35, 40, 100)});
  CHECK(store.fold(kKeepNone) == 2);
  const auto rows = all_rows(store.folder);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].id == 3);
  CHECK(rows[0].start == 0);
  CHECK(rows[0].end == 35);
  CHECK(rows[0].slice_count == 3);
  CHECK(rows[0].counts == Counts{35, 6, 9, 12, 15});
  CHECK(rows[0].times == PhaseTimes{3, 6, 9, 12, 15, 18});
  CHECK(rows[0].created_ms == kNowMs - 400);
  CHECK(rows[0].settled_ms == kNowMs - 200);
  CHECK(rows[1] == completed(4, 35, 40, 100));
}

TEST_CASE("a slice that was completed without a record keeps its row (F3.4)", "[state]") {
  FoldStore store;
  std::vector<SliceRow> rows{completed(1, 0, 10, 400), completed(2, 10, 20, 300),
                             completed(3, 20, 30, 200), completed(4, 30, 40, 100)};
  rows[1].excluded = "15";
  store.put(rows);
  CHECK(store.fold(kKeepNone) == 0);
  CHECK(all_rows(store.folder) == rows);
}

TEST_CASE("rows on both sides of a reset are folded apart", "[state]") {
  FoldStore store;
  const auto at = [&](std::int64_t frontier) {
    PartitionRow lane;
    lane.topic = "orders";
    lane.frontier = frontier;
    ChangeSet changes;
    changes.partitions = {lane};
    REQUIRE(store.store.apply("orders", changes));
  };
  at(20);
  store.put({completed(1, 0, 12, 9'000), completed(2, 12, 20, 9'000)});
  at(5);
  store.put({completed(3, 20, 25, 9'000), completed(4, 25, 40, 9'000)});
  store.fold(kKeepNone);
  // Row 2 in row 3 would make [12,20) count as settled, which the reset wants done again.
  const auto loaded = store.store->load_job("orders").value().slices;
  REQUIRE(loaded.size() == 2);
  CHECK(loaded[0].start == 20);
  CHECK(loaded[1].start == 25);
}

TEST_CASE("a count of slices that is full stays full", "[state]") {
  FoldStore store;
  SliceRow many = completed(1, 0, 10, 9'000);
  many.slice_count = std::numeric_limits<std::uint32_t>::max();
  store.put({many, completed(2, 10, 20, 9'000), completed(3, 20, 30, 9'000)});
  REQUIRE(store.fold(kKeepNone) == 1);
  CHECK(all_rows(store.folder).front().slice_count == std::numeric_limits<std::uint32_t>::max());
}

TEST_CASE("folding again has nothing to do, and goes on when the newest row is no longer it",
          "[state]") {
  FoldStore store;
  store.put({completed(1, 0, 10, 400), completed(2, 10, 20, 300), completed(3, 20, 30, 200)});
  CHECK(store.fold(kKeepNone) == 1);
  CHECK(store.fold(kKeepNone) == 0);
  store.put({completed(4, 30, 40, 100)});
  CHECK(store.fold(kKeepNone) == 1);
  const auto rows = all_rows(store.folder);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].start == 0);
  CHECK(rows[0].end == 30);
  CHECK(rows[0].slice_count == 3);
}

TEST_CASE("the number of rows and their age: whichever keeps fewer", "[state]") {
  FoldStore store;
  std::vector<SliceRow> rows;
  for (std::uint64_t id = 1; id <= 10; ++id) {
    const auto start = static_cast<std::int64_t>(id - 1);
    rows.push_back(completed(id, start, start + 1, static_cast<std::int64_t>(11 - id) * 100));
  }
  store.put(rows);
  CHECK(store.fold({.records_max = 100, .age_max_ms = 2'000}) == 0);
  // Older than 750 ms: ids 1 to 3.
  CHECK(store.fold({.records_max = 100, .age_max_ms = 750}) == 2);
  // Beyond the 4 newest: ids 3 (folded) to 6.
  CHECK(store.fold({.records_max = 4, .age_max_ms = 2'000}) == 3);
  const auto left = all_rows(store.folder);
  REQUIRE(left.size() == 5);
  CHECK(left[0].start == 0);
  CHECK(left[0].end == 6);
}

TEST_CASE("nothing is folded across a hole, a parked or a skipped range", "[state]") {
  FoldStore store;
  SliceRow parked = completed(2, 10, 20, 300);
  parked.state = SliceState::Parked;
  SliceRow skipped = completed(5, 40, 50, 300);
  skipped.state = SliceState::Skipped;
  store.put({completed(1, 0, 10, 400), parked, completed(3, 20, 30, 300), completed(4, 30, 40, 300),
             skipped, completed(6, 50, 60, 300), completed(7, 70, 80, 300),
             completed(8, 80, 90, 300)});
  CHECK(store.fold(kKeepNone) == 1);  // 3 and 4 alone: 6 and 7 have a hole between them
  const auto rows = all_rows(store.folder);
  REQUIRE(rows.size() == 7);
  CHECK(rows[1] == parked);
  CHECK(rows[2].start == 20);
  CHECK(rows[2].end == 40);
  CHECK(rows[3] == skipped);
}

TEST_CASE("lanes, partitions, topics, incarnations and causes are folded apart", "[state]") {
  FoldStore store;
  std::vector<SliceRow> rows;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    const auto start = static_cast<std::int64_t>(id) * 10;
    rows.push_back(completed(id, start, start + 10, 500));
  }
  rows[1].lane = 1;
  rows[3].partition = 1;
  rows[5].topic = "other";
  rows[7].topic_incarnation = 2;
  rows[9].cause = Cause::ProvedBySink;
  store.put(rows);
  CHECK(store.fold(kKeepNone) == 0);
}

TEST_CASE("the newest execution is not joined with older ones, which are joined", "[state]") {
  FoldStore store;
  store.store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  store.store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  std::vector<SliceRow> rows;
  for (std::uint64_t id = 1; id <= 7; ++id) {
    const auto start = static_cast<std::int64_t>(id) * 10;
    rows.push_back(completed(id, start, start + 10, 500));
    rows.back().execution = id <= 2 ? 1 : id <= 4 ? 2 : 3;
  }
  store.put(rows);
  CHECK(store.fold(kKeepNone) == 4);
  const auto left = all_rows(store.folder);
  REQUIRE(left.size() == 3);
  CHECK(left[0].execution == 2);
  CHECK(left[0].start == 10);
  CHECK(left[0].end == 50);
  CHECK(left[1].execution == 3);
  CHECK(left[1].end == 70);
}

TEST_CASE("a recovered row with a larger id and the row at the end both stay as they are",
          "[state]") {
  FoldStore store;
  // 4 is the end of the lane; 5 was recovered into the middle.
  store.put({completed(1, 0, 10, 500), completed(5, 10, 20, 500), completed(2, 20, 30, 500),
             completed(3, 30, 40, 500), completed(4, 40, 50, 500)});
  CHECK(store.fold(kKeepNone) == 1);
  const auto rows = all_rows(store.folder);
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].start == 20);
  CHECK(rows[1].end == 40);
}

TEST_CASE("any sequence of commits and folds leaves every offset covered as before", "[state]") {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    CAPTURE(seed);
    Random random{seed};
    FoldStore store;
    std::map<std::int32_t, std::int64_t> ends;
    std::uint64_t records = 0;
    for (std::uint64_t id = 1; id <= 200; ++id) {
      const auto partition = static_cast<std::int32_t>(random.below(3));
      const std::int64_t start = ends[partition];
      SliceRow row = completed(id, start, start + 1 + static_cast<std::int64_t>(random.below(9)),
                               static_cast<std::int64_t>(200 - id));
      row.partition = partition;
      if (random.once_in(10)) row.state = SliceState::Parked;
      ends[partition] = row.end;
      records += row.counts.in;
      store.put({row});
      if (random.once_in(7)) {
        store.fold({.records_max = static_cast<std::int64_t>(random.below(20)),
                    .age_max_ms = static_cast<std::int64_t>(random.below(200))});
      }
    }
    std::map<std::int32_t, std::map<std::int64_t, std::int64_t>> ranges;
    std::uint64_t records_left = 0;
    for (const SliceRow& row : all_rows(store.folder)) {
      CHECK(ranges[row.partition].emplace(row.start, row.end).second);
      records_left += row.counts.in;
    }
    CHECK(records_left == records);
    for (const auto& [partition, by_start] : ranges) {
      std::int64_t next = 0;
      for (const auto& [start, end] : by_start) {
        CHECK(start == next);
        next = end;
      }
      CHECK(next == ends[partition]);
    }
  }
}

}  // namespace sluice::state
