// Goal: a worker begins with exactly what it should have, ends as what it is, and leaves nothing
// behind in the host (facts 3.8; slicer.md S8).
#include "host/supervisor/spawner.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "spawned_probe.hpp"

namespace sluice::supervisor::test {
namespace {

struct Belongings {
  std::size_t descriptors = 0;
  std::size_t shared_mappings = 0;
  std::uint32_t threads = 0;
  bool operator==(const Belongings&) const = default;
};

Belongings belongings() {
  namespace fs = std::filesystem;
  Belongings found;
  found.descriptors = static_cast<std::size_t>(
      std::distance(fs::directory_iterator{"/proc/self/fd"}, fs::directory_iterator{}));
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:sluice") != std::string::npos) ++found.shared_mappings;
  }
  found.threads = require(sample_process(::getpid())).threads;
  return found;
}

ipc::OwnedFd lock_file(const std::string& path) {
  return ipc::OwnedFd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
}

}  // namespace

TEST_CASE("a worker begins with descriptors 0 to 10 and no other", "[supervisor][process]") {
  const ipc::OwnedFd lock{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  const ipc::OwnedFd not_for_the_worker{::open("/dev/null", O_RDWR)};  // not close-on-exec
  SpawnedProbe probe{"descriptors", lock.get()};
  CHECK(probe.read_output() == "0 1 2 3 4 5 6 7 8 9 10 ");
  CHECK(probe.await_end().status == ExitStatus{});
}

TEST_CASE("a worker of a job without a state directory has no descriptor 10",
          "[supervisor][process]") {
  SpawnedProbe probe{"descriptors"};
  CHECK(probe.read_output() == "0 1 2 3 4 5 6 7 8 9 ");
}

TEST_CASE("each descriptor is the right one, although the host's have the same numbers",
          "[supervisor][process]") {
  SpawnedProbe probe{"report"};
  const ReapedWorker reaped = probe.await_end();
  CHECK(reaped.status == ExitStatus{});
  std::array<ipc::ReceivedReport, 4> out;
  const auto drained = probe.channel.drain(out);
  REQUIRE(drained.has_value());
  CHECK(*drained == 1);
  CHECK(out[0].report.kind == static_cast<std::uint16_t>(ipc::ReportKind::Ready));
}

TEST_CASE("a worker has default signals, those of a terminal blocked, and a group of its own",
          "[supervisor][process]") {
  sigset_t host_mask, before;
  ::sigfillset(&host_mask);
  ::pthread_sigmask(SIG_BLOCK, &host_mask, &before);  // as a host with a signalfd has it
  auto* const old_handler = ::signal(SIGPIPE, SIG_IGN);
  SpawnedProbe probe{"signals"};
  ::signal(SIGPIPE, old_handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(probe.read_output() == "SigBlk:\t0000000000004003");  // SIGHUP 1, SIGINT 2, SIGTERM 15
  const std::string ignored = probe.read_output();
  REQUIRE(ignored.rfind("SigIgn:\t", 0) == 0);
  // 32 and 33 are glibc's own, which posix_spawn leaves ignored.
  CHECK((std::strtoull(ignored.c_str() + 8, nullptr, 16) & 0x7fffffffU) == 0);
  CHECK(probe.read_output() == "own group");
}

TEST_CASE("ps shows a worker under its title", "[supervisor][process]") {
  SpawnedProbe probe{"title"};
  CHECK(probe.read_output() == "sluice-worker: orders/1");
}

TEST_CASE("log lines and output reach the host by pipes of their own", "[supervisor][process]") {
  SpawnedProbe probe{"log"};
  CHECK(SpawnedProbe::read_line(probe.worker().log_pipe) == "one line");
  CHECK(probe.await_end().status == ExitStatus{});
  CHECK(probe.read_output().empty());  // end of file
}

TEST_CASE("a full log pipe does not block the worker", "[supervisor][process]") {
  SpawnedProbe probe{"flood"};
  CHECK(probe.await_end().status == ExitStatus{});
}

TEST_CASE("a worker learns of the host's death from its pipe", "[supervisor][process]") {
  SpawnedProbe probe{"host death"};
  REQUIRE(probe.read_output() == "ready");
  probe.alive.write_end.reset();
  CHECK(probe.await_end().status == ExitStatus{});
}

TEST_CASE("the state directory stays locked until the last worker is gone",
          "[supervisor][process]") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("sluice-lock-" + std::to_string(::getpid())))
          .string();
  ipc::OwnedFd held = lock_file(path);
  REQUIRE(::flock(held.get(), LOCK_EX | LOCK_NB) == 0);
  SpawnedProbe probe{"wait", held.get()};
  REQUIRE(probe.read_output() == "ready");
  held.reset();
  const ipc::OwnedFd next = lock_file(path);
  CHECK(::flock(next.get(), LOCK_EX | LOCK_NB) == -1);
  probe.signal(SIGKILL);
  probe.await_end();
  CHECK(::flock(next.get(), LOCK_EX | LOCK_NB) == 0);
  std::filesystem::remove(path);
}

TEST_CASE("an executable that cannot be run is an error that names it", "[supervisor][process]") {
  auto channel = require(ipc::HostChannel::create(1, 77));
  auto alive = require(create_host_alive_pipe());
  for (const char* const executable : {"/nowhere/sluice-worker", "/dev/null"}) {
    const auto spawned = spawn_worker(
        {executable, "sluice-worker", channel.worker_fds(), "wait", alive.read_end.get(), -1});
    REQUIRE_FALSE(spawned.has_value());
    CHECK(spawned.error().message().find(executable) != std::string::npos);
  }
}

TEST_CASE("an exit code, a fault and a kill are told apart", "[supervisor][process]") {
  SpawnedProbe exits{"exit 75"};
  CHECK(exits.await_end().status == ExitStatus{ExitStatus::Kind::Exited, kExitTryAgain});
  SpawnedProbe faults{"segfault"};
  CHECK(faults.await_end().status == ExitStatus{ExitStatus::Kind::Signalled, SIGSEGV});
  SpawnedProbe killed{"wait"};
  REQUIRE(killed.read_output() == "ready");
  CHECK_FALSE(require(try_reap(killed.worker().pidfd.get())).has_value());
  killed.signal(SIGKILL);
  CHECK(killed.await_end().status == ExitStatus{ExitStatus::Kind::Signalled, SIGKILL});
}

TEST_CASE("a process is reaped once and can be signalled until then", "[supervisor][process]") {
  SpawnedProbe probe{"exit 75"};
  await_readable(probe.worker().pidfd.get());
  CHECK(send_signal(probe.worker().pidfd.get(), SIGKILL).has_value());  // ended, not reaped
  probe.await_end();
  CHECK_FALSE(try_reap(probe.worker().pidfd.get()).has_value());
  CHECK_FALSE(send_signal(probe.worker().pidfd.get(), SIGKILL).has_value());
}

TEST_CASE("200 workers spawned and killed leave the host with what it had before",
          "[supervisor][process]") {
  { SpawnedProbe first{"wait"}; }
  const Belongings before = belongings();
  for (int i = 0; i < 200; ++i) {
    SpawnedProbe probe{"wait"};
    if (i % 2 == 0) probe.signal(SIGKILL);
    if (i % 2 == 0) probe.await_end();
  }
  const Belongings after = belongings();
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.shared_mappings == before.shared_mappings);
  CHECK(after.threads == before.threads);
}

}  // namespace sluice::supervisor::test
