#include "host/state/store_files.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "host/state/schema.hpp"

namespace sluice::state {
namespace {

namespace fs = std::filesystem;

fs::path database_file(const fs::path& directory) {
  return directory / "state.db";
}
fs::path id_file(const fs::path& directory) {
  return directory / "store.id";
}

Error refused(const fs::path& file, std::string_view why) {
  return Error{ErrorCode::Store, "state store: " + file.string() + ": " + std::string{why}};
}

/// RFC 4122, version 4.
Result<std::string> random_uuid() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return io_error("read random bytes", "getrandom", errno);
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    constexpr std::string_view kHex = "0123456789abcdef";
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kHex[bytes[i] >> 4U];
    text += kHex[bytes[i] & 0x0FU];
  }
  return text;
}

Result<> sync_path(const fs::path& path, int flags) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0) return io_error("open", path.string(), errno);
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (failed != 0) return io_error("sync", path.string(), failed);
  return {};
}

Result<> write_whole(const fs::path& file, std::string_view text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return io_error("create", file.string(), errno);
  errno = 0;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  const int failed = written ? 0 : (errno == 0 ? ENOSPC : errno);
  ::close(fd);
  if (failed != 0) return io_error("write", file.string(), failed);
  return {};
}

/// Complete under its final name, or not there: a half-made file never carries that name.
Result<> publish(const fs::path& draft, const fs::path& file) {
  SLUICE_TRY(sync_path(draft, 0));
  std::error_code code;
  fs::rename(draft, file, code);
  if (code) return io_error("rename", draft.string(), code.value());
  return sync_path(file.parent_path(), O_DIRECTORY);
}

Result<> fill_new_database(const fs::path& draft, const std::string& id) {
  auto database = Database::open(draft, Access::ReadWrite);
  if (!database) return database.error();
  // The journal of the draft would be left under its old name: none is needed, nobody reads it yet.
  SLUICE_TRY(database->execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=FULL;"));
  SLUICE_TRY(database->execute(kSchema));
  auto insert = database->prepare("INSERT INTO store(id, host_incarnation) VALUES (?1, 0)");
  if (!insert) return insert.error();
  insert->bind(1, std::string_view{id});
  return insert->run();
}

/// The database first, then its witness: a crash between the two leaves a store that gets one.
Result<> create(const fs::path& directory) {
  const auto id = random_uuid();
  if (!id) return id.error();
  const fs::path draft = directory / "state.db.draft";
  SLUICE_TRY(write_whole(draft, {}));
  SLUICE_TRY(fill_new_database(draft, *id));
  return publish(draft, database_file(directory));
}

Result<> write_witness(const fs::path& directory, const std::string& id) {
  const fs::path draft = directory / "store.id.draft";
  SLUICE_TRY(write_whole(draft, id + "\n"));
  return publish(draft, id_file(directory));
}

/// Whose file it is, and of which schema.
Result<> check_schema(Database& database, const fs::path& file) {
  const auto application = database.integer("PRAGMA application_id");
  if (!application) return application.error();
  const auto version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  if (*application != kApplicationId) {
    return refused(file, "is no state store of Sluice; move it away");
  }
  if (*version != kSchemaVersion) {
    return Error{ErrorCode::Incompatible,
                 "state store: " + file.string() + ": has schema " + std::to_string(*version) +
                     ", this Sluice has schema " + std::to_string(kSchemaVersion) +
                     "; start the version that wrote it, or restore the backup made before it"};
  }
  return {};
}

/// Requires: the caller holds the directory's lock. A later schema is left for check_schema.
Result<> migrate(Database& database, const fs::path& file) {
  const auto application = database.integer("PRAGMA application_id");
  if (!application) return application.error();
  if (*application != kApplicationId) return check_schema(database, file);
  for (;;) {
    const auto version = database.integer("PRAGMA user_version");
    if (!version) return version.error();
    if (*version < kOldestSchema || *version >= kSchemaVersion) return {};
    SLUICE_TRY(database.execute(kMigrations[*version - kOldestSchema]));
  }
}

Result<> check_pages(Database& database) {
  const auto answer = database.text("PRAGMA quick_check(1)");
  if (!answer) return answer.error();
  if (*answer != "ok") return damaged(database.handle(), *answer);
  return {};
}

Result<> check_witness(const fs::path& directory, const std::string& id) {
  std::ifstream in{id_file(directory)};
  if (!in) return write_witness(directory, id);
  std::string witness;
  std::getline(in, witness);
  if (witness == id) return {};
  return refused(database_file(directory),
                 "is store " + id + ", but " + id_file(directory).string() + " names " +
                     (witness.empty() ? "none" : witness) +
                     "; put the right file back, or remove store.id to accept this one");
}

Result<> refuse_missing_or_empty(const fs::path& directory) {
  std::error_code code;
  const fs::path file = database_file(directory);
  if (!fs::exists(file, code)) {
    return refused(file, "is missing, but " + id_file(directory).string() +
                             " says that a store was here; restore it from a backup, or remove "
                             "store.id to begin without frontiers");
  }
  const auto size = fs::file_size(file, code);
  if (code) return io_error("look at", file.string(), code.value());
  // SQLite would take an empty file for a new database.
  if (size == 0) return refused(file, "is damaged: it is empty; restore it from a backup");
  return {};
}

Result<std::uint64_t> count_incarnation(Database& database) {
  auto transaction = Transaction::begin(database);
  if (!transaction) return transaction.error();
  SLUICE_TRY(database.execute("UPDATE store SET host_incarnation = host_incarnation + 1"));
  const auto incarnation = database.integer("SELECT host_incarnation FROM store");
  if (!incarnation) return incarnation.error();
  SLUICE_TRY(transaction->commit());
  return static_cast<std::uint64_t>(*incarnation);
}

Result<> configure(Database& database) {
  const auto mode = database.text("PRAGMA journal_mode=WAL");
  if (!mode) return mode.error();
  if (*mode != "wal") {
    return damaged(database.handle(), "its file system cannot do write-ahead logging");
  }
  // FULL: a commit that was answered survives a power cut, not only our own death.
  return database.execute("PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;");
}

}  // namespace

Result<OpenedStore> open_store_files(const fs::path& directory) {
  std::error_code code;
  const bool existed =
      fs::exists(database_file(directory), code) || fs::exists(id_file(directory), code);
  if (!existed) SLUICE_TRY(create(directory));
  SLUICE_TRY(refuse_missing_or_empty(directory));
  auto database = Database::open(database_file(directory), Access::ReadWrite);
  if (!database) return database.error();
  SLUICE_TRY(migrate(*database, database_file(directory)));
  SLUICE_TRY(check_schema(*database, database_file(directory)));
  SLUICE_TRY(configure(*database));
  SLUICE_TRY(check_pages(*database));
  auto id = database->text("SELECT id FROM store");
  if (!id) return id.error();
  SLUICE_TRY(check_witness(directory, *id));
  const auto incarnation = count_incarnation(*database);
  if (!incarnation) return incarnation.error();
  // The count above was the first commit: from now on there is a log, and it stays this file.
  const fs::path file = database_file(directory);
  auto files = FilesInPlace::remember({file, file.string() + "-wal"});
  if (!files) return files.error();
  return OpenedStore{*std::move(database), StoreIdentity{*std::move(id), *incarnation},
                     *std::move(files)};
}

Result<Database> open_for_reading(const fs::path& directory) {
  SLUICE_TRY(refuse_missing_or_empty(directory));
  auto database = Database::open(database_file(directory), Access::ReadOnly);
  if (!database) return database.error();
  SLUICE_TRY(check_schema(*database, database_file(directory)));
  return database;
}

}  // namespace sluice::state
