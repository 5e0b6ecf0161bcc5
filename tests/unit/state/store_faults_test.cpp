// The world outside fails: nothing of a batch is stored, the error says what to do, and the same
// batch works later.
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>

#include "store_fixture.hpp"

namespace sluice::state {
namespace {

/// No file of this process grows beyond `bytes` while it lives: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    previous_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &previous_) == 0);
    const rlimit limit{bytes, previous_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }

 private:
  rlimit previous_{};
  void (*previous_handler_)(int) = nullptr;
};

ChangeSet large_changes() {
  ChangeSet changes;
  for (std::uint64_t id = 1; id <= 5'000; ++id) {
    changes.slices_upserted.push_back(some_slice(id, 0, 1, SliceState::Ready));
  }
  return changes;
}

}  // namespace

TEST_CASE("a full disk loses the batch as a whole, and the same batch works later", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet first;
  first.partitions = {some_partition("orders", 0)};
  REQUIRE(store.apply("orders", first));
  const ChangeSet changes = large_changes();
  {
    const FullDisk disk{200'000};
    const Result<> result = store.apply("orders", changes);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == ErrorCode::Io);
    CHECK(result.error().message().find("state store: " + folder.path().string()) == 0);
    CHECK(store->load_job("orders").value().slices.empty());
  }
  CHECK(store->load_job("orders").value().partitions == first.partitions);
  REQUIRE(store.apply("orders", changes));
  store.reopen();
  CHECK(store->load_job("orders").value().slices.size() == 5'000);
}

TEST_CASE("a disk that is full from the first moment makes no store, and a later start does",
          "[state]") {
  const TemporaryFolder folder;
  const auto lock = DirectoryLock::try_acquire(folder.path()).value();
  {
    const FullDisk disk{4'096};
    const auto store = open_sqlite_store(lock);
    REQUIRE_FALSE(store.has_value());
    CHECK(store.error().code() == ErrorCode::Io);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "store.id"));
  }
  CHECK(open_sqlite_store(lock).has_value());
}

TEST_CASE("another program's lock on the database is an error that passes", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open((folder.path() / "state.db").c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  ChangeSet changes;
  changes.partitions = {some_partition("orders", 0)};
  const Result<> result = store.apply("orders", changes);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code() == ErrorCode::Io);
  CHECK(result.error().message() ==
        "state store: " + folder.path().string() +
            "/state.db: another program holds a lock on it; end that program");
  sqlite3_close(other);
  CHECK(store.apply("orders", changes).has_value());
}

TEST_CASE("a store whose files vanish while it is in use acknowledges nothing more", "[state]") {
  const char* const name = GENERATE("state.db", "state.db-wal");
  CAPTURE(name);
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {some_partition("orders", 0)};
  REQUIRE(store.apply("orders", changes));
  // SQLite goes on writing into the file that has no name any more, and sees nothing wrong.
  REQUIRE(std::filesystem::remove(folder.path() / name));
  const Result<> result = store.apply("orders", changes);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code() == ErrorCode::Store);
  CHECK(result.error().message() ==
        "state store: " + (folder.path() / name).string() +
            ": was deleted or replaced while in use, so what is written is lost; stop the host and "
            "restore the folder from a backup");
  // A file of that name that somebody puts there is not the one in use.
  std::filesystem::copy_file(folder.path() / "store.id", folder.path() / name);
  CHECK_FALSE(store.apply("orders", changes).has_value());
}

TEST_CASE("a batch of several jobs is stored as a whole or not at all", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("a", ExecutionMode::Persistent, kNowMs).value();
  store->begin_execution("b", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet small;
  small.partitions = {some_partition("orders", 0)};
  const JobChanges batch[] = {{"a", small}, {"b", large_changes()}};
  {
    const FullDisk disk{200'000};
    REQUIRE_FALSE(store->apply(batch).has_value());
  }
  CHECK(store->load_job("a").value().partitions.empty());
}

}  // namespace sluice::state
