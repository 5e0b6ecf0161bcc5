// Workers are not believed: ipc facts 3.4 rules 4 and 5, slicer.md C2-C4.
#include <catch2/catch.hpp>

#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {
namespace {

SlicerOptions small() {
  SlicerOptions options;
  options.slice_records_max = 100;
  options.credit_records = 400;
  return options;
}

/// One partition, 400 records, four slices in flight in slot 0.
struct Reports : SlicerFixture {
  Reports() : SlicerFixture{small()} {
    found(1, 400);
    ready(0);
  }
  Rule broken() const {
    REQUIRE(violations.size() == 1);
    return violations.front().rule;
  }
};

}  // namespace

TEST_CASE_METHOD(Reports, "a done slice moves the frontier to its end", "[slicer]") {
  complete(0);
  CHECK(status(0).frontier == 100);
  CHECK(status(0).totals.in == 100);
  CHECK(violations.empty());
}

TEST_CASE_METHOD(Reports, "a slice that holds only holes is done with no records (C4)",
                 "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  report.records = report.out = 0;
  send(0, report);
  CHECK(status(0).frontier == 100);
}

TEST_CASE_METHOD(Reports, "a slice that was never published is a violation", "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  report.slice_id = 999;
  send(0, report);
  CHECK(broken() == Rule::UnknownSlice);
  CHECK(status(0).frontier == 0);
}

TEST_CASE_METHOD(Reports, "the same slice reported twice is a violation, and moves nothing",
                 "[slicer]") {
  const ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  send(0, report);
  send(0, report);
  CHECK(broken() == Rule::UnknownSlice);
  CHECK(status(0).frontier == 100);
}

TEST_CASE_METHOD(Reports, "a fence that the slice never had is a violation", "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  report.fence += 7;
  send(0, report);
  CHECK(broken() == Rule::WrongFence);
}

TEST_CASE_METHOD(Reports, "a slice reported for another partition is a violation", "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  report.partition = 5;
  send(0, report);
  CHECK(broken() == Rule::WrongPartition);
}

TEST_CASE_METHOD(Reports, "a done slice must be at its end", "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  report.next_offset = 99;
  send(0, report);
  CHECK(broken() == Rule::NextOutside);
}

TEST_CASE_METHOD(Reports, "a released slice must be released inside itself", "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Released);
  report.next_offset = 100;
  send(0, report);
  CHECK(broken() == Rule::NextOutside);
}

TEST_CASE_METHOD(Reports, "a slice cannot hold more records than offsets", "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  report.records = 101;
  send(0, report);
  CHECK(broken() == Rule::CountsTooHigh);
}

TEST_CASE_METHOD(Reports, "a slice cannot filter more records than it read", "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  report.filtered = report.records + 1;
  send(0, report);
  CHECK(broken() == Rule::CountsTooHigh);
}

TEST_CASE_METHOD(Reports, "a failure class that does not exist is a violation", "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Failed);
  report.failure = ipc::kFailureClassLast + 1;
  send(0, report);
  CHECK(broken() == Rule::UnknownFailure);
}

TEST_CASE_METHOD(Reports, "a later slice of a lane cannot be done before an earlier one",
                 "[slicer]") {
  send(0, answer(0, 1, ipc::ReportKind::Done));
  CHECK(broken() == Rule::SettledOutOfOrder);
  CHECK(status(0).frontier == 0);
}

TEST_CASE_METHOD(Reports, "after a violation nothing more of that worker counts", "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  report.records = 101;
  const ipc::Report honest = answer(0, 1, ipc::ReportKind::Done);
  send(0, report);
  send(0, honest);
  CHECK(violations.size() == 1);
  CHECK(status(0).frontier == 0);
  CHECK(slicer().counts().stale_reports == 1);
}

TEST_CASE_METHOD(Reports, "a violating worker's slices run again after its reap, uncharged",
                 "[slicer]") {
  ipc::Report report = answer(0, 0, ipc::ReportKind::Done);
  report.records = 101;
  send(0, report);
  Accusation accusation;
  accusation.cause = LossCause::Violation;
  lose(0, accusation);
  ready(0);
  REQUIRE(in_flight(0) == 4);
  CHECK(in_ring(0).start == 0);
  CHECK(in_ring(0).attempt == 1);
}

TEST_CASE_METHOD(Reports, "a report of a former incarnation is counted and changes nothing",
                 "[slicer]") {
  const ipc::Report late = answer(0, 0, ipc::ReportKind::Done);
  const std::uint64_t before = incarnation(0);
  lose(0, {});
  ready(0);
  slicer().report(0, before, late, {}, now);
  step();
  CHECK(status(0).frontier == 0);
  CHECK(slicer().counts().stale_reports == 1);
  CHECK(violations.empty());
}

TEST_CASE_METHOD(Reports, "a slice under an old fence frees its credit and moves no offset (3.2)",
                 "[slicer]") {
  fail(0);
  REQUIRE(in_flight(0) == 3);  // the worker still has them, under the old fence
  send(0, answer(0, 0, ipc::ReportKind::Done));
  CHECK(status(0).frontier == 0);
  CHECK(slicer().counts().stale_reports == 1);
  CHECK(violations.empty());
  CHECK(noticed(Notice::Kind::StaleReport));
  return_all(0);
  advance(1'000);
  CHECK(in_flight(0) == 4);  // all credit is back
  CHECK(in_ring(0).start == 0);
}

TEST_CASE_METHOD(Reports, "a short end closes what was done and uncuts the rest (C3)", "[slicer]") {
  release(0, 40);
  CHECK(status(0).frontier == 40);
  CHECK(status(0).visible_end == 40);
  CHECK(in_flight(0) == 3);
  return_all(0);
  CHECK(in_flight(0) == 0);  // nobody has said yet that there is more
  produce(0, 400);
  REQUIRE(in_flight(0) == 4);
  CHECK(in_ring(0).start == 40);
  CHECK(in_ring(0).end == 140);
  CHECK(in_ring(0).attempt == 1);
}

TEST_CASE_METHOD(Reports, "a slice released at its start leaves no row behind (C3)", "[slicer]") {
  advance(0);
  persist();
  persist();  // the open slices are old enough to have rows
  REQUIRE(rows_of(0).size() == 4);
  return_all(0);
  CHECK(rows_of(0).empty());
  CHECK(status(0).frontier == 0);
}

TEST_CASE_METHOD(Reports, "after a short end nothing is published beside the old fence",
                 "[slicer]") {
  release(0, 40);
  produce(0, 400);
  REQUIRE(in_flight(0) == 4);  // three stale ones and one of credit
  CHECK(in_ring(0, 3).start == 40);
  CHECK(in_ring(0, 3).fence > in_ring(0, 0).fence);
}

TEST_CASE_METHOD(Reports, "a hint of a worker that does not own the partition is ignored",
                 "[slicer]") {
  complete_all();
  slicer().set_slots(2, now);
  ready(1);
  const Slot other = owner(0) == 0 ? 1 : 0;
  ipc::Report report;
  report.kind = static_cast<std::uint16_t>(ipc::ReportKind::Seen);
  report.next_offset = 4'000;
  slicer().report(other, incarnation(other), report, {}, now);
  step();
  CHECK(status(0).visible_end == 400);
  CHECK(slicer().counts().ignored_hints == 1);
}

TEST_CASE_METHOD(Reports, "a hint for a partition that does not exist is a violation", "[slicer]") {
  ipc::Report report;
  report.kind = static_cast<std::uint16_t>(ipc::ReportKind::Seen);
  report.partition = -3;
  report.next_offset = 4;
  send(0, report);
  CHECK(broken() == Rule::WrongPartition);
}

}  // namespace sluice::slicer
