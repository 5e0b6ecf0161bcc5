// What a slice costs between host and worker: the ring's part of bar P5 of the ipc facts (36 ns
// both ways), on one thread: cost, not latency. And P6, the latency of a hand-over, between two
// threads.
#include <benchmark/benchmark.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "ipc/crc32c.hpp"
#include "ipc/host_channel.hpp"
#include "ipc/spsc_ring.hpp"
#include "ipc/worker_channel.hpp"

namespace sluice::ipc {
namespace {

template <typename Value>
void ring_there_and_back(benchmark::State& state) {
  const auto batch = static_cast<std::uint64_t>(state.range(0));
  const auto slots = std::make_unique<RingSlots<Value>>();
  std::atomic<std::uint64_t> tail{0}, head{0};
  RingWriter<Value> writer{*slots, tail, head};
  RingReader<Value> reader{*slots, tail, head};
  Value value{};
  for (auto _ : state) {
    std::uint64_t free = 0, available = 0;
    if (writer.free_slots(batch, free) != Rule::None) state.SkipWithError("head");
    for (std::uint64_t i = 0; i < batch; ++i) writer.put(value);
    writer.publish();
    if (reader.available(available) != Rule::None) state.SkipWithError("tail");
    for (; available > 0; --available) {
      if (reader.read(value) != Rule::None) state.SkipWithError("slot");
    }
    reader.release();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ring_there_and_back<Command>)->Arg(1)->Arg(32);
BENCHMARK(ring_there_and_back<Report>)->Arg(1)->Arg(32);

WorkerFds duplicates(const WorkerFds& fds) {
  return {::dup(fds.host_segment), ::dup(fds.worker_segment), ::dup(fds.doorbell_to_worker),
          ::dup(fds.doorbell_to_host)};
}

// A slice's whole way: publish with the wake decision, read, report, drain with every check.
void slice_through_a_channel(benchmark::State& state) {
  auto host = HostChannel::create(0, 1);
  if (!host) return state.SkipWithError("create");
  auto worker = WorkerChannel::attach(duplicates(host->worker_fds()), 1);
  if (!worker) return state.SkipWithError("attach");
  Command command;
  command.kind = static_cast<std::uint16_t>(CommandKind::Slice);
  Report report;
  report.kind = static_cast<std::uint16_t>(ReportKind::Done);
  std::array<Command, 16> commands;
  std::array<ReceivedReport, 16> reports;
  for (auto _ : state) {
    const bool went = host->publish({&command, 1}) && worker->read(commands) &&
                      worker->report(report) && host->drain(reports);
    if (!went) state.SkipWithError("channel");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(slice_through_a_channel);

void checksum(benchmark::State& state) {
  const std::array<char, 128> bytes{};
  const auto size = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(crc32c(bytes.data(), size));
}
BENCHMARK(checksum)->Arg(60)->Arg(124);

// A batch's share: two phases, a beat and three counters.
void pulse_of_a_batch(benchmark::State& state) {
  PulseBlock block{};
  CounterBlock words{};
  PulseWriter pulse{block};
  CounterWriter counters{words};
  for (auto _ : state) {
    pulse.beat();
    pulse.enter(Phase::Process, 1, 2);
    pulse.enter(Phase::Put);
    counters.add(Counter::Records, 500);
    counters.add(Counter::Bytes, 100'000);
    counters.add(Counter::Batches);
  }
}
BENCHMARK(pulse_of_a_batch);

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// A worker's thread as task_loop has it when there is nothing to do: spins, sleeps on its
/// doorbell, reads what woke it. The host has put the time of publishing into each command.
class SleepingWorker {
 public:
  explicit SleepingWorker(WorkerChannel& channel) : channel_{channel}, thread_{[this] { run(); }} {}
  ~SleepingWorker() { thread_.join(); }

  /// Waits for the next command to have arrived; how long it was on its way.
  std::int64_t await_ns() {
    while (arrived_ns_.load(std::memory_order_acquire) == 0) std::this_thread::yield();
    return arrived_ns_.exchange(0, std::memory_order_acq_rel);
  }

 private:
  WorkerChannel& channel_;
  std::atomic<std::int64_t> arrived_ns_{0};
  std::thread thread_;

  void run() {
    Command command;
    for (;;) {
      const auto read = channel_.read({&command, 1});
      if (!read) return;
      if (*read == 0) {
        sleep_until_rung();
        continue;
      }
      if (command.kind == static_cast<std::uint16_t>(CommandKind::Stop)) return;
      arrived_ns_.store(monotonic_ns() - command.start, std::memory_order_release);
    }
  }

  void sleep_until_rung() {
    if (channel_.spin_for_commands()) return;
    channel_.prepare_to_sleep();
    if (!channel_.has_commands()) {
      pollfd doorbell{channel_.doorbell_fd(), POLLIN, 0};
      ::poll(&doorbell, 1, 100);
    }
    channel_.woken();
  }
};

// P6: published -> read by a worker that sleeps. One round is one repetition.
void handoff_to_a_sleeping_worker(benchmark::State& state) {
  constexpr std::chrono::milliseconds kUntilAsleep{1};  // spins for 5 us before
  auto host = HostChannel::create(0, 1);
  if (!host) return state.SkipWithError("create");
  auto attached = WorkerChannel::attach(duplicates(host->worker_fds()), 1);
  if (!attached) return state.SkipWithError("attach");
  std::vector<double> took_us;
  {
    SleepingWorker worker{*attached};
    Command command;
    command.kind = static_cast<std::uint16_t>(CommandKind::Slice);
    for (auto _ : state) {
      std::this_thread::sleep_for(kUntilAsleep);
      command.start = monotonic_ns();
      if (!host->publish({&command, 1})) state.SkipWithError("publish");
      took_us.push_back(static_cast<double>(worker.await_ns()) / 1e3);
      state.SetIterationTime(took_us.back() / 1e6);
    }
    command.kind = static_cast<std::uint16_t>(CommandKind::Stop);
    if (!host->publish({&command, 1})) std::abort();
  }
  std::sort(took_us.begin(), took_us.end());
  state.counters["p50_us"] = took_us[took_us.size() / 2];
  state.counters["p99_us"] = took_us[took_us.size() * 99 / 100];
}
BENCHMARK(handoff_to_a_sleeping_worker)->UseManualTime()->Iterations(500)->Repetitions(10);

}  // namespace
}  // namespace sluice::ipc
