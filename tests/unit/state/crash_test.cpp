// kill -9 of the writer at random moments: after reopening, the rows are those of a prefix of its
// change sets that has at least everything it was told to be durable.
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "host/base/random.hpp"
#include "store_fixture.hpp"
#include "unit/full_scale.hpp"

namespace sluice::state {
namespace {

namespace fs = std::filesystem;

/// Change set n: partition 0's frontier is n, slice n stands, slice n - 3 is gone, one gap row.
ChangeSet change_number(std::uint64_t n) {
  ChangeSet changes;
  changes.token = n;
  changes.partitions = {some_partition("orders", 0)};
  changes.partitions[0].frontier = static_cast<std::int64_t>(n);
  changes.slices_upserted = {some_slice(n, 0, 1, SliceState::Ready)};
  if (n > 3) changes.slices_deleted = {n - 3};
  GapRow gap;
  gap.slice_id = n;
  changes.gaps = {gap};
  return changes;
}

/// The writer's life: opens, goes on behind what is stored, tells each token that is durable.
[[noreturn]] void write_until_killed(const TemporaryFolder& folder, int acknowledge_fd) {
  OpenStore store{folder};
  std::uint64_t n = store->load_job("orders").value().next_slice_id;
  for (;; ++n) {
    if (!store.apply("orders", change_number(n))) ::_exit(1);
    if (::write(acknowledge_fd, &n, sizeof n) != static_cast<ssize_t>(sizeof n)) ::_exit(2);
  }
}

/// The moment of death is meant to be anywhere inside a commit.
void let_a_while_pass(Random& random) {
  for (std::uint64_t turns = random.below(20'000); turns > 0; --turns) ::sched_yield();
}

/// SLUICE_FULL=1: thousands instead of dozens.
int lives(int usual, int full) {
  return full_scale() ? full : usual;
}

std::uint64_t count_gaps(const TemporaryFolder& folder) {
  const auto reader = open_store_reader(folder.path()).value();
  std::uint64_t count = 0;
  for (GapQuery query;;) {
    const GapPage page = reader->gaps("orders", query).value();
    count += page.gaps.size();
    if (page.gaps.size() < query.rows_max) return count;
    query.before = page.last;
  }
}

/// Kills a writer after it acknowledged `count` change sets and a moment more; the last token told.
std::uint64_t run_and_kill(const TemporaryFolder& folder, std::uint64_t count, Random& random) {
  int pipe_fds[2];
  REQUIRE(::pipe(pipe_fds) == 0);
  const pid_t writer = ::fork();
  REQUIRE(writer >= 0);
  if (writer == 0) {
    ::close(pipe_fds[0]);
    write_until_killed(folder, pipe_fds[1]);
  }
  ::close(pipe_fds[1]);
  std::uint64_t acknowledged = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    REQUIRE(::read(pipe_fds[0], &acknowledged, sizeof acknowledged) ==
            static_cast<ssize_t>(sizeof acknowledged));
  }
  let_a_while_pass(random);
  REQUIRE(::kill(writer, SIGKILL) == 0);
  std::uint64_t token = 0;
  while (::read(pipe_fds[0], &token, sizeof token) == static_cast<ssize_t>(sizeof token)) {
    acknowledged = token;
  }
  ::close(pipe_fds[0]);
  int status = 0;
  REQUIRE(::waitpid(writer, &status, 0) == writer);
  REQUIRE(WIFSIGNALED(status));
  return acknowledged;
}

}  // namespace

TEST_CASE("after kill -9 of the writer the store is a prefix with all that was acknowledged",
          "[state]") {
  constexpr std::uint64_t kSeed = 20'260'131;
  constexpr int kLivesPerStore = 100;  // every check reads the whole ledger
  Random random{kSeed};
  std::optional<TemporaryFolder> store_folder;
  for (int life = 0; life < lives(25, 3'000); ++life) {
    if (life % kLivesPerStore == 0) {
      store_folder.emplace();
      OpenStore made{*store_folder};
      made->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
    }
    const TemporaryFolder& folder = *store_folder;
    const std::uint64_t acknowledged = run_and_kill(folder, 1 + random.below(20), random);
    CAPTURE(life, acknowledged);
    OpenStore store{folder};
    const JobState job = store->load_job("orders").value();
    const std::uint64_t stored = job.next_slice_id - 1;
    // The one in flight may have become durable without its answer.
    CHECK(stored >= acknowledged);
    CHECK(stored <= acknowledged + 1);
    REQUIRE(job.partitions.size() == 1);
    CHECK(job.partitions[0].frontier == static_cast<std::int64_t>(stored));
    CHECK(job.slices.size() == std::min<std::uint64_t>(stored, 3));
    CHECK(count_gaps(folder) == stored);
  }
}

// A power cut leaves any part of the log: what is whole of it counts, in order, and nothing else.
TEST_CASE("a log that is cut off anywhere leaves whole change sets, the first ones", "[state]") {
  constexpr std::uint64_t kSets = 12;
  const TemporaryFolder folder;
  const fs::path log = folder.path() / "state.db-wal";
  const fs::path copy = folder.path() / "cut";
  fs::create_directory(copy);
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  for (std::uint64_t n = 1; n <= kSets; ++n) REQUIRE(store.apply("orders", change_number(n)));
  const auto log_bytes = fs::file_size(log);
  REQUIRE(log_bytes > 0);
  Random random{11};
  std::uint64_t most = 0;
  for (int cut = 0; cut < lives(30, 2'000); ++cut) {
    for (const char* const name : {"state.db", "state.db-wal", "store.id"}) {
      fs::copy_file(folder.path() / name, copy / name, fs::copy_options::overwrite_existing);
    }
    fs::remove(copy / "state.db-shm");
    const auto kept = cut == 0 ? log_bytes : random.below(log_bytes);
    fs::resize_file(copy / "state.db-wal", kept);
    CAPTURE(kept, log_bytes);
    const auto lock = DirectoryLock::try_acquire(copy).value();
    const auto reopened = open_sqlite_store(lock).value();
    const JobState job = reopened->load_job("orders").value();
    const std::uint64_t stored = job.next_slice_id - 1;
    most = std::max(most, stored);
    REQUIRE(job.partitions.size() == (stored > 0 ? 1U : 0U));
    if (stored > 0) CHECK(job.partitions[0].frontier == static_cast<std::int64_t>(stored));
    CHECK(job.slices.size() == std::min<std::uint64_t>(stored, 3));
  }
  CHECK(most == kSets);
}

TEST_CASE("after kill -9 while a store is being made, the next start has one", "[state]") {
  Random random{7};
  for (int life = 0; life < lives(20, 1'000); ++life) {
    const TemporaryFolder folder;
    const pid_t writer = ::fork();
    REQUIRE(writer >= 0);
    if (writer == 0) {
      const OpenStore store{folder};
      ::pause();
    }
    let_a_while_pass(random);
    REQUIRE(::kill(writer, SIGKILL) == 0);
    REQUIRE(::waitpid(writer, nullptr, 0) == writer);
    OpenStore store{folder};
    CHECK(store->identity().host_incarnation >= 1);
  }
}

}  // namespace sluice::state
