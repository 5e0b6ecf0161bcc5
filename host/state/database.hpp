// SQLite, one connection and its prepared statements, as values that close themselves. Inside this
// folder only. Every call on one thread at a time (SQLITE_OPEN_NOMUTEX). Errors come in the two
// kinds of state_store.hpp: what may pass, and damage.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/error.hpp"

namespace sluice::state {

/// Statements are reused: bind, step until there is no row, reset. Texts are bound without a copy
/// and must outlive the last step.
class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* database, sqlite3_stmt* statement)
      : database_{database}, statement_{statement} {}

  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view value);
  void bind_null(int index);

  /// True while there is a row.
  Result<bool> step();
  /// For statements without rows: step and reset.
  Result<> run();
  void reset();

  std::int64_t integer(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  sqlite3* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

enum class Access { ReadWrite, ReadOnly };

class Database {
 public:
  /// The file must exist.
  static Result<Database> open(const std::filesystem::path& file, Access access);

  Result<> execute(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  /// The one integer that `sql` answers.
  Result<std::int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);

  sqlite3* handle() const { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  explicit Database(sqlite3* database) : database_{database} {}

  std::unique_ptr<sqlite3, Close> database_;
};

/// Rolls back at its end, unless commit() answered well.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  /// Every statement until its end reads the store of one moment; pins the log meanwhile.
  static Result<Transaction> begin_reading(Database& database);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : database_{std::exchange(other.database_, nullptr)} {}
  Transaction& operator=(Transaction&&) = delete;

  Result<> commit();

 private:
  explicit Transaction(Database& database) : database_{&database} {}

  Database* database_;
};

/// What SQLite said last, as an Error in the words of state_store.hpp.
Error database_error(sqlite3* database);
/// A row that no version of ours wrote.
Error damaged(sqlite3* database, std::string_view what);

}  // namespace sluice::state
