#include "host/state/fold.hpp"

#include <algorithm>
#include <limits>

#include "host/state/row_columns.hpp"

namespace sluice::state {
namespace {

/// Completed rows settled at or before this time are beyond the limits.
Result<std::int64_t> cutoff(Database& database, std::int64_t job_no, const RetentionLimits& limits,
                            std::int64_t now_ms) {
  const std::int64_t by_age = now_ms - limits.age_max_ms;
  auto newest = database.prepare(
      "SELECT settled_ms FROM slice WHERE job = ?1 AND state = 2 "
      "ORDER BY settled_ms DESC LIMIT 1 OFFSET ?2");
  if (!newest) return newest.error();
  newest->bind(1, job_no);
  newest->bind(2, limits.records_max);
  const auto row = newest->step();
  if (!row) return row.error();
  return *row ? std::max(by_age, newest->integer(0)) : by_age;
}

Result<std::uint64_t> newest_execution(Database& database, std::int64_t job_no) {
  const auto number = database.integer(
      "SELECT coalesce(max(number), 0) FROM execution WHERE job = " + std::to_string(job_no));
  if (!number) return number.error();
  return static_cast<std::uint64_t>(*number);
}

/// In the order in which rows may follow each other; without each lane's row of the largest end and
/// that of the largest id (the same one, but for recovered slices). A slice without its culprits
/// (F3.4) says so for good.
std::string foldable_sql() {
  return "WITH top AS (SELECT topic AS t, partition AS p, lane AS l, max(end_offset) AS e, "
         "max(id) AS i FROM slice WHERE job = ?1 AND state = 2 GROUP BY topic, partition, lane) "
         "SELECT " +
         columns_of<SliceRow>().names +
         ", id < coalesce((SELECT reset_id FROM frontier f WHERE f.job = ?1 AND f.topic = t AND "
         "f.partition = p AND f.lane = l), 0) FROM slice JOIN top ON topic = t AND partition = p "
         "AND lane = l "
         "WHERE job = ?1 AND state = 2 AND settled_ms <= ?2 AND end_offset <> e AND id <> i "
         "AND excluded = '' "
         "ORDER BY topic, partition, lane, topic_incarnation, start_offset, id";
}

/// A row, and whether it is from before its lane's last reset.
struct Foldable {
  SliceRow row;
  bool history = false;
};

bool may_join(const SliceRow& older, const SliceRow& newer, std::uint64_t newest_execution_number) {
  const bool both_past =
      older.execution < newest_execution_number && newer.execution < newest_execution_number;
  return older.end == newer.start && older.topic == newer.topic &&
         older.partition == newer.partition && older.lane == newer.lane &&
         older.topic_incarnation == newer.topic_incarnation && older.cause == newer.cause &&
         (older.execution == newer.execution || both_past);
}

void add(Counts& sum, const Counts& counts) {
  sum.in += counts.in;
  sum.out += counts.out;
  sum.filtered += counts.filtered;
  sum.errant += counts.errant;
  sum.bytes += counts.bytes;
}

void add(PhaseTimes& sum, const PhaseTimes& times) {
  sum.fetch_us += times.fetch_us;
  sum.process_us += times.process_us;
  sum.put_us += times.put_us;
  sum.flush_us += times.flush_us;
  sum.state_us += times.state_us;
  sum.wait_us += times.wait_us;
}

/// Both as one row, under newer's id.
SliceRow joined(const SliceRow& older, const SliceRow& newer) {
  SliceRow row = newer;
  row.start = older.start;
  // A lane at 1,000 slices/s counts 2^32 in 50 days: full is full, it must not begin at 0 again.
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  row.slice_count = static_cast<std::uint32_t>(
      std::min(kMost, std::uint64_t{older.slice_count} + newer.slice_count));
  row.attempt = std::max(older.attempt, newer.attempt);
  row.created_ms = std::min(older.created_ms, newer.created_ms);
  row.dispatched_ms = std::min(older.dispatched_ms, newer.dispatched_ms);
  row.settled_ms = std::max(older.settled_ms, newer.settled_ms);
  row.stable = false;
  row.error.reset();
  add(row.counts, older.counts);
  add(row.times, older.times);
  return row;
}

struct Plan {
  std::vector<std::uint64_t> gone;
  std::vector<SliceRow> joined;
};

Result<Plan> plan_folds(Database& database, Statement& foldable,
                        std::uint64_t newest_execution_number) {
  Plan plan;
  std::optional<Foldable> last;
  bool grown = false;
  const auto keep_last = [&] {
    if (grown) plan.joined.push_back(std::move(last->row));
    grown = false;
  };
  while (plan.gone.size() < kFoldRowsMax) {
    const auto more = foldable.step();
    if (!more) return more.error();
    if (!*more) break;
    Foldable next;
    ColumnReader reader{foldable, 0};
    visit_columns(next.row, reader);
    reader("history", next.history);
    if (!reader.good()) return damaged(database.handle(), "a number is out of its range");
    // Joined across a reset, what the reset wants done again would count as settled after it.
    if (last && last->history == next.history &&
        may_join(last->row, next.row, newest_execution_number)) {
      plan.gone.push_back(last->row.id);
      last->row = joined(last->row, next.row);
      grown = true;
    } else {
      keep_last();
      last = std::move(next);
    }
  }
  keep_last();
  foldable.reset();
  return plan;
}

Result<> carry_out(Database& database, std::int64_t job_no, const Plan& plan) {
  auto erase = database.prepare("DELETE FROM slice WHERE job = ?1 AND id = ?2");
  if (!erase) return erase.error();
  const ColumnNames columns = columns_of<SliceRow>();
  auto put = database.prepare("REPLACE INTO slice(job, " + columns.names + ") VALUES (?, " +
                              columns.marks + ")");
  if (!put) return put.error();
  auto transaction = Transaction::begin(database);
  if (!transaction) return transaction.error();
  for (const std::uint64_t id : plan.gone) {
    erase->bind(1, job_no);
    erase->bind(2, static_cast<std::int64_t>(id));
    SLUICE_TRY(erase->run());
  }
  for (const SliceRow& row : plan.joined) {
    put->bind(1, job_no);
    ColumnBinder binder{*put, 2};
    visit_columns(row, binder);
    SLUICE_TRY(put->run());
  }
  return transaction->commit();
}

}  // namespace

Result<std::uint64_t> fold_completed_slices(Database& database, std::int64_t job_no,
                                            const RetentionLimits& limits, std::int64_t now_ms) {
  const auto settled_ms_max = cutoff(database, job_no, limits, now_ms);
  if (!settled_ms_max) return settled_ms_max.error();
  const auto execution = newest_execution(database, job_no);
  if (!execution) return execution.error();
  auto foldable = database.prepare(foldable_sql());
  if (!foldable) return foldable.error();
  foldable->bind(1, job_no);
  foldable->bind(2, *settled_ms_max);
  const auto plan = plan_folds(database, *foldable, *execution);
  if (!plan) return plan.error();
  if (!plan->gone.empty()) SLUICE_TRY(carry_out(database, job_no, *plan));
  return std::uint64_t{plan->gone.size()};
}

}  // namespace sluice::state
