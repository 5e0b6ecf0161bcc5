#include "host/supervisor/process_sample.hpp"

#include <sched.h>

#include "spawned_probe.hpp"

namespace sluice::supervisor::test {
namespace {

ProcSample sample(const SpawnedProbe& probe) {
  return require(sample_process(probe.worker().pid));
}

}  // namespace

TEST_CASE("a stopped worker samples as T, also when it was spinning", "[supervisor][process]") {
  SpawnedProbe probe{"spin"};
  REQUIRE(probe.read_output() == "ready");
  const ProcSample before = sample(probe);
  probe.signal(SIGSTOP);
  siginfo_t info{};
  REQUIRE(::waitid(static_cast<idtype_t>(3 /* P_PIDFD */),
                   static_cast<id_t>(probe.worker().pidfd.get()), &info, WSTOPPED | WNOWAIT) == 0);
  CHECK(sample(probe).state == 'T');
  CHECK(classify_stall(before, sample(probe)) == Stall::Stopped);
  probe.signal(SIGKILL);
  CHECK(probe.await_end().status.code == SIGKILL);
}

TEST_CASE("a spinning worker burns CPU from sample to sample", "[supervisor][process]") {
  SpawnedProbe probe{"spin"};
  REQUIRE(probe.read_output() == "ready");
  const ProcSample before = sample(probe);
  while (sample(probe).cpu_ms == before.cpu_ms) ::sched_yield();
  CHECK(classify_stall(before, sample(probe)) == Stall::Spinning);
}

TEST_CASE("a worker that waits samples as S and blocked", "[supervisor][process]") {
  SpawnedProbe probe{"wait"};
  REQUIRE(probe.read_output() == "ready");
  while (sample(probe).state != 'S') ::sched_yield();
  const ProcSample once = sample(probe);
  CHECK(classify_stall(once, once) == Stall::Blocked);
}

TEST_CASE("what other threads burn is no spinning of the one that waits", "[supervisor][process]") {
  SpawnedProbe probe{"burn aside"};
  REQUIRE(probe.read_output() == "ready");
  const ProcSample before = sample(probe);
  REQUIRE(probe.read_output() == "burnt");
  CHECK(classify_stall(before, sample(probe)) == Stall::Blocked);
}

TEST_CASE("a worker that has ended and is not reaped samples as Z", "[supervisor][process]") {
  SpawnedProbe probe{"exit 75"};
  await_readable(probe.worker().pidfd.get());
  const ProcSample ended = sample(probe);
  CHECK(classify_stall(ended, ended) == Stall::Ended);
}

TEST_CASE("memory is what the worker holds", "[supervisor][process]") {
  SpawnedProbe probe{"grow"};
  REQUIRE(probe.read_output() == "ready");
  CHECK(sample(probe).rss_bytes > (64U << 20U));
  CHECK(sample(probe).threads >= 1);
  probe.signal(SIGKILL);
  CHECK(probe.await_end().rss_max_bytes > (64U << 20U));
}

TEST_CASE("a process that does not exist is NotFound", "[supervisor]") {
  const auto nobody = sample_process(INT32_MAX);
  REQUIRE_FALSE(nobody.has_value());
  CHECK(nobody.error().code() == ErrorCode::NotFound);
}

TEST_CASE("a stall is named after the later sample", "[supervisor]") {
  const auto at = [](char state, std::uint64_t cpu_ms) { return ProcSample{state, cpu_ms, 0, 1}; };
  CHECK(classify_stall(at('S', 10), at('S', 10)) == Stall::Blocked);
  CHECK(classify_stall(at('S', 10), at('S', 20)) == Stall::Blocked);  // the Kafka client's threads
  CHECK(classify_stall(at('S', 10), at('S', 30)) == Stall::Spinning);
  CHECK(classify_stall(at('S', 10), at('R', 10)) == Stall::Spinning);
  CHECK(classify_stall(at('R', 10), at('D', 30)) == Stall::Uninterruptible);
  CHECK(classify_stall(at('R', 10), at('t', 30)) == Stall::Stopped);
  CHECK(classify_stall(at('R', 10), at('Z', 30)) == Stall::Ended);
}

}  // namespace sluice::supervisor::test
