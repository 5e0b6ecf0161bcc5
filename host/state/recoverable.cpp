#include "host/state/recoverable.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "host/state/row_columns.hpp"

namespace sluice::state {
namespace {

/// `cut` is looked for once and mostly empty: in the clause it cost a walk over the ledger for each
/// parked slice.
constexpr const char* kCandidates =
    ", slice.id < (SELECT f.reset_id FROM frontier f WHERE f.job = ?1 AND f.topic = slice.topic "
    "AND f.partition = slice.partition AND f.lane = slice.lane) FROM slice WHERE job = ?1 AND "
    "state <> 2 AND (state IN (0, 1, 3, 5) OR (state = 4 AND stable)) AND EXISTS (SELECT 1 FROM "
    "frontier f WHERE f.job = ?1 AND f.topic = slice.topic AND f.partition = slice.partition AND "
    "f.lane = slice.lane AND f.topic_incarnation = slice.topic_incarnation AND (slice.state = 5 OR "
    "slice.id < f.reset_id)) AND NOT EXISTS (SELECT 1 FROM cut l WHERE l.topic = slice.topic AND "
    "l.partition = slice.partition AND l.lane = slice.lane AND "
    "l.topic_incarnation = slice.topic_incarnation AND l.slice_id > slice.id AND "
    "l.start_offset < slice.end_offset) ORDER BY topic, partition, lane, start_offset, id";
constexpr const char* kWithCut =
    "WITH cut AS MATERIALIZED (SELECT topic, partition, lane, topic_incarnation, start_offset, "
    "slice_id FROM ledger WHERE job = ?1 AND cause = 2) ";
constexpr const char* kSettledAfter =
    "SELECT topic, partition, lane, topic_incarnation, id, start_offset, end_offset FROM slice "
    "WHERE job = ?1 AND id > ?2 AND state IN (2, 5, 6, 7)";

struct Candidate {
  SliceRow row;
  bool before_reset = false;
};

struct Settled {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint64_t id = 0;
};

using Lane = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;
using Lanes = std::map<Lane, std::vector<Settled>>;

Lane lane_of(const SliceRow& row) {
  return {row.topic, row.partition, row.lane, row.topic_incarnation};
}

Result<std::vector<Candidate>> candidates_of(Database& database, std::int64_t job_no) {
  auto statement =
      database.prepare(kWithCut + ("SELECT " + columns_of<SliceRow>().names) + kCandidates);
  if (!statement) return statement.error();
  statement->bind(1, job_no);
  std::vector<Candidate> candidates;
  for (;;) {
    const auto more = statement->step();
    if (!more) return more.error();
    if (!*more) return candidates;
    Candidate candidate;
    ColumnReader reader{*statement, 0};
    visit_columns(candidate.row, reader);
    reader("before_reset", candidate.before_reset);
    if (!reader.good()) return damaged(database.handle(), "a number is out of its range");
    candidates.push_back(std::move(candidate));
  }
}

/// By start, of every lane.
Result<Lanes> settled_after(Database& database, std::int64_t job_no, std::uint64_t id) {
  auto statement = database.prepare(kSettledAfter);
  if (!statement) return statement.error();
  statement->bind(1, job_no);
  statement->bind(2, static_cast<std::int64_t>(id));
  Lanes lanes;
  for (;;) {
    const auto more = statement->step();
    if (!more) return more.error();
    if (!*more) break;
    Lane lane{statement->text(0), statement->integer(1), statement->integer(2),
              statement->integer(3)};
    lanes[std::move(lane)].push_back({statement->integer(5), statement->integer(6),
                                      static_cast<std::uint64_t>(statement->integer(4))});
  }
  for (auto& [lane, settled] : lanes) {
    std::sort(settled.begin(), settled.end(),
              [](const Settled& a, const Settled& b) { return a.start < b.start; });
  }
  return lanes;
}

bool is_done_again(const SliceRow& row, const std::vector<Settled>& settled) {
  std::int64_t done = row.start;
  for (const Settled& newer : settled) {
    if (newer.start > done || done >= row.end) break;
    if (newer.id > row.id) done = std::max(done, newer.end);
  }
  return done >= row.end;
}

}  // namespace

Result<std::vector<SliceRow>> recoverable_slices(Database& database, std::int64_t job_no) {
  auto candidates = candidates_of(database, job_no);
  if (!candidates) return candidates.error();
  auto oldest = std::numeric_limits<std::uint64_t>::max();
  for (const Candidate& candidate : *candidates) {
    if (candidate.before_reset) oldest = std::min(oldest, candidate.row.id);
  }
  Lanes lanes;
  if (oldest != std::numeric_limits<std::uint64_t>::max()) {
    auto found = settled_after(database, job_no, oldest);
    if (!found) return found.error();
    lanes = *std::move(found);
  }
  std::vector<SliceRow> rows;
  for (Candidate& candidate : *candidates) {
    if (candidate.before_reset && is_done_again(candidate.row, lanes[lane_of(candidate.row)])) {
      continue;
    }
    rows.push_back(std::move(candidate.row));
  }
  return rows;
}

}  // namespace sluice::state
