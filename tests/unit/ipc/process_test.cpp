// Goal: what a real process leaves behind when it dies at any instruction is a drain, never a
// repair (facts 3.6). Method: forked workers, killed at a named step or at a random moment.
// [process]: each test forks before it has a second thread, so it also runs under ThreadSanitizer.
#include <time.h>

#include <chrono>
#include <vector>

#include "forked_worker.hpp"
#include "scale.hpp"

namespace sluice::ipc::test {
namespace {

// Drains until nothing comes; every report must carry its own number. Returns how many came.
std::uint64_t drain_in_order(HostChannel& host, std::uint64_t expected) {
  std::vector<ReceivedReport> out(kReportsPerDrain);
  std::uint64_t came = 0;
  std::uint64_t misplaced = 0;
  for (;;) {
    const auto drained = host.drain(out);
    if (!drained) FAIL(drained.error().message());
    for (std::size_t i = 0; i < *drained; ++i, ++came) {
      if (out[i].report.slice_id != expected + came) ++misplaced;
    }
    if (*drained > 0) continue;
    REQUIRE(misplaced == 0);
    return came;
  }
}

}  // namespace

TEST_CASE("two processes: commands go and reports come back, once and in order", "[ipc][process]") {
  constexpr std::uint64_t kSlices = 20'000;
  auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
  ForkedWorker worker{
      host, [](WorkerChannel& channel) {
        std::array<Command, 64> commands;
        for (;;) {
          const auto count = channel.read(commands);
          if (!count) ::_exit(70);
          for (std::size_t i = 0; i < *count; ++i) {
            if (commands[i].kind == static_cast<std::uint16_t>(CommandKind::Stop)) return;
            if (!channel.report(make_report(ReportKind::Done, commands[i].slice_id))) ::_exit(71);
          }
          if (*count > 0 || channel.spin_for_commands()) continue;
          channel.prepare_to_sleep();
          pollfd entry{channel.doorbell_fd(), POLLIN, 0};
          if (!channel.has_commands()) ::poll(&entry, 1, -1);
          channel.woken();
        }
      }};
  std::uint64_t sent = 0;
  std::uint64_t came = 0;
  while (came < kSlices) {
    std::vector<Command> batch;
    while (sent < kSlices && sent - came < 500 && batch.size() < 32) {
      batch.push_back(make_command(CommandKind::Slice, sent++));
    }
    REQUIRE(host.publish(batch));
    came += drain_in_order(host, came);
    host.prepare_to_sleep();
    pollfd entry{host.doorbell_fd(), POLLIN, 0};
    if (!host.has_reports() && sent - came > 100) ::poll(&entry, 1, -1);
    host.woken();
  }
  const Command stop = make_command(CommandKind::Stop);
  REQUIRE(host.publish({&stop, 1}));
  const int status = worker.reap();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(drain_in_order(host, came) == 0);
}

TEST_CASE("a worker killed at any step of a publish leaves all of a report or nothing",
          "[ipc][process]") {
  constexpr std::size_t kWords = Slot<Report>::kWords;
  // Steps: before the arena, after it, after each word of the slot, after the tail.
  for (std::size_t step = 0; step <= kWords + 2; ++step) {
    auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
    const auto wild = map_wild(host);
    ForkedWorker worker{host, [&](WorkerChannel& channel) {
                          if (!channel.report(make_report(ReportKind::Done, 0))) ::_exit(70);
                          WorkerSegment& segment = *wild;
                          if (step == 0) ForkedWorker::stop_here();
                          segment.arena[1].words[0].store(0x7878787878787878);
                          if (step == 1) ForkedWorker::stop_here();
                          Report report = make_report(ReportKind::Done, 1);
                          report.seq = 1;
                          report.crc32c = slot_checksum(report);
                          Slot<Report> whole;
                          whole.store(report);
                          for (std::size_t word = 0; word < kWords; ++word) {
                            segment.reports[1].words[word].store(whole.words[word].load());
                            if (step == word + 2) ForkedWorker::stop_here();
                          }
                          segment.report_tail.store(2, std::memory_order_release);
                          ForkedWorker::stop_here();
                        }};
    REQUIRE(worker.await_step());
    worker.kill();
    CHECK(WTERMSIG(worker.reap()) == SIGKILL);
    const std::uint64_t came = drain_in_order(host, 0);
    CHECK(came == (step == kWords + 2 ? 2 : 1));
  }
}

TEST_CASE("a worker killed at a random moment leaves only sound reports, in order",
          "[ipc][process]") {
  const std::uint64_t kills = steps(60, 5'000);
  Chance chance{31};
  std::uint64_t came = 0;
  for (std::uint64_t i = 0; i < kills; ++i) {
    auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
    ForkedWorker worker{host, [](WorkerChannel& channel) {
                          ForkedWorker::here();
                          for (std::uint64_t id = 0;; ++id) {
                            if (!channel.report(make_report(ReportKind::Waiting, id), "text"))
                              ::_exit(70);
                          }
                        }};
    REQUIRE(worker.await_step());
    std::uint64_t drained = 0;
    // Every other one at its begin, when it may not have run again: on busy cores none has.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (i % 2 == 1 && drained == 0 && std::chrono::steady_clock::now() < give_up) {
      drained += drain_in_order(host, drained);
    }
    for (std::uint64_t turns = chance.below(100); turns > 0; --turns) {
      drained += drain_in_order(host, drained);
    }
    worker.kill();
    CHECK(WTERMSIG(worker.reap()) == SIGKILL);
    drained += drain_in_order(host, drained);
    came += drained;
  }
  CHECK(came >= kills / 2);
}

TEST_CASE("a worker that scribbles over its mapping of H kills itself, not the ring",
          "[ipc][process]") {
  auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
  const OwnedFd fd{duplicate(host.worker_fds().host_segment)};
  ForkedWorker worker{host, [&fd](WorkerChannel&) {
                        ::signal(SIGSEGV, SIG_DFL);
                        const auto mapped = attach_host_segment(fd.get(), kIncarnation);
                        if (!mapped) ::_exit(70);
                        const_cast<HostSegment*>(mapped->get())->command_tail.store(99);
                      }};
  const int status = worker.reap();
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
  const Command command = make_command(CommandKind::Slice);
  CHECK(host.publish({&command, 1}));
  CHECK(drain_in_order(host, 0) == 0);
}

}  // namespace sluice::ipc::test
