// States, deadlines, back-off (sdk.md "Supervision design", slicer.md F4, F7, ipc facts 3.6).
#include <signal.h>

#include <catch2/catch.hpp>

#include "unit/supervisor/fixture.hpp"

namespace sluice::supervisor {
namespace {

SupervisorOptions slots(std::uint32_t count) {
  SupervisorOptions options;
  options.slots = count;
  return options;
}

}  // namespace

TEST_CASE("every slot is started once, with an incarnation of its own", "[supervisor]") {
  SupervisorFixture world{slots(3)};
  CHECK(world.count<Spawn>() == 3);
  CHECK(world.incarnation(0) != world.incarnation(1));
  CHECK(world.state(0) == WorkerState::Spawning);
  world.come_up(0);
  CHECK(world.state(0) == WorkerState::Ready);
  world.work(0, ipc::Phase::Put);
  CHECK(world.state(0) == WorkerState::Running);
}

TEST_CASE("a worker is lost only when it is reaped, whatever else is known before",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.note(0, SIGSEGV);
  CHECK(world.state(0) == WorkerState::Crashed);
  world.pass(5'000);
  CHECK(world.count<Lost>() == 0);
  CHECK(world.count<Spawn>() == 1);
  world.reap_signal(0, SIGSEGV);
  CHECK(world.count<Lost>() == 1);
  CHECK(world.state(0) == WorkerState::Waiting);
}

TEST_CASE("the back-off of a replacement runs from the crash note, its spawn from the reap",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.note(0, SIGSEGV);
  world.pass(3'600);  // a core file of 512 MB
  world.reap_signal(0, SIGSEGV);
  world.tick(1);
  CHECK(world.count<Spawn>() == 2);
}

TEST_CASE("respawns back off from 0.2 s, doubling to a minute", "[supervisor]") {
  SupervisorFixture world;
  std::int64_t expected = 200;
  for (int losses = 0; losses < 12; ++losses) {
    world.come_up(0);
    world.reap_signal(0, SIGKILL);
    const auto wait = (*world.supervisor.status(0).respawn_at - world.now).count();
    CHECK(wait >= expected);
    CHECK(wait <= expected + expected / 4);
    world.pass(wait + 100);
    CHECK(world.state(0) == WorkerState::Spawning);
    expected = std::min<std::int64_t>(60'000, expected * 2);
  }
  CHECK(world.supervisor.status(0).restarts == 12);
}

TEST_CASE("10 healthy minutes begin the back-off anew (F4)", "[supervisor]") {
  SupervisorFixture world;
  for (int losses = 0; losses < 6; ++losses) {
    world.come_up(0);
    world.reap_signal(0, SIGKILL);
    world.pass(20'000);
  }
  world.come_up(0);
  world.work(0, ipc::Phase::Idle, 0);
  for (int i = 0; i < 6'000; ++i) world.tick(100);
  CHECK(world.supervisor.status(0).losses_in_a_row == 0);
  world.reap_signal(0, SIGKILL);
  CHECK((*world.supervisor.status(0).respawn_at - world.now).count() <= 250);
}

TEST_CASE("one slot's crash loop does not hold back another slot's respawn", "[supervisor]") {
  SupervisorFixture world{slots(2)};
  world.come_up(1);
  for (int losses = 0; losses < 8; ++losses) {
    world.come_up(0);
    world.reap_signal(0, SIGSEGV);
    world.pass(60'000);
  }
  world.reap_signal(1, SIGKILL);
  CHECK((*world.supervisor.status(1).respawn_at - world.now).count() <= 250);
}

TEST_CASE("a call over its deadline gets SIGABRT, and SIGKILL 100 ms later (F7)", "[supervisor]") {
  const auto phase = GENERATE(ipc::Phase::Process, ipc::Phase::Put, ipc::Phase::Flush,
                              ipc::Phase::State, ipc::Phase::Start);
  SupervisorFixture world;
  world.come_up(0);
  world.work(0, phase);
  world.frozen_for(0, 59'900);
  CHECK(world.count<Signal>() == 0);
  world.frozen_for(0, 100);
  REQUIRE(world.count<Signal>() == 1);
  CHECK(world.last<Signal>()->number == SIGABRT);
  CHECK(world.state(0) == WorkerState::Hung);
  world.tick(100);
  REQUIRE(world.count<Signal>() == 2);
  CHECK(world.last<Signal>()->number == SIGKILL);
  CHECK(world.state(0) == WorkerState::Killed);
  CHECK(world.count<Lost>() == 0);
}

TEST_CASE("a deadline counts from the beginning of the call, not from the look that saw it (F7)",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.freeze(0);
  world.now += Milliseconds{100};
  world.pulse.phase_since_ns = 1'010'000'000;  // 10 ms after the look before; 5 for a coarse clock
  world.work(0, ipc::Phase::Put);
  const Milliseconds due{1'000 + 15 + 60'000};
  CHECK(world.supervisor.next_due() == due);
  while (world.now + Milliseconds{500} < due) world.tick(500);
  world.tick((due - world.now).count() - 1);
  CHECK(world.count<Signal>() == 0);
  world.tick(1);
  CHECK(world.signals(SIGABRT) == 1);
  CHECK(world.supervisor.next_due() == due + Milliseconds{100});
}

TEST_CASE("a call that says it began before the last look, or will begin, begins with this one",
          "[supervisor]") {
  const std::uint64_t said_ms = GENERATE(1u, 995u, 1'095u, 5'000u);
  SupervisorFixture world;
  world.come_up(0);
  world.freeze(0);
  world.now += Milliseconds{100};
  world.pulse.phase_since_ns = said_ms * 1'000'000;
  world.work(0, ipc::Phase::Put);
  CHECK(world.supervisor.next_due() == world.now + Milliseconds{60'000});
}

TEST_CASE("what is due next: a respawn, a kill, a stop, and nothing of an idle worker",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.work(0, ipc::Phase::Idle);
  CHECK_FALSE(world.supervisor.next_due());
  world.reap_signal(0, SIGKILL);
  CHECK(world.supervisor.next_due() == world.supervisor.status(0).respawn_at);
  world.tick((*world.supervisor.next_due() - world.now).count());
  CHECK(world.state(0) == WorkerState::Spawning);
  CHECK_FALSE(world.supervisor.next_due());
  world.come_up(0);
  world.work(0, ipc::Phase::Idle);
  world.supervisor.drain(world.now, world.actions);
  CHECK(world.supervisor.next_due() == world.now + SupervisorOptions{}.stop_timeout);
}

TEST_CASE("a hung worker that obeys SIGABRT is not killed again, and is started again",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.work(0, ipc::Phase::Put);
  world.frozen_for(0, 60'000);
  REQUIRE(world.signals(SIGABRT) == 1);
  world.reap_signal(0, SIGABRT);
  world.pass(400);
  CHECK(world.signals(SIGKILL) == 0);
  CHECK(world.state(0) == WorkerState::Spawning);
}

TEST_CASE("keep_alive extends the deadline of the running call (F7)", "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.work(0, ipc::Phase::Flush);
  for (int i = 0; i < 10; ++i) {
    world.frozen_for(0, 50'000);
    ++world.pulse.deadline_extended_ns;
  }
  CHECK(world.count<Signal>() == 0);
  world.frozen_for(0, 60'100);
  CHECK(world.signals(SIGABRT) == 1);
}

TEST_CASE("the deadline is of a call, not of a slice: every new batch begins anew",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  for (int batch = 0; batch < 10; ++batch) {
    world.pulse.offset = batch * 1'000;
    world.work(0, ipc::Phase::Put);
    world.frozen_for(0, 50'000);
  }
  CHECK(world.count<Signal>() == 0);
}

TEST_CASE("waiting for Kafka or in back-off has no deadline while the loop turns (F7)",
          "[supervisor]") {
  const auto phase = GENERATE(ipc::Phase::Fetch, ipc::Phase::Wait);
  SupervisorFixture world;
  world.come_up(0);
  world.work(0, phase);
  for (int i = 0; i < 3'000; ++i) {
    ++world.pulse.loops;
    world.freeze(0);
    world.tick(100);
  }
  CHECK(world.count<Signal>() == 0);
  world.frozen_for(0, 10'100);
  CHECK(world.signals(SIGABRT) == 1);
}

TEST_CASE("an idle worker may sleep for ever, one with slices in hand may not", "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.work(0, ipc::Phase::Idle, 0);
  world.frozen_for(0, 300'000);
  CHECK(world.count<Signal>() == 0);
  world.workload = Workload::InFlight;  // SIGSTOP while idle, then work comes
  world.frozen_for(0, 9'900);
  CHECK(world.count<Signal>() == 0);
  world.frozen_for(0, 300);
  CHECK(world.signals(SIGABRT) == 1);
}

TEST_CASE("a worker that never says anything is ended after the loading deadline", "[supervisor]") {
  SupervisorFixture world;
  world.supervisor.spawned(0, world.incarnation(0), 100, world.now);
  world.pass(59'900);
  CHECK(world.count<Signal>() == 0);
  world.pass(200);
  CHECK(world.signals(SIGABRT) == 1);
}

TEST_CASE("a host that was itself stalled blames nobody: all deadlines begin anew",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.work(0, ipc::Phase::Put);
  world.frozen_for(0, 59'000);
  world.tick(120'000);  // the host was stopped
  CHECK(world.count<Signal>() == 0);
  world.frozen_for(0, 59'800);
  CHECK(world.count<Signal>() == 0);
  world.frozen_for(0, 400);
  CHECK(world.signals(SIGABRT) == 1);
}

TEST_CASE("a worker that SIGKILL does not end is shown as BLOCKED and never as lost",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.supervisor.violation(0, world.incarnation(0), "next_outside", world.now, world.actions);
  CHECK(world.last<Signal>()->number == SIGKILL);
  world.pass(1'900);
  CHECK(world.state(0) == WorkerState::Killed);
  world.pass(200);
  CHECK(world.state(0) == WorkerState::Blocked);
  world.pass(600'000);
  CHECK(world.count<Lost>() == 0);
  CHECK(world.count<Spawn>() == 1);
  world.reap_signal(0, SIGKILL);
  CHECK(world.count<Lost>() == 1);
}

TEST_CASE("a worker above worker.memory.max is killed at once", "[supervisor]") {
  SupervisorOptions options;
  options.memory_bytes_max = 1'000;
  SupervisorFixture world{options};
  world.come_up(0);
  world.supervisor.memory(0, world.incarnation(0), 1'000, world.now, world.actions);
  CHECK(world.count<Signal>() == 0);
  world.supervisor.memory(0, world.incarnation(0), 1'001, world.now, world.actions);
  REQUIRE(world.count<Signal>() == 1);
  CHECK(world.last<Signal>()->number == SIGKILL);
  world.reap_signal(0, SIGKILL);
  CHECK(world.accusation().cause == LossCause::Memory);
  CHECK(world.accusation().blame == slicer::Blame::Environment);
}

TEST_CASE("a worker is ended only once, whatever else it does wrong meanwhile", "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.supervisor.violation(0, world.incarnation(0), "crc", world.now, world.actions);
  world.supervisor.violation(0, world.incarnation(0), "crc", world.now, world.actions);
  CHECK(world.count<Signal>() == 1);
}

TEST_CASE("a spawn that fails is a loss, retried with back-off", "[supervisor]") {
  SupervisorFixture world;
  world.supervisor.spawn_failed(0, world.incarnation(0), "no memory", world.now, world.actions);
  REQUIRE(world.count<Lost>() == 1);
  CHECK(world.accusation().cause == LossCause::SpawnFailed);
  world.pass(400);
  CHECK(world.count<Spawn>() == 2);
}

TEST_CASE("exit code 78 fails the job and nothing is started again", "[supervisor]") {
  SupervisorFixture world{slots(2)};
  world.come_up(0);
  world.come_up(1);
  world.reap_exit(0, kExitConfiguration);
  CHECK(world.count<JobFailed>() == 1);
  world.reap_signal(1, SIGKILL);
  world.pass(120'000);
  CHECK(world.count<Spawn>() == 2);
}

TEST_CASE("exit codes 75, 1 and an unasked 0 are respawned with back-off", "[supervisor]") {
  const int code = GENERATE(75, 1, 0);
  SupervisorFixture world;
  world.come_up(0);
  world.reap_exit(0, code);
  CHECK(world.accusation().cause == LossCause::Exit);
  CHECK(world.accusation().code == code);
  world.pass(400);
  CHECK(world.count<Spawn>() == 2);
}

TEST_CASE("a worker that ended because it was told to does not hide why one before it was lost",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.reap_signal(0, SIGSEGV);
  REQUIRE(world.supervisor.status(0).last_loss->cause == LossCause::Crash);

  world.pass(1'000);
  world.come_up(0);
  world.supervisor.refresh(0, world.incarnation(0), world.now, world.actions);
  world.reap_exit(0, kExitClean);
  CHECK(world.accusation().cause == LossCause::Stopped);  // the slicer is told of every end
  CHECK(world.supervisor.status(0).last_loss->cause == LossCause::Crash);
}

TEST_CASE("a worker that was only ever stopped as it was told to has lost nothing",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.supervisor.refresh(0, world.incarnation(0), world.now, world.actions);
  world.reap_exit(0, kExitClean);
  CHECK(world.state(0) == WorkerState::Spawning);
  CHECK_FALSE(world.supervisor.status(0).last_loss);
}

TEST_CASE("a drain stops every worker and is over when all are reaped", "[supervisor]") {
  SupervisorFixture world{slots(2)};
  world.come_up(0);
  world.come_up(1);
  world.supervisor.drain(world.now, world.actions);
  CHECK(world.count<Stop>() == 2);
  CHECK(world.state(0) == WorkerState::Draining);
  world.reap_exit(0, 0);
  CHECK(world.accusation().cause == LossCause::Stopped);
  CHECK(world.count<Drained>() == 0);
  world.reap_exit(1, 0);
  CHECK(world.count<Drained>() == 1);
  world.pass(120'000);
  CHECK(world.count<Spawn>() == 2);
}

TEST_CASE("a drain over its timeout ends the worker, and blames no record (F2, F7)",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.work(0, ipc::Phase::Put);
  world.supervisor.drain(world.now, world.actions);
  for (int i = 0; i < 299; ++i) {
    world.work(0, ipc::Phase::Put);
    world.tick(100);
  }
  CHECK(world.count<Signal>() == 0);
  world.pass(200);
  CHECK(world.signals(SIGABRT) == 1);
  world.reap_signal(0, SIGABRT);
  CHECK(world.accusation().cause == LossCause::StopTimeout);
  CHECK(world.accusation().blame == slicer::Blame::Environment);
  CHECK(world.count<Drained>() == 1);
}

TEST_CASE("a stop that never ends is told as the drain's, by whichever clock it began (F7)",
          "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.freeze(0);
  world.now += Milliseconds{20};
  world.supervisor.drain(world.now, world.actions);
  const auto due = world.now + SupervisorOptions{}.stop_timeout;
  // The pulse's coarse clock is behind: the call seems to begin 4 ms before STOP was sent.
  world.pulse.phase_since_ns = 1'011'000'000;
  world.now += Milliseconds{1};
  world.work(0, ipc::Phase::Stop);
  CHECK(world.supervisor.next_due() == due);
  while (world.now + Milliseconds{500} < due) world.tick(500);
  world.tick((due - world.now).count() - 1);
  CHECK(world.count<Signal>() == 0);
  world.tick(1);
  REQUIRE(world.signals(SIGABRT) == 1);
  world.reap_signal(0, SIGABRT);
  CHECK(world.accusation().cause == LossCause::StopTimeout);
}

TEST_CASE("a drain reaches also a worker that is still being spawned", "[supervisor]") {
  SupervisorFixture world;
  world.supervisor.drain(world.now, world.actions);
  CHECK(world.count<Stop>() == 0);
  world.supervisor.spawned(0, world.incarnation(0), 7, world.now);
  world.tick(100);
  CHECK(world.count<Stop>() == 1);
}

TEST_CASE("a drain with nothing running is over at once", "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  world.reap_signal(0, SIGKILL);
  world.supervisor.drain(world.now, world.actions);
  CHECK(world.count<Drained>() == 1);
  world.pass(120'000);
  CHECK(world.count<Spawn>() == 1);
}

TEST_CASE("slots can be added and taken away while others run", "[supervisor]") {
  SupervisorFixture world{slots(2)};
  world.come_up(0);
  world.come_up(1);
  world.supervisor.set_slots(3, world.now, world.actions);
  CHECK(world.count<Spawn>() == 3);
  world.come_up(2);
  world.supervisor.set_slots(2, world.now, world.actions);
  REQUIRE(world.count<Stop>() == 1);
  CHECK(world.last<Stop>()->slot == 2);
  world.reap_exit(2, 0);
  CHECK(world.state(2) == WorkerState::Empty);
  world.pass(120'000);
  CHECK(world.count<Spawn>() == 3);
  world.supervisor.set_slots(3, world.now, world.actions);
  CHECK(world.count<Spawn>() == 4);
}

TEST_CASE("events of an incarnation that is gone change nothing", "[supervisor]") {
  SupervisorFixture world;
  world.come_up(0);
  const auto old = world.incarnation(0);
  world.reap_signal(0, SIGKILL);
  world.pass(400);
  REQUIRE(world.state(0) == WorkerState::Spawning);
  world.supervisor.exited(0, old, {ExitStatus::Kind::Signalled, SIGKILL}, LastTask::Work, world.now,
                          world.actions);
  world.supervisor.violation(0, old, "crc", world.now, world.actions);
  CHECK(world.count<Lost>() == 1);
  CHECK(world.count<Signal>() == 0);
}

}  // namespace sluice::supervisor
