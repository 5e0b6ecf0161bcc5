#include "host/state/store_reader.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "host/state/recoverable.hpp"
#include "host/state/row_columns.hpp"
#include "host/state/store_files.hpp"

namespace sluice::state {
namespace {

/// `slice_not_completed` and `ledger_of_job` answer these without looking at completed rows. Not
/// what a reset has passed: that is history, or recoverable.
constexpr const char* kSlicesByState =
    "SELECT state, count(*) FROM slice WHERE job = ?1 AND state <> 2 AND (state IN (6, 7) OR "
    "(state IN (3, 4) AND NOT EXISTS (SELECT 1 FROM frontier f WHERE f.job = ?1 AND "
    "f.topic = slice.topic AND f.partition = slice.partition AND f.lane = slice.lane AND "
    "slice.id < f.reset_id))) GROUP BY state";
constexpr const char* kGapsOfNewest =
    "SELECT count(*) FROM ledger l JOIN job j ON j.no = l.job WHERE j.name = ?1 AND "
    "l.execution = (SELECT max(number) FROM execution e WHERE e.job = j.no)";

constexpr const char* kOfJob = " WHERE job = (SELECT no FROM job WHERE name = ?1)";

/// A WHERE clause put together from constants; every value of a caller is bound.
class Filter {
 public:
  explicit Filter(std::string_view job) : clause_{kOfJob}, values_{std::string{job}} {}

  void add(const char* condition) { clause_ += condition; }
  template <typename Value>
  void add(const char* condition, const std::optional<Value>& value) {
    if (!value) return;
    clause_ += condition;
    if constexpr (std::is_same_v<Value, std::string>) {
      values_.emplace_back(*value);
    } else {
      values_.emplace_back(static_cast<std::int64_t>(*value));
    }
  }

  /// Requires: this Filter outlives the statement, whose texts are bound without a copy.
  Result<Statement> prepare(Database& database, const std::string& select) const {
    auto statement = database.prepare(select + clause_);
    if (!statement) return statement;
    for (int index = 1; const auto& value : values_) {
      if (const auto* text = std::get_if<std::string>(&value)) {
        statement->bind(index++, std::string_view{*text});
      } else {
        statement->bind(index++, std::get<std::int64_t>(value));
      }
    }
    return statement;
  }

 private:
  std::string clause_;
  std::vector<std::variant<std::int64_t, std::string>> values_;
};

class SqliteReader final : public StoreReader {
 public:
  explicit SqliteReader(Database database) : database_{std::move(database)} {}

  Result<std::vector<std::string>> jobs() override {
    auto statement = database_.prepare("SELECT name FROM job ORDER BY name");
    if (!statement) return statement.error();
    std::vector<std::string> names;
    for (;;) {
      const auto more = statement->step();
      if (!more) return more.error();
      if (!*more) return names;
      names.push_back(statement->text(0));
    }
  }

  Result<std::vector<ExecutionRow>> executions(std::string_view job,
                                               std::uint32_t rows_max) override {
    auto statement = select<ExecutionRow>("execution", " ORDER BY number DESC LIMIT ?2", job);
    if (!statement) return statement.error();
    statement->bind(2, page(rows_max));
    return read_rows<ExecutionRow>(database_, *statement);
  }

  Result<std::vector<PartitionRow>> partitions(std::string_view job) override {
    auto statement = select<PartitionRow>("frontier", " ORDER BY topic, partition, lane", job);
    if (!statement) return statement.error();
    return read_rows<PartitionRow>(database_, *statement);
  }

  Result<std::vector<SliceRow>> slices(std::string_view job, const SliceQuery& query) override {
    Filter filter{job};
    filter.add(" AND execution = ?", query.execution);
    filter.add(" AND state = ?", query.state);
    // The index of the rare states is chosen only where its own condition stands in the query.
    if (query.state && *query.state != SliceState::Completed) filter.add(" AND state <> 2");
    filter.add(" AND topic = ?", query.topic);
    filter.add(" AND partition = ?", query.partition);
    filter.add(" AND id < ?", query.before);
    filter.add(" ORDER BY id DESC LIMIT ?", std::optional{page(query.rows_max)});
    auto statement =
        filter.prepare(database_, "SELECT " + columns_of<SliceRow>().names + " FROM slice");
    if (!statement) return statement.error();
    return read_rows<SliceRow>(database_, *statement);
  }

  Result<GapPage> gaps(std::string_view job, const GapQuery& query) override {
    Filter filter{job};
    filter.add(" AND execution = ?", query.execution);
    filter.add(" AND cause = ?", query.cause);
    filter.add(" AND topic = ?", query.topic);
    filter.add(" AND partition = ?", query.partition);
    filter.add(" AND no < ?", query.before);
    filter.add(" ORDER BY no DESC LIMIT ?", std::optional{page(query.rows_max)});
    auto statement =
        filter.prepare(database_, "SELECT " + columns_of<GapRow>().names + ", no FROM ledger");
    if (!statement) return statement.error();
    GapPage answer;
    for (;;) {
      const auto more = statement->step();
      if (!more) return more.error();
      if (!*more) return answer;
      GapRow row;
      ColumnReader reader{*statement, 0};
      visit_columns(row, reader);
      std::uint64_t number = 0;
      reader("no", number);
      if (!reader.good()) return damaged(database_.handle(), "a number is out of its range");
      answer.gaps.push_back(std::move(row));
      answer.last = number;
    }
  }

  Result<TroubleCounts> trouble(std::string_view job) override {
    TroubleCounts counts;
    auto found = database_.prepare("SELECT no FROM job WHERE name = ?1");
    if (!found) return found.error();
    found->bind(1, job);
    const auto known = found->step();
    if (!known) return known.error();
    if (!*known) return counts;
    SLUICE_TRY(count_slices(found->integer(0), counts));
    auto gaps = database_.prepare(kGapsOfNewest);
    if (!gaps) return gaps.error();
    gaps->bind(1, job);
    const auto row = gaps->step();
    if (!row) return row.error();
    if (*row) counts.gaps = static_cast<std::uint64_t>(gaps->integer(0));
    return counts;
  }

  Result<AuditRows> audit_rows(std::string_view job) override {
    // The rows of one moment: the writer goes on meanwhile.
    auto moment = Transaction::begin_reading(database_);
    if (!moment) return moment.error();
    AuditRows rows;
    auto newest = executions(job, 1);
    if (!newest) return newest.error();
    if (newest->empty()) {
      return Error{ErrorCode::NotFound, "audit: job " + std::string{job} + " has never run"};
    }
    rows.execution = newest->front();
    SLUICE_TRY(read_lanes(job, rows));
    auto slices = select<SliceRow>("slice", " AND execution = ?2 AND state IN (2, 5, 6, 7)", job);
    if (!slices) return slices.error();
    slices->bind(2, static_cast<std::int64_t>(rows.execution.number));
    auto settled = read_rows<SliceRow>(database_, *slices);
    if (!settled) return settled.error();
    rows.slices = *std::move(settled);
    auto ledger = select<GapRow>("ledger", " AND execution = ?2", job);
    if (!ledger) return ledger.error();
    ledger->bind(2, static_cast<std::int64_t>(rows.execution.number));
    auto gaps = read_rows<GapRow>(database_, *ledger);
    if (!gaps) return gaps.error();
    rows.gaps = *std::move(gaps);
    return rows;
  }

 private:
  Result<> count_slices(std::int64_t job_no, TroubleCounts& counts) {
    auto slices = database_.prepare(kSlicesByState);
    if (!slices) return slices.error();
    slices->bind(1, job_no);
    for (;;) {
      const auto more = slices->step();
      if (!more) return more.error();
      if (!*more) break;
      add(counts, static_cast<SliceState>(slices->integer(0)),
          static_cast<std::uint64_t>(slices->integer(1)));
    }
    const auto recoverable = recoverable_slices(database_, job_no);
    if (!recoverable) return recoverable.error();
    for (const SliceRow& row : *recoverable) add(counts, row.state, 1);
    return {};
  }

  Result<> read_lanes(std::string_view job, AuditRows& rows) {
    auto statement = database_.prepare("SELECT " + columns_of<PartitionRow>().names +
                                       ", reset_id FROM frontier" + kOfJob);
    if (!statement) return statement.error();
    statement->bind(1, job);
    for (;;) {
      const auto more = statement->step();
      if (!more) return more.error();
      if (!*more) return {};
      AuditLane lane;
      ColumnReader reader{*statement, 0};
      visit_columns(lane.row, reader);
      reader("reset_id", lane.reset_id);
      if (!reader.good()) return damaged(database_.handle(), "a number is out of its range");
      rows.lanes.push_back(std::move(lane));
    }
  }

  static void add(TroubleCounts& counts, SliceState state, std::uint64_t slices) {
    switch (state) {
      case SliceState::Retrying:
      case SliceState::Isolating:
        counts.failed += slices;
        break;
      case SliceState::Parked:
        counts.parked += slices;
        break;
      case SliceState::DeadLettered:
        counts.dead_lettered += slices;
        break;
      case SliceState::Skipped:
        counts.skipped += slices;
        break;
      default:
        break;
    }
  }

  static std::int64_t page(std::uint32_t rows_max) { return std::min(rows_max, kPageRowsMax); }

  template <typename Row>
  Result<Statement> select(const std::string& table, const std::string& rest,
                           std::string_view job) {
    auto statement =
        database_.prepare("SELECT " + columns_of<Row>().names + " FROM " + table + kOfJob + rest);
    if (statement) statement->bind(1, job);
    return statement;
  }

  Database database_;
};

}  // namespace

Result<std::unique_ptr<StoreReader>> open_store_reader(const std::filesystem::path& directory) {
  auto database = open_for_reading(directory);
  if (!database) return database.error();
  std::unique_ptr<StoreReader> reader = std::make_unique<SqliteReader>(*std::move(database));
  return reader;
}

}  // namespace sluice::state
