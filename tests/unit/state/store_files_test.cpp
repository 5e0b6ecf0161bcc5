// A store that was there is never silently made anew, and nothing is read from a file that is not
// ours. Torn states are arranged by hand.
#include "host/state/store_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "store_fixture.hpp"

namespace sluice::state {
namespace {

namespace fs = std::filesystem;

/// A folder with a store that has one job, closed.
void make_store(const TemporaryFolder& folder) {
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
}

Error open_error(const TemporaryFolder& folder) {
  const auto lock = DirectoryLock::try_acquire(folder.path());
  if (!lock) return lock.error();
  const auto store = open_sqlite_store(*lock);
  REQUIRE_FALSE(store.has_value());
  return store.error();
}

void run_sql(const fs::path& file, const char* sql) {
  auto database = Database::open(file, Access::ReadWrite).value();
  REQUIRE(database.execute(sql));
}

std::string text_of(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The rights of a user who may not do everything; undone at the end.
class PlainUser {
 public:
  PlainUser() {
    if (was_root_) REQUIRE(::seteuid(65534) == 0);
  }
  ~PlainUser() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool was_root_ = ::geteuid() == 0;
};

}  // namespace

TEST_CASE("a missing database beside its witness is refused, not made anew", "[state]") {
  const TemporaryFolder folder;
  make_store(folder);
  fs::remove(folder.path() / "state.db");
  const Error error = open_error(folder);
  CHECK(error.code() == ErrorCode::Store);
  CHECK(error.message() == "state store: " + folder.path().string() +
                               "/state.db: is missing, but " + folder.path().string() +
                               "/store.id says that a store was here; restore it from a "
                               "backup, or remove store.id to begin without frontiers");
  CHECK_FALSE(fs::exists(folder.path() / "state.db"));
  CHECK_FALSE(open_store_reader(folder.path()).has_value());
}

TEST_CASE("without the witness too there was no store, and one is made", "[state]") {
  const TemporaryFolder folder;
  make_store(folder);
  fs::remove(folder.path() / "state.db");
  fs::remove(folder.path() / "store.id");
  OpenStore store{folder};
  CHECK_FALSE(store->load_job("orders").value().execution);
}

TEST_CASE("a database whose witness was never written, or was lost, gets one", "[state]") {
  const TemporaryFolder folder;
  make_store(folder);
  const std::string id = text_of(folder.path() / "store.id");
  fs::remove(folder.path() / "store.id");
  OpenStore store{folder};
  CHECK(store->load_job("orders").value().execution);
  CHECK(text_of(folder.path() / "store.id") == id);
}

TEST_CASE("a draft left by a death in the middle of making the store is made again", "[state]") {
  const TemporaryFolder folder;
  folder.write("state.db.draft", "half a database");
  folder.write("store.id.draft", "half an id");
  OpenStore store{folder};
  CHECK(store->identity().host_incarnation == 1);
  CHECK_FALSE(fs::exists(folder.path() / "state.db.draft"));
}

TEST_CASE("an empty database file is damage, though SQLite would begin a new one", "[state]") {
  const TemporaryFolder folder;
  make_store(folder);
  folder.write("state.db", "");
  const Error error = open_error(folder);
  CHECK(error.code() == ErrorCode::Store);
  CHECK(error.message() == "state store: " + folder.path().string() +
                               "/state.db: is damaged: it is empty; restore it from a backup");
}

TEST_CASE("a database of another store under our witness is refused", "[state]") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  make_store(folder);
  make_store(other);
  fs::copy_file(other.path() / "state.db", folder.path() / "state.db",
                fs::copy_options::overwrite_existing);
  const Error error = open_error(folder);
  CHECK(error.code() == ErrorCode::Store);
  CHECK(error.message().find("; put the right file back, or remove store.id to accept this one") !=
        std::string::npos);
}

TEST_CASE("a file that is no database is damage", "[state]") {
  const TemporaryFolder folder;
  make_store(folder);
  const std::string text(5'000, 'x');
  folder.write("state.db", text);
  const Error error = open_error(folder);
  CHECK(error.code() == ErrorCode::Store);
  CHECK(error.message() ==
        "state store: " + folder.path().string() +
            "/state.db: is damaged: file is not a database; nothing was changed; "
            "restore the folder from a backup");
  CHECK(text_of(folder.path() / "state.db") == text);
}

TEST_CASE("a page of garbage inside the database is found at the start", "[state]") {
  const TemporaryFolder folder;
  make_store(folder);
  {
    std::fstream file{folder.path() / "state.db", std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(2 * 4096);
    file << std::string(3 * 4096, '\xA5');
  }
  const Error error = open_error(folder);
  CHECK(error.code() == ErrorCode::Store);
  CHECK(error.message().find("is damaged") != std::string::npos);
}

TEST_CASE("a cut-off database is found at the start", "[state]") {
  const TemporaryFolder folder;
  make_store(folder);
  fs::resize_file(folder.path() / "state.db", 3 * 4096);
  const Error error = open_error(folder);
  CHECK(error.code() == ErrorCode::Store);
}

TEST_CASE("a database of another program is refused and not touched", "[state]") {
  const TemporaryFolder folder;
  make_store(folder);
  run_sql(folder.path() / "state.db", "PRAGMA application_id = 7");
  const Error error = open_error(folder);
  CHECK(error.code() == ErrorCode::Store);
  CHECK(error.message() == "state store: " + folder.path().string() +
                               "/state.db: is no state store of Sluice; move it away");
}

TEST_CASE("a store of another schema is refused with both numbers", "[state]") {
  const TemporaryFolder folder;
  make_store(folder);
  run_sql(folder.path() / "state.db", "PRAGMA user_version = 6");
  const Error error = open_error(folder);
  CHECK(error.code() == ErrorCode::Incompatible);
  CHECK(
      error.message() ==
      "state store: " + folder.path().string() +
          "/state.db: has schema 6, this Sluice has schema 5; start the version that wrote it, or "
          "restore the backup made before it");
  CHECK_FALSE(open_store_reader(folder.path()).has_value());
}

TEST_CASE("an older store is taken over with all that is in it, and can be told to stop",
          "[state]") {
  const int schema = GENERATE(1, 2, 3, 4);
  const TemporaryFolder folder;
  {
    OpenStore store{folder};
    store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
  }
  const auto back = [&](const char* sql) { run_sql(folder.path() / "state.db", sql); };
  back("ALTER TABLE slice DROP COLUMN excluded; PRAGMA user_version = 4");
  if (schema <= 3) back("DROP TABLE first_count; PRAGMA user_version = 3");
  if (schema <= 2) {
    back(
        "ALTER TABLE frontier DROP COLUMN fingerprints; "
        "ALTER TABLE frontier DROP COLUMN lowered_from; PRAGMA user_version = 2");
  }
  if (schema <= 1) {
    back(
        "ALTER TABLE job DROP COLUMN target; ALTER TABLE job DROP COLUMN start_from; "
        "PRAGMA user_version = 1");
  }
  CHECK_FALSE(open_store_reader(folder.path()).has_value());
  OpenStore store{folder};
  CHECK(store->load_job("orders").value().execution.has_value());
  CHECK(store->settings("orders").value() == JobSettings{});
  CHECK(store->set_settings("orders", {JobSettings::Target::Stopped, ""}).has_value());
  CHECK(store->load_job("orders").value().first_counts.empty());
  CHECK(open_store_reader(folder.path()).has_value());
}

TEST_CASE("a store of schema 2 is taken over: its frontiers hold, without fingerprints (F5)",
          "[state]") {
  const TemporaryFolder folder;
  {
    OpenStore store{folder};
    store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
    ChangeSet changes;
    changes.partitions = {some_partition("orders", 3)};
    REQUIRE(store.apply("orders", changes));
  }
  run_sql(folder.path() / "state.db",
          "ALTER TABLE slice DROP COLUMN excluded; DROP TABLE first_count; "
          "ALTER TABLE frontier DROP COLUMN fingerprints; "
          "ALTER TABLE frontier DROP COLUMN lowered_from; PRAGMA user_version = 2");
  OpenStore store{folder};
  const auto rows = store->load_job("orders").value().partitions;
  REQUIRE(rows.size() == 1);
  PartitionRow expected = some_partition("orders", 3);
  expected.fingerprints.clear();
  expected.lowered_from = 0;
  CHECK(rows[0] == expected);
}

TEST_CASE("a number in a row that no version of ours wrote is damage, not a wrap-around",
          "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
  ChangeSet changes;
  changes.slices_upserted = {some_slice(1, 0, 10, SliceState::Ready)};
  REQUIRE(store.apply("orders", changes));
  const auto refused = [&](const char* sql) {
    run_sql(folder.path() / "state.db", sql);
    const auto job = store->load_job("orders");
    return !job && job.error().code() == ErrorCode::Store;
  };
  CHECK(refused("UPDATE slice SET cause = 99"));
  CHECK(refused("UPDATE slice SET cause = 0, attempt = -1"));
  CHECK(refused("UPDATE slice SET attempt = 1, lane = 70000"));
  CHECK(refused("UPDATE slice SET lane = 0, halted = 2"));
  CHECK(refused("UPDATE slice SET halted = 0, bytes = -1"));
  run_sql(folder.path() / "state.db", "UPDATE slice SET bytes = 0");
  CHECK(store->load_job("orders").has_value());
}

TEST_CASE("a state directory that cannot be written is an error that names it", "[state]") {
  const TemporaryFolder folder;
  const fs::path locked = folder.path() / "locked";
  fs::create_directory(locked);
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(locked.c_str(), 0555) == 0);
  const PlainUser user;
  const auto lock = DirectoryLock::try_acquire(locked);
  REQUIRE_FALSE(lock.has_value());
  CHECK(lock.error().code() == ErrorCode::Io);
  CHECK(lock.error().message() ==
        "open the state directory's lock: " + locked.string() + "/lock: Permission denied");
  CHECK_FALSE(DirectoryLock::try_acquire(locked / "deeper").has_value());
}

TEST_CASE("a store is made for its owner's eyes only", "[state]") {
  const TemporaryFolder folder;
  const fs::path directory = folder.path() / "a" / "b";
  const auto lock = DirectoryLock::try_acquire(directory).value();
  const auto store = open_sqlite_store(lock).value();
  store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
  const auto mode = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  };
  CHECK(mode(directory) == 0700);
  for (const char* const name : {"state.db", "state.db-wal", "store.id", "lock"}) {
    CAPTURE(name);
    CHECK(mode(directory / name) == 0600);
  }
}

}  // namespace sluice::state
