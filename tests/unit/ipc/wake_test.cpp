// Goal: no wake-up is ever lost (facts 3.5, P16). Method: two threads over one ring, both with
// random pauses, so that publish and going to sleep meet at every instruction; the sleeper waits
// without a timer that would hide a loss, and only a watchdog of 20 s turns a hang into a failure.
#include <poll.h>
#include <sched.h>

#include <catch2/catch.hpp>
#include <thread>

#include "channel_pair.hpp"
#include "ring_memory.hpp"
#include "scale.hpp"

namespace sluice::ipc::test {
namespace {

constexpr int kWatchdogMs = 20'000;
constexpr std::uint64_t kShortRun = 100'000;
constexpr std::uint64_t kFullRun = 100'000'000;

struct WakeScene {
  RingMemory<Command> ring;
  alignas(kLineGap) std::atomic<std::uint32_t> sleep{0};
  Doorbell doorbell = require(Doorbell::create());
};

void pause_at_random(Chance& chance) {
  const std::uint64_t choice = chance.below(64);
  if (choice == 0) return std::this_thread::yield();
  for (std::uint64_t spins = choice < 32 ? 0 : chance.below(400); spins > 0; --spins) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

void publish_all(WakeScene& scene, std::uint64_t count) {
  Chance chance{1};
  auto writer = scene.ring.writer();
  Waker waker{scene.sleep};
  for (std::uint64_t id = 0; id < count;) {
    std::uint64_t free = 0;
    if (writer.free_slots(1, free) != Rule::None) return;
    if (free == 0) {
      std::this_thread::yield();
      continue;
    }
    writer.put(make_command(CommandKind::Slice, id++));
    writer.publish();
    waker.wake(writer.tail_word(), scene.doorbell);
    pause_at_random(chance);
  }
}

struct Received {
  std::uint64_t in_order = 0;
  std::uint64_t sleeps = 0;
  bool woken_too_late = false;
};

Received receive_all(WakeScene& scene, std::uint64_t count) {
  Chance chance{2};
  auto reader = scene.ring.reader();
  Sleeper sleeper{scene.sleep};
  Received received;
  while (received.in_order < count) {
    std::uint64_t slots = 0;
    if (reader.available(slots) != Rule::None) return received;
    for (; slots > 0; --slots) {
      Command command;
      if (reader.read(command) != Rule::None || command.slice_id != received.in_order) {
        return received;
      }
      ++received.in_order;
    }
    reader.release();
    if (received.in_order == count) break;
    pause_at_random(chance);
    sleeper.prepare();
    if (!reader.has_more()) {
      ++received.sleeps;
      pollfd entry{scene.doorbell.fd(), POLLIN, 0};
      if (::poll(&entry, 1, kWatchdogMs) != 1) {
        received.woken_too_late = true;
        return received;
      }
      scene.doorbell.silence();
    }
    sleeper.woken();
  }
  return received;
}

void no_wake_up_is_lost(std::uint64_t count) {
  WakeScene scene;
  std::thread publishing{[&] { publish_all(scene, count); }};
  const Received received = receive_all(scene, count);
  // A receiver that gave up leaves a publisher in front of a full ring: let it end.
  if (received.in_order < count) scene.ring.head.store(UINT64_MAX);
  publishing.join();
  CHECK_FALSE(received.woken_too_late);
  CHECK(received.in_order == count);
  CHECK(received.sleeps > 0);
}

/// Confines this thread, and those that it starts, to one core.
class OneCore {
 public:
  OneCore() {
    REQUIRE(::sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OneCore() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace

TEST_CASE("no wake-up is lost, whenever publisher and sleeper meet", "[ipc]") {
  no_wake_up_is_lost(steps(kShortRun, kFullRun));
}

// Here they meet where the scheduler takes the core away: in the middle of either protocol.
TEST_CASE("no wake-up is lost on one core either", "[ipc]") {
  const OneCore confined;
  no_wake_up_is_lost(steps(kShortRun, kFullRun));
}

}  // namespace sluice::ipc::test
