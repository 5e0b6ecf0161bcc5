// Every kind of violation, arranged by hand, and every kind of history that is none (slicer.md R5).
#include "host/state/audit.hpp"

#include <catch2/catch.hpp>

#include "unit/state/store_fixture.hpp"

namespace sluice::state {
namespace {

using Kind = AuditFinding::Kind;

/// One lane, orders-0, execution 2, [100, 200) settled but for what a test changes.
struct Line {
  AuditRows rows;

  Line() {
    rows.execution.number = 2;
    AuditLane lane;
    lane.row.topic = "orders";
    lane.row.start_offset = 100;
    lane.row.frontier = 200;
    rows.lanes.push_back(lane);
  }
  SliceRow& settled(std::uint64_t id, std::int64_t start, std::int64_t end,
                    SliceState how = SliceState::Completed) {
    SliceRow row;
    row.id = id;
    row.execution = 2;
    row.topic = "orders";
    row.start = start;
    row.end = end;
    row.state = how;
    rows.slices.push_back(row);
    return rows.slices.back();
  }
  void recorded(std::uint64_t slice_id) {
    GapRow gap;
    gap.execution = 2;
    gap.topic = "orders";
    gap.slice_id = slice_id;
    rows.gaps.push_back(gap);
  }
  /// `KIND start..end newer/older`, joined with commas.
  std::string findings() const {
    std::string text;
    for (const auto& found : audit(rows).findings) {
      if (!text.empty()) text += ", ";
      text += std::string{finding_name(found.kind)} + " " + std::to_string(found.start) + ".." +
              std::to_string(found.end);
      if (found.slice_id != 0) text += " " + std::to_string(found.slice_id);
      if (found.other_id != 0) text += "/" + std::to_string(found.other_id);
    }
    return text;
  }
};

}  // namespace

TEST_CASE("a line that is settled exactly once holds, and says how much it is", "[audit]") {
  Line line;
  line.settled(7, 100, 150).slice_count = 5;
  line.settled(3, 150, 180);
  line.settled(9, 180, 200, SliceState::Parked);
  line.recorded(9);
  line.settled(10, 210, 220);  // out of order, above the frontier
  const auto report = audit(line.rows);
  CHECK(report.holds());
  CHECK(report.offsets == 100);
  CHECK(report.records == 4);
  CHECK(report.lanes == 1);
}

TEST_CASE("each hole below the frontier is found: at the start, in the middle, at the end",
          "[audit]") {
  Line line;
  line.settled(1, 110, 120);
  line.settled(2, 130, 190);
  CHECK(line.findings() == "hole 100..110, hole 120..130, hole 190..200");
  line.rows.slices.clear();
  CHECK(line.findings() == "hole 100..200");
}

TEST_CASE("a record that is left out of a slice is settled by its own row (F3.4)", "[audit]") {
  Line line;
  line.settled(1, 100, 200).excluded = "100,150";
  line.settled(2, 150, 151, SliceState::DeadLettered);
  line.settled(3, 100, 101, SliceState::Skipped);
  line.recorded(2);
  line.recorded(3);
  CHECK(audit(line.rows).holds());
  line.settled(4, 151, 152, SliceState::DeadLettered);
  line.recorded(4);
  CHECK(line.findings() == "overlap 151..152 4/1");
}

TEST_CASE("an offset that is completed twice is an overlap, below the frontier and above",
          "[audit]") {
  Line line;
  line.settled(1, 100, 200);
  line.settled(2, 120, 140);
  CHECK(line.findings() == "overlap 120..140 2/1");
  Line above;
  above.settled(1, 100, 200);
  above.settled(2, 210, 230);
  above.settled(3, 220, 240);
  CHECK(above.findings() == "overlap 220..230 3/2");
}

TEST_CASE("an overlap over several rows is one finding for each pair", "[audit]") {
  Line line;
  line.settled(1, 100, 150);
  line.settled(2, 150, 200);
  line.settled(3, 140, 160);
  CHECK(line.findings() == "overlap 140..150 3/1, overlap 150..160 3/2");
}

TEST_CASE("a recovered record supersedes its parked one, and nothing older supersedes it",
          "[audit]") {
  Line line;
  line.settled(1, 100, 120);
  line.settled(2, 120, 150, SliceState::Parked);
  line.recorded(2);
  line.settled(3, 150, 200);
  line.settled(9, 120, 150);
  CHECK(line.findings().empty());
  // Parked after it was completed: somebody set aside what was done.
  line.settled(10, 150, 160, SliceState::Parked);
  line.recorded(10);
  CHECK(line.findings() == "overlap 150..160 10/3");
}

TEST_CASE("isolating rows settle nothing, their parts do", "[audit]") {
  Line line;
  line.settled(1, 100, 200, SliceState::Isolating);
  line.settled(2, 100, 150);
  line.settled(3, 150, 151, SliceState::DeadLettered);
  line.recorded(3);
  CHECK(line.findings() == "hole 151..200");
  line.settled(4, 151, 200);
  CHECK(line.findings().empty());
}

TEST_CASE("rows that are open, of another execution or from before a reset are no proof",
          "[audit]") {
  Line line;
  line.settled(1, 100, 200, SliceState::Dispatched);
  CHECK(line.findings() == "hole 100..200");
  Line other;
  other.settled(1, 100, 200).execution = 1;
  CHECK(other.findings() == "hole 100..200");
  Line reset;
  reset.settled(4, 100, 200);
  reset.rows.lanes[0].reset_id = 5;
  CHECK(reset.findings() == "hole 100..200");
  reset.settled(5, 100, 200);
  CHECK(reset.findings().empty());
  Line recreated;
  recreated.settled(1, 100, 200).topic_incarnation = 2;
  CHECK(recreated.findings() == "hole 100..200");
}

TEST_CASE("what lies before the execution's start is history", "[audit]") {
  Line line;
  line.settled(1, 20, 60);
  line.settled(2, 40, 110);
  line.settled(3, 110, 200);
  CHECK(line.findings().empty());
}

TEST_CASE("what was not processed and stands in no ledger is found", "[audit]") {
  Line line;
  line.settled(1, 100, 150);
  line.settled(2, 150, 200, SliceState::Skipped);
  CHECK(line.findings() == "unrecorded 150..200 2");
  line.recorded(2);
  CHECK(line.findings().empty());
}

TEST_CASE(
    "what an earlier execution parked is in that one's ledger, also when recover failed again",
    "[audit]") {
  Line line;
  line.settled(1, 40, 60, SliceState::Parked);
  line.settled(2, 100, 200);
  CHECK(line.findings().empty());
}

TEST_CASE("a completed execution whose lane is not at its end is found", "[audit]") {
  Line line;
  line.settled(1, 100, 200);
  line.rows.lanes[0].row.once_end = 250;
  CHECK(line.findings().empty());
  line.rows.execution.state = ExecutionState::Completed;
  CHECK(line.findings() == "unfinished 200..250");
  line.rows.lanes[0].row.once_end = 200;
  CHECK(line.findings().empty());
}

TEST_CASE("a frontier below its start is found", "[audit]") {
  Line line;
  line.rows.lanes[0].row.frontier = 90;
  CHECK(line.findings() == "frontier_back 90..100");
}

TEST_CASE("lanes are judged apart", "[audit]") {
  Line line;
  line.settled(1, 100, 200);
  line.settled(2, 100, 200).partition = 1;
  line.settled(3, 100, 200).lane = 1;
  CHECK(line.findings().empty());
  auto lane = line.rows.lanes[0];
  lane.row.partition = 2;
  line.rows.lanes.push_back(lane);
  CHECK(line.findings() == "hole 100..200");
}

TEST_CASE("the audit reads a store while it is written, from one moment of it", "[audit]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  REQUIRE(store->begin_execution("archive", ExecutionMode::Persistent, kNowMs).has_value());
  const auto reader = open_store_reader(folder.path()).value();
  REQUIRE(reader->audit_rows("archive").value().lanes.empty());
  for (std::int64_t end = 10; end <= 100; end += 10) {
    ChangeSet changes;
    auto partition = some_partition("orders", 3);
    partition.start_offset = 0;
    partition.frontier = end;
    partition.once_end.reset();
    changes.partitions.push_back(partition);
    changes.slices_upserted.push_back(
        some_slice(static_cast<std::uint64_t>(end), end - 10, end, SliceState::Completed));
    REQUIRE(store.apply("archive", std::move(changes)).has_value());
    const auto report = audit(reader->audit_rows("archive").value());
    CHECK(report.holds());
    CHECK(report.offsets == static_cast<std::uint64_t>(end));
  }
  // Back to 0: what was done counts no more.
  ChangeSet reset;
  auto partition = some_partition("orders", 3);
  partition.start_offset = partition.frontier = 0;
  reset.partitions.push_back(partition);
  REQUIRE(store.apply("archive", std::move(reset)).has_value());
  const auto report = audit(reader->audit_rows("archive").value());
  CHECK(report.holds());
  CHECK(report.records == 0);
}

TEST_CASE("the audit of a job that was never run is an error", "[audit]") {
  const TemporaryFolder folder;
  const OpenStore store{folder};
  const auto reader = open_store_reader(folder.path()).value();
  const auto rows = reader->audit_rows("nobody");
  REQUIRE_FALSE(rows.has_value());
  CHECK(rows.error().code() == ErrorCode::NotFound);
}

}  // namespace sluice::state
