#include "host/state/database.hpp"

#include "host/base/assert.hpp"

namespace sluice::state {
namespace {

/// How long a writer outside (a backup, sqlite3 by hand) is waited for before the call fails.
constexpr int kBusyTimeoutMs = 2'000;

std::string file_of(sqlite3* database) {
  const char* const name = sqlite3_db_filename(database, "main");
  return name == nullptr || *name == '\0' ? "(not open)" : name;
}

Error environment(sqlite3* database, std::string_view why) {
  return Error{ErrorCode::Io, "state store: " + file_of(database) + ": " + std::string{why}};
}

}  // namespace

Error damaged(sqlite3* database, std::string_view what) {
  return Error{ErrorCode::Store, "state store: " + file_of(database) +
                                     ": is damaged: " + std::string{what} +
                                     "; nothing was changed; restore the folder from a backup"};
}

Error database_error(sqlite3* database) {
  const std::string said = sqlite3_errmsg(database);
  switch (sqlite3_errcode(database)) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
      return damaged(database, said);
    case SQLITE_FULL:
      return environment(database, "the disk is full; free some space");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return environment(database, "another program holds a lock on it; end that program");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return environment(database, "cannot be written: " + said + "; mend its permissions");
    case SQLITE_CANTOPEN:
      return environment(database, "cannot be opened: " + said);
    default:
      return environment(database, said);
  }
}

void Statement::bind(int index, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), index, value);
  SLUICE_ASSERT(code == SQLITE_OK, index, code);
}

void Statement::bind(int index, std::string_view value) {
  // A null pointer would bind NULL, not the empty text.
  const char* const begin = value.data() == nullptr ? "" : value.data();
  const int code =
      sqlite3_bind_text64(statement_.get(), index, begin, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  SLUICE_ASSERT(code == SQLITE_OK, index, code);
}

void Statement::bind_null(int index) {
  const int code = sqlite3_bind_null(statement_.get(), index);
  SLUICE_ASSERT(code == SQLITE_OK, index, code);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const Error error = database_error(database_);
  reset();
  return error;
}

Result<> Statement::run() {
  const auto row = step();
  if (!row) return row.error();
  reset();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* const bytes = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr
             ? std::string{}
             : std::string{reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Result<Database> Database::open(const std::filesystem::path& file, Access access) {
  const int mode = access == Access::ReadWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, mode | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database{raw};
  SLUICE_ASSERT(raw != nullptr);
  if (code != SQLITE_OK) return database_error(raw).with_context(file.string());
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  return database;
}

Result<> Database::execute(const char* sql) {
  if (sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return database_error(handle());
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return database_error(handle());
  return Statement{handle(), statement};
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return statement.error();
  const auto row = statement->step();
  if (!row) return row.error();
  if (!*row) return damaged(handle(), "a row is missing");
  return statement->integer(0);
}

Result<std::string> Database::text(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return statement.error();
  const auto row = statement->step();
  if (!row) return row.error();
  if (!*row) return damaged(handle(), "a row is missing");
  return statement->text(0);
}

Result<Transaction> Transaction::begin(Database& database) {
  // IMMEDIATE: a lock of someone else is met here, where nothing has been done yet.
  SLUICE_TRY(database.execute("BEGIN IMMEDIATE"));
  return Transaction{database};
}

Result<Transaction> Transaction::begin_reading(Database& database) {
  SLUICE_TRY(database.execute("BEGIN DEFERRED"));
  return Transaction{database};
}

Transaction::~Transaction() {
  // Some errors (a full disk) have rolled back already; then this fails, and that is fine.
  if (database_ != nullptr)
    sqlite3_exec(database_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<> Transaction::commit() {
  SLUICE_TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace sluice::state
