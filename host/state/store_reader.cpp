#include "host/state/store_reader.hpp"

#include <algorithm>

#include "host/state/row_columns.hpp"
#include "host/state/store_files.hpp"

namespace sluice::state {
namespace {

constexpr const char* kOfJob = " WHERE job = (SELECT no FROM job WHERE name = ?1)";

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
    const char* const rest = query.state ? " AND id > ?2 AND state = ?4 ORDER BY id LIMIT ?3"
                                         : " AND id > ?2 ORDER BY id LIMIT ?3";
    auto statement = select<SliceRow>("slice", rest, job);
    if (!statement) return statement.error();
    statement->bind(2, static_cast<std::int64_t>(query.after_id));
    statement->bind(3, page(query.rows_max));
    if (query.state) statement->bind(4, static_cast<std::int64_t>(*query.state));
    return read_rows<SliceRow>(database_, *statement);
  }

  Result<GapPage> gaps(std::string_view job, std::uint64_t after, std::uint32_t rows_max) override {
    auto statement = database_.prepare("SELECT " + columns_of<GapRow>().names + ", no FROM ledger" +
                                       kOfJob + " AND no > ?2 ORDER BY no LIMIT ?3");
    if (!statement) return statement.error();
    statement->bind(1, job);
    statement->bind(2, static_cast<std::int64_t>(after));
    statement->bind(3, page(rows_max));
    GapPage answer;
    answer.last = after;
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

 private:
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
