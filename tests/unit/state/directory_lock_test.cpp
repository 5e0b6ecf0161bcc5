// slicer.md S8: one host per state directory; the lock lives as long as the last process that has
// it.
#include "host/state/directory_lock.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <thread>

#include "unit/temporary_folder.hpp"

namespace sluice::state {
namespace {

/// A process that runs `body`, says so, and lives until it is killed or told to end.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<void()>& body) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      body();
      if (::write(ready[1], "", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
  }
  ~OtherProcess() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("a second host is refused, naming the pid of the first", "[state]") {
  const TemporaryFolder folder;
  OtherProcess host{[&] { new DirectoryLock{DirectoryLock::try_acquire(folder.path()).value()}; }};
  const auto lock = DirectoryLock::try_acquire(folder.path());
  REQUIRE_FALSE(lock.has_value());
  CHECK(lock.error().code() == ErrorCode::Refused);
  CHECK(lock.error().message() == "state directory: " + folder.path().string() +
                                      ": is in use by pid " + std::to_string(host.pid()) +
                                      "; stop that host, or name another state.dir");
  host.kill();
  CHECK(DirectoryLock::try_acquire(folder.path()).has_value());
}

TEST_CASE("the lock outlives its host in a worker that inherited it, and names the worker",
          "[state]") {
  const TemporaryFolder folder;
  std::optional<DirectoryLock> host{DirectoryLock::try_acquire(folder.path()).value()};
  OtherProcess worker{[] {}};  // has the open description by fork, as by posix_spawn's dup2
  host.reset();
  const auto lock = DirectoryLock::try_acquire(folder.path());
  REQUIRE_FALSE(lock.has_value());
  CHECK(lock.error().message().find("by pid " + std::to_string(worker.pid()) + ";") !=
        std::string::npos);
  worker.kill();
  CHECK(DirectoryLock::try_acquire(folder.path()).has_value());
}

TEST_CASE("a host that hides its descriptors is named to its own user all the same", "[state]") {
  const TemporaryFolder folder;
  const auto without_rights = [&] {
    constexpr uid_t kNobody = 65'534;
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(3);
  };
  if (::geteuid() == 0) REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  OtherProcess host{[&] {
    without_rights();
    new DirectoryLock{DirectoryLock::try_acquire(folder.path()).value()};
    ::prctl(PR_SET_DUMPABLE, 0);
  }};
  const pid_t second = ::fork();
  REQUIRE(second >= 0);
  if (second == 0) {
    without_rights();
    const auto pids = lock_holders(folder.path() / "lock");
    ::_exit(pids == std::vector<pid_t>{host.pid()} ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(second, &status, 0) == second);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("one that only waits for the lock is not named as its holder", "[state]") {
  const TemporaryFolder folder;
  const DirectoryLock host = DirectoryLock::try_acquire(folder.path()).value();
  const auto waiting = ::open((folder.path() / "lock").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(waiting >= 0);
  CHECK(lock_holders(folder.path() / "lock") == std::vector<pid_t>{::getpid()});
  ::close(waiting);
}

TEST_CASE("a waiting host tells once whom it waits for, and goes on when they are gone",
          "[state]") {
  const TemporaryFolder folder;
  OtherProcess host{[&] { new DirectoryLock{DirectoryLock::try_acquire(folder.path()).value()}; }};
  std::vector<std::string> told;
  const auto lock =
      DirectoryLock::acquire(folder.path(), std::chrono::hours{1}, [&](const std::string& whom) {
        told.push_back(whom);
        host.kill();
      });
  CHECK(lock.has_value());
  CHECK(told.size() == 1);
}

TEST_CASE("a lock that was moved from frees nothing", "[state]") {
  const TemporaryFolder folder;
  DirectoryLock first = DirectoryLock::try_acquire(folder.path()).value();
  {
    const DirectoryLock second{std::move(first)};
    CHECK_FALSE(DirectoryLock::try_acquire(folder.path()).has_value());
  }
  CHECK(DirectoryLock::try_acquire(folder.path()).has_value());
}

}  // namespace sluice::state
