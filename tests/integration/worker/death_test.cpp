// How a real worker process ends, and what it leaves behind for its host.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "integration/worker/mock_topic.hpp"
#include "ipc/failure_text.hpp"

namespace sluice::integration {

using ipc::Phase;
using ipc::ReportKind;
using rig::RunningWorker;
using supervisor::ExitStatus;

namespace {

ExitStatus exited(int code) {
  return {ExitStatus::Kind::Exited, code};
}
ExitStatus killed(int signal) {
  return {ExitStatus::Kind::Signalled, signal};
}

bool is_in_put_of(RunningWorker& worker, std::uint64_t slice_id) {
  const ipc::Pulse pulse = worker.channel().pulse();
  return pulse.phase == Phase::Put && pulse.slice_id == slice_id;
}

std::string failure_text(const RunningWorker& worker) {
  const auto* failed = worker.find(ReportKind::Failed, 0);
  REQUIRE(failed != nullptr);
  CHECK(failed->report.failure == static_cast<std::uint16_t>(ipc::FailureClass::Configuration));
  const ipc::FailureText text = ipc::decode_failure_text(failed->text);
  return text.plugin + "/" + text.stage + ": " + text.message;
}

}  // namespace

TEST_CASE("a crash of a plugin leaves signal, phase, slice and offset behind", "[mock]") {
  MockTopic topic{1};
  topic.produce(0, {"one", "two", "crash"});
  topic.flush();
  RunningWorker worker{topic.parameters("fault")};
  worker.order({.id = 7, .start = 1, .end = 3});
  REQUIRE(worker.wait_for_exit());
  CHECK(worker.exit->status == killed(SIGSEGV));
  const auto note = worker.channel().crash_note();
  REQUIRE(note.has_value());
  CHECK(note->signal == SIGSEGV);
  CHECK(note->phase == Phase::Put);
  CHECK(note->slice_id == 7);
  // The batch in hand begins at 1, or at 2 where the two records came in two fetches.
  CHECK(note->offset >= 1);
  CHECK(note->offset + note->position == 2);
  CHECK(worker.count(ReportKind::Done) == 0);
}

TEST_CASE("a hang shows in the pulse: the same call, slice and offset, and a loop that stands",
          "[mock]") {
  MockTopic topic{1};
  topic.produce(0, {"hang"});  // alone: two records may come in two batches
  topic.flush();
  RunningWorker worker{topic.parameters("fault")};
  worker.order({.id = 7, .start = 0, .end = 1});
  REQUIRE(worker.wait_until([&] { return is_in_put_of(worker, 7); }));
  const ipc::Pulse before = worker.channel().pulse();
  worker.pump(300);
  const ipc::Pulse after = worker.channel().pulse();
  CHECK(after.loops == before.loops);
  CHECK(after.phase_since_ns == before.phase_since_ns);
  CHECK(after.offset == 0);
  worker.kill(SIGABRT);  // as the supervisor does first: frames for the report
  REQUIRE(worker.wait_for_exit());
  CHECK(worker.exit->status == killed(SIGABRT));
  CHECK(worker.channel().crash_note()->slice_id == 7);
}

TEST_CASE("a worker ends when its host is gone, also while a plugin hangs", "[mock]") {
  MockTopic topic{1};
  topic.produce(0, {"hang"});
  topic.flush();
  RunningWorker worker{topic.parameters("fault")};
  worker.order({.id = 1, .start = 0, .end = 1});
  REQUIRE(worker.wait_until([&] { return is_in_put_of(worker, 1); }));
  worker.close_alive_pipe();
  REQUIRE(worker.wait_for_exit());
  CHECK(worker.exit->status == exited(75));
}

TEST_CASE("SIGKILL of the host process takes its workers along", "[mock]") {
  int to_host[2];
  int from_host[2];
  REQUIRE(::pipe(to_host) == 0);
  REQUIRE(::pipe(from_host) == 0);
  // Before there is a second thread, whose locks the child would have and nobody would release.
  const pid_t host = ::fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    ::close(to_host[1]);
    std::string bytes;
    for (char byte = 0; ::read(to_host[0], &byte, 1) == 1;) bytes += byte;
    const auto parameters = worker::decode(bytes);
    if (!parameters) ::_exit(1);
    RunningWorker worker{*parameters};
    worker.order({.id = 1, .start = 0, .end = 1});
    worker.wait_until([&] { return is_in_put_of(worker, 1); });
    const pid_t pid = worker.pid();
    [[maybe_unused]] const ssize_t told = ::write(from_host[1], &pid, sizeof pid);
    for (;;) ::pause();
  }
  ::close(to_host[0]);
  ::close(from_host[1]);
  MockTopic topic{1};
  topic.produce(0, {"hang"});
  topic.flush();
  auto parameters = topic.parameters("fault");
  parameters.incarnation = 1;
  const std::string bytes = worker::encode(parameters);
  REQUIRE(::write(to_host[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::close(to_host[1]);
  pid_t worker = 0;
  REQUIRE(::read(from_host[0], &worker, sizeof worker) == sizeof worker);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, worker, 0));
  REQUIRE(pidfd >= 0);
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  pollfd ended{pidfd, POLLIN, 0};
  CHECK(::poll(&ended, 1, 60'000) == 1);
  ::close(pidfd);
  ::close(from_host[0]);
}

TEST_CASE("a worker does not react to the signals that are meant for its host", "[mock]") {
  MockTopic topic{1};
  topic.produce(0, {"one"});
  topic.flush();
  RunningWorker worker{topic.parameters("fault")};
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Ready) == 1; }));
  worker.kill(SIGTERM);
  worker.kill(SIGINT);
  worker.kill(SIGHUP);
  worker.order({.id = 1, .start = 0, .end = 1});
  CHECK(worker.wait_until([&] { return worker.count(ReportKind::Done) == 1; }));
}

TEST_CASE("a wrong setting is reported with its key and exits 78", "[mock]") {
  MockTopic topic{1};
  RunningWorker worker{topic.parameters("ledger", {{"fil", "x"}, {"start.action", "throw"}})};
  REQUIRE(worker.wait_for_exit());
  CHECK(worker.exit->status == exited(78));
  CHECK(failure_text(worker) ==
        "ledger/configure: fil: is not known to ledger; did you mean file?; "
        "start.action: is not known to ledger");
}

TEST_CASE("a configuration error that the plugin finds at start exits 78", "[mock]") {
  MockTopic topic{1};
  RunningWorker worker{topic.parameters("fault", {{"start.action", "config"}})};
  REQUIRE(worker.wait_for_exit());
  CHECK(worker.exit->status == exited(78));
  CHECK_THAT(failure_text(worker), Catch::StartsWith("fault/start: "));
}

TEST_CASE("a start that throws exits 75", "[mock]") {
  MockTopic topic{1};
  RunningWorker worker{topic.parameters("fault", {{"start.action", "throw"}})};
  REQUIRE(worker.wait_for_exit());
  CHECK(worker.exit->status == exited(75));
}

TEST_CASE("a plugin file that is not the pinned one is not loaded: 78", "[mock]") {
  MockTopic topic{1};
  auto parameters = topic.parameters("ledger");
  parameters.plugins.front().sha256 = std::string(64, '0');
  RunningWorker worker{std::move(parameters)};
  REQUIRE(worker.wait_for_exit());
  CHECK(worker.exit->status == exited(78));
  CHECK_THAT(failure_text(worker), Catch::Contains("the job is pinned to 0000"));
}

TEST_CASE("a secret is resolved in the worker, and one that is missing is named and exits 78",
          "[mock]") {
  MockTopic topic{1};
  RunningWorker worker{topic.parameters("ledger", {{"file", "${env:SLUICE_TEST_NOT_SET}"}})};
  REQUIRE(worker.wait_for_exit());
  CHECK(worker.exit->status == exited(78));
  CHECK_THAT(failure_text(worker), Catch::Contains("SLUICE_TEST_NOT_SET"));
}

TEST_CASE("while a plugin runs, the host's segment is read-only and no segment's fd is open",
          "[mock]") {
  MockTopic topic{1};
  RunningWorker worker{topic.parameters("ledger")};
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Ready) == 1; }));
  const std::string proc = "/proc/" + std::to_string(worker.pid());
  for (const int fd : {3, 4, 5}) {
    std::error_code none;
    const auto target = std::filesystem::read_symlink(proc + "/fd/" + std::to_string(fd), none);
    CHECK_THAT(target.string(), !Catch::Contains("memfd"));
  }
  std::ifstream maps{proc + "/maps"};
  std::size_t shared_writable = 0, shared_readonly = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd") == std::string::npos) continue;
    if (line.find(" rw-s ") != std::string::npos) ++shared_writable;
    if (line.find(" r--s ") != std::string::npos) ++shared_readonly;
  }
  CHECK(shared_writable == 1);
  CHECK(shared_readonly == 1);
  std::ifstream score{proc + "/oom_score_adj"};
  int points = 0;
  score >> points;
  CHECK(points == 500);
  std::ifstream status{proc + "/status"};
  std::stringstream text;
  text << status.rdbuf();
  CHECK_THAT(text.str(), Catch::Contains("NoNewPrivs:\t1"));
  std::ifstream limits{proc + "/limits"};
  std::stringstream all_limits;
  all_limits << limits.rdbuf();
  CHECK_THAT(all_limits.str(), Catch::Matches("(.|\\n)*Max core file size +0 +0(.|\\n)*"));
}

}  // namespace sluice::integration
