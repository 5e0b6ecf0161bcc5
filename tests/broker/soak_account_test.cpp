// The soak's judge can say no: books cooked by hand.
#include <catch2/catch.hpp>

#include "broker/soak_account.hpp"

namespace sluice::tests {
namespace {

std::vector<test::LedgerLine> lines_of(std::vector<std::int64_t> offsets) {
  std::vector<test::LedgerLine> lines;
  for (const auto offset : offsets) {
    auto& line = lines.emplace_back();
    line.topic = "orders";
    line.offset = offset;
  }
  return lines;
}

state::GapRow gap(std::int64_t start, std::int64_t end, state::Cause cause) {
  state::GapRow row;
  row.start = start;
  row.end = end;
  row.cause = cause;
  return row;
}

/// Offsets 0..5, of which 0 and 1 were deleted and 4 is a dead letter.
const SoakInput kInput{{6}, {2}, {{0, 4}}};
const std::vector<state::GapRow> kGaps{gap(0, 2, state::Cause::Expired),
                                       gap(4, 5, state::Cause::DeadLettered)};

using Faults = std::vector<std::string>;

}  // namespace

TEST_CASE("output and gap ledger that are the input together have no fault", "[soak_account]") {
  CHECK(faults_of_account(kInput, lines_of({2, 3, 5}), kGaps).empty());
  CHECK(faults_of_account(kInput, lines_of({1, 2, 3, 3, 5}), kGaps).empty());
}

TEST_CASE("an offset that is neither put out nor in the gap ledger is a fault", "[soak_account]") {
  CHECK(faults_of_account(kInput, lines_of({2, 5}), kGaps) == Faults{"lost: 0@3..4"});
  CHECK(faults_of_account(kInput, lines_of({2, 3}), {}) == Faults{"lost: 0@0..2", "lost: 0@4..6"});
}

TEST_CASE("an offset that never came in is a fault", "[soak_account]") {
  CHECK(faults_of_account(kInput, lines_of({2, 3, 5, 6}), kGaps) ==
        Faults{"put out, but never came in: 0@6"});
}

TEST_CASE("a gap that nobody made is a fault", "[soak_account]") {
  const auto lines = lines_of({2, 3, 4, 5});
  CHECK(faults_of_account(kInput, lines, {gap(0, 3, state::Cause::Expired)}) ==
        Faults{"expired, but not deleted: 0@0..3"});
  CHECK(faults_of_account(kInput, lines, {gap(0, 2, state::Cause::Parked)}).size() == 1);
  CHECK(faults_of_account(kInput, lines, {gap(0, 9, state::Cause::Expired)}).front() ==
        "a gap that is nowhere: 0@0..9");
}

TEST_CASE("a dead letter that is missing, too wide or was put out is a fault", "[soak_account]") {
  auto nothing = kInput;
  nothing.letters.clear();
  CHECK(faults_of_account(nothing, lines_of({2, 3, 5}), kGaps) == Faults{"no dead letter: 0@4"});
  CHECK(faults_of_account(kInput, lines_of({2, 3, 4, 5}), kGaps) ==
        Faults{"put out, and a dead letter: 0@4"});
  CHECK(faults_of_account(kInput, lines_of({2, 3}), {kGaps[0], gap(4, 6, kGaps[1].cause)}) ==
        Faults{"more than one dead letter: 0@4..6"});
}

TEST_CASE("an offset that comes twice, or before an older one, is out of order", "[soak_account]") {
  CHECK(faults_of_order(lines_of({0, 1, 5})).empty());
  CHECK(faults_of_order(lines_of({0, 1, 1})) == Faults{"0@1 after 1"});
  CHECK(faults_of_order(lines_of({0, 2, 1})) == Faults{"0@1 after 2"});
}

TEST_CASE("what a gap names is not looked for again", "[soak_account]") {
  const auto rest = outside_gaps(lines_of({1, 2, 4, 5}), kGaps);
  REQUIRE(rest.size() == 2);
  CHECK(rest[0].offset == 2);
  CHECK(rest[1].offset == 5);
}

}  // namespace sluice::tests
