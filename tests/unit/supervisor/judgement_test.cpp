// Whom a death accuses (slicer.md F1, F2): the matrix of what can end a worker.
#include "host/supervisor/judgement.hpp"

#include <signal.h>

#include <catch2/catch.hpp>

#include "unit/supervisor/fixture.hpp"

namespace sluice::supervisor {
namespace {

LastWords words(ExitStatus::Kind kind, int code) {
  LastWords said;
  said.status = {kind, code};
  said.pid = 100;
  said.pulse = ipc::Pulse{};
  said.pulse->phase = ipc::Phase::Put;
  said.pulse->slice_id = 7;
  said.pulse->offset = 1'500;
  return said;
}

ipc::CrashNote note(int signal, ipc::CrashThread thread, int sender = 0) {
  ipc::CrashNote crash;
  crash.signal = signal;
  crash.thread = thread;
  crash.sender = sender;
  crash.slice_id = 8;
  crash.offset = 1'600;
  crash.phase = ipc::Phase::Process;
  return crash;
}

}  // namespace

TEST_CASE("a fault on the task thread can blame a record", "[supervisor]") {
  const int signal = GENERATE(SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT);
  LastWords said = words(ExitStatus::Kind::Signalled, signal);
  said.note = note(signal, ipc::CrashThread::Task);
  const Accusation accusation = judge(said);
  CHECK(accusation.cause == LossCause::Crash);
  CHECK(accusation.blame == slicer::Blame::Record);
  CHECK(accusation.slice_id == 8);  // the note knows better than the last pulse that was read
  CHECK(accusation.phase == ipc::Phase::Process);
  CHECK(accusation.code == signal);
}

TEST_CASE("an accusation has the plugin's place from the note, else from the pulse",
          "[supervisor]") {
  LastWords said = words(ExitStatus::Kind::Signalled, SIGSEGV);
  said.pulse->plugin_place = 2;
  CHECK(judge(said).plugin_place == 2);
  said.note = note(SIGSEGV, ipc::CrashThread::Task);
  said.note->plugin_place = 1;
  CHECK(judge(said).plugin_place == 1);
}

TEST_CASE("a fault on another thread blames nobody", "[supervisor]") {
  LastWords said = words(ExitStatus::Kind::Signalled, SIGSEGV);
  said.note = note(SIGSEGV, ipc::CrashThread::Other);
  CHECK(judge(said).cause == LossCause::Crash);
  CHECK(judge(said).blame == slicer::Blame::Environment);
}

TEST_CASE("a fault without a note is judged by the last pulse", "[supervisor]") {
  const Accusation accusation = judge(words(ExitStatus::Kind::Signalled, SIGSEGV));
  CHECK(accusation.blame == slicer::Blame::Record);
  CHECK(accusation.slice_id == 7);
  CHECK(accusation.offset == 1'500);
}

TEST_CASE("a fault signal that another process sent is not the plugin's", "[supervisor]") {
  LastWords said = words(ExitStatus::Kind::Signalled, SIGSEGV);
  said.note = note(SIGSEGV, ipc::CrashThread::Task, 4'711);
  CHECK(judge(said).cause == LossCause::Killed);
  CHECK(judge(said).blame == slicer::Blame::Environment);
  said.note->sender = said.pid;  // abort() and raise() send to themselves
  CHECK(judge(said).blame == slicer::Blame::Record);
}

TEST_CASE("SIGKILL and other signals that are not ours are the environment", "[supervisor]") {
  const int signal = GENERATE(SIGKILL, SIGTERM, SIGXCPU, SIGPIPE);
  const Accusation accusation = judge(words(ExitStatus::Kind::Signalled, signal));
  CHECK(accusation.cause == LossCause::Killed);
  CHECK(accusation.blame == slicer::Blame::Environment);
  CHECK(accusation.slice_id == 7);  // named, for attempts in a row (F2)
}

TEST_CASE("exit codes are the environment", "[supervisor]") {
  const int code = GENERATE(0, 1, 75, 78);
  const Accusation accusation = judge(words(ExitStatus::Kind::Exited, code));
  CHECK(accusation.cause == LossCause::Exit);
  CHECK(accusation.blame == slicer::Blame::Environment);
}

TEST_CASE("only exit code 0 on request is no failure", "[supervisor]") {
  LastWords said = words(ExitStatus::Kind::Exited, 0);
  said.asked_to_stop = true;
  CHECK(judge(said).cause == LossCause::Stopped);
  said.status.code = 1;
  CHECK(judge(said).cause == LossCause::Exit);
}

TEST_CASE("a hang in a plugin call blames the record, if Kafka answers", "[supervisor]") {
  const auto phase =
      GENERATE(ipc::Phase::Process, ipc::Phase::Put, ipc::Phase::Flush, ipc::Phase::State);
  LastWords said = words(ExitStatus::Kind::Signalled, SIGABRT);
  said.pulse->phase = phase;
  said.ending = Ending{LossCause::Hang, "no answer from put for 60 s"};
  CHECK(judge(said).cause == LossCause::Hang);
  CHECK(judge(said).blame == slicer::Blame::Record);
  said.kafka = KafkaState::Away;
  CHECK(judge(said).blame == slicer::Blame::Environment);
}

TEST_CASE("a process that somebody has stopped hangs without blaming a record", "[supervisor]") {
  LastWords said = words(ExitStatus::Kind::Signalled, SIGKILL);
  said.ending = Ending{LossCause::Hang, "no answer from put for 60 s", Stall::Stopped};
  CHECK(judge(said).blame == slicer::Blame::Environment);
  CHECK(judge(said).slice_id == 7);
  said.ending->stall = Stall::Spinning;
  CHECK(judge(said).blame == slicer::Blame::Record);
}

TEST_CASE("a hang outside of plugin calls blames nobody", "[supervisor]") {
  const auto phase = GENERATE(ipc::Phase::Idle, ipc::Phase::Fetch, ipc::Phase::Wait,
                              ipc::Phase::Start, ipc::Phase::Stop);
  LastWords said = words(ExitStatus::Kind::Signalled, SIGKILL);
  said.pulse->phase = phase;
  said.ending = Ending{LossCause::Hang, "its loop stands still"};
  CHECK(judge(said).cause == LossCause::Hang);
  CHECK(judge(said).blame == slicer::Blame::Environment);
}

TEST_CASE("what we kill for other reasons blames no record", "[supervisor]") {
  const auto cause = GENERATE(LossCause::Violation, LossCause::Memory, LossCause::StopTimeout);
  LastWords said = words(ExitStatus::Kind::Signalled, SIGKILL);
  said.ending = Ending{cause, "why"};
  CHECK(judge(said).cause == cause);
  CHECK(judge(said).blame == slicer::Blame::Environment);
}

TEST_CASE("a crash is told with the place in the plugin, not in the library it called",
          "[supervisor]") {
  LastWords said = words(ExitStatus::Kind::Signalled, SIGSEGV);
  said.note = note(SIGSEGV, ipc::CrashThread::Task);
  said.note->frames = {{"/lib/x86_64-linux-gnu/libc.so.6", "", 0x10},
                       {"/opt/plugins/fragile_processor.so", "", 0x1a2b},
                       {"/usr/bin/sluice-worker", "", 0x99}};
  CHECK(judge(said).text == "SIGSEGV in process at fragile_processor.so+0x1a2b");
  said.note->frames.clear();
  CHECK(judge(said).text == "SIGSEGV in process");
  said.note->frames = {{"", "", 0xdead}};
  CHECK(judge(said).text == "SIGSEGV in process");
}

}  // namespace sluice::supervisor
