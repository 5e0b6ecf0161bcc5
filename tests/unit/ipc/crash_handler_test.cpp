// Goal: whatever kills a worker from inside leaves a note that names signal, phase, slice and
// frames, and the process still dies of its own signal. Method: forked workers that crash on
// purpose.
#include "ipc/crash_handler.hpp"

#include <thread>

#include "forked_worker.hpp"

namespace sluice::ipc::test {
namespace {

// Crashes must survive the optimiser: addresses come through a volatile.
volatile std::uintptr_t wild_address = 0x1000;

[[gnu::noinline]] void write_to_nowhere() {
  *reinterpret_cast<volatile int*>(wild_address) = 1;
}

[[gnu::noinline]] int recurse_for_ever(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  if (depth < 0) return frame[0];
  return recurse_for_ever(depth + 1) + frame[0];
}

struct Ended {
  int signal = 0;
  CrashNote note;
};

void install(WorkerChannel& channel) {
  if (!install_crash_handler(channel)) ::_exit(97);
  channel.pulse().call_into(2);
  channel.pulse().enter(Phase::Put, 4711, 1000);
  *channel.pulse().position_word() = 12;
}

Ended crash(const std::function<void()>& how) {
  auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
  ForkedWorker worker{host, [&how](WorkerChannel& channel) {
                        install(channel);
                        how();
                      }};
  const int status = worker.reap();
  REQUIRE(WIFSIGNALED(status));
  const auto note = host.crash_note();
  REQUIRE(note);
  CHECK(readable(host.doorbell_fd()));
  CHECK(note->signal == WTERMSIG(status));
  CHECK(note->phase == Phase::Put);
  CHECK(note->slice_id == 4711);
  CHECK(note->offset == 1000);
  CHECK(note->position == 12);
  CHECK(note->plugin_place == 3);
  return {WTERMSIG(status), *note};
}

bool names_this_program(const CrashNote& note) {
  for (const CrashFrame& frame : note.frames) {
    if (frame.module.find("unit_ipc") != std::string::npos && frame.offset > 0) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a wild pointer leaves a note with the address and the frames of the culprit",
          "[ipc][process]") {
  const Ended ended = crash(write_to_nowhere);
  CHECK(ended.signal == SIGSEGV);
  CHECK(ended.note.state == CrashState::Complete);
  CHECK(ended.note.address == wild_address);
  CHECK(ended.note.sender == 0);
  CHECK(ended.note.thread == CrashThread::Task);
  REQUIRE(ended.note.frames.size() > 2);
  CHECK(ended.note.frames[0].module.find("unit_ipc") != std::string::npos);
  CHECK(ended.note.frames.size() <= kCrashFramesMax);
}

TEST_CASE("a note names the record's own offset, also behind holes", "[ipc][process]") {
  auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
  ForkedWorker worker{host, [](WorkerChannel& channel) {
                        install(channel);
                        std::array<std::array<std::int64_t, 4>, 20> records{};
                        for (std::size_t i = 0; i < records.size(); ++i) {
                          records[i][2] = 1'000 + static_cast<std::int64_t>(i) * 7;
                        }
                        hold_offsets(&records[0][2], sizeof(records[0]), records.size());
                        write_to_nowhere();
                      }};
  const int status = worker.reap();
  REQUIRE(WIFSIGNALED(status));
  const auto note = host.crash_note();
  REQUIRE(note);
  CHECK(note->offset == 1'000 + 12 * 7);
  CHECK(note->position == 0);
}

TEST_CASE("a stack overflow leaves a note, because the handler has a stack of its own",
          "[ipc][process]") {
  const Ended ended = crash([] { recurse_for_ever(0); });
  CHECK(ended.signal == SIGSEGV);
  CHECK(ended.note.state == CrashState::Complete);
  CHECK(ended.note.frames.size() == kCrashFramesMax);
  CHECK(names_this_program(ended.note));
}

TEST_CASE("abort leaves a note whose frames reach the caller", "[ipc][process]") {
  const Ended ended = crash([] { std::abort(); });
  CHECK(ended.signal == SIGABRT);
  CHECK(ended.note.thread == CrashThread::Task);
  CHECK(names_this_program(ended.note));
}

TEST_CASE("a jump into nowhere leaves a note that says where, and who jumped", "[ipc][process]") {
  const Ended ended = crash([] { reinterpret_cast<void (*)()>(wild_address)(); });
  CHECK(ended.signal == SIGSEGV);
  REQUIRE_FALSE(ended.note.frames.empty());
  CHECK(ended.note.frames[0].module.empty());
  CHECK(ended.note.frames[0].offset == wild_address);
  CHECK(ended.note.state == CrashState::Complete);
  CHECK(names_this_program(ended.note));
}

TEST_CASE("a SIGABRT of the host finds the hung task thread and names the sender",
          "[ipc][process]") {
  auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
  ForkedWorker worker{host, [](WorkerChannel& channel) {
                        install(channel);
                        ForkedWorker::stop_here();
                      }};
  REQUIRE(worker.await_step());
  worker.signal(SIGABRT);
  CHECK(WTERMSIG(worker.reap()) == SIGABRT);
  const auto note = host.crash_note();
  REQUIRE(note);
  CHECK(note->sender == ::getpid());
  CHECK(note->address == 0);
  CHECK(note->thread == CrashThread::Task);
  CHECK(names_this_program(*note));
}

TEST_CASE("a crash of a thread that is not the task thread is told apart", "[ipc][process]") {
  const Ended ended = crash([] { std::thread{write_to_nowhere}.join(); });
  CHECK(ended.signal == SIGSEGV);
  CHECK(ended.note.thread == CrashThread::Other);
}

TEST_CASE("frames carry the build id of their module where it has one", "[ipc][process]") {
  const Ended ended = crash([] { std::abort(); });
  bool any = false;
  for (const CrashFrame& frame : ended.note.frames) {
    any = any || (frame.module.find("libc") != std::string::npos && frame.build_id.size() == 40);
  }
  CHECK(any);
}

TEST_CASE("a worker that ends without a crash leaves no note", "[ipc][process]") {
  auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
  ForkedWorker worker{host, [](WorkerChannel& channel) { install(channel); }};
  CHECK(WIFEXITED(worker.reap()));
  CHECK_FALSE(host.crash_note());
}

TEST_CASE("a worker killed by SIGKILL leaves no note", "[ipc][process]") {
  auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
  ForkedWorker worker{host, [](WorkerChannel& channel) {
                        install(channel);
                        ForkedWorker::stop_here();
                      }};
  REQUIRE(worker.await_step());
  worker.kill();
  worker.reap();
  CHECK_FALSE(host.crash_note());
}

}  // namespace sluice::ipc::test
