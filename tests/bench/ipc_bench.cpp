// What a slice costs between host and worker: bar P5 of the ipc facts (dispatch <= 1 us of host CPU
// a slice; the ring's part of it is 36 ns both ways). One thread: cost, not latency.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>

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

// A slice's whole way: publish with the wake decision, read, report, drain with every check.
void slice_through_a_channel(benchmark::State& state) {
  auto host = HostChannel::create(0, 1);
  if (!host) return state.SkipWithError("create");
  const WorkerFds fds = host->worker_fds();
  auto worker = WorkerChannel::attach({::dup(fds.host_segment), ::dup(fds.worker_segment),
                                       ::dup(fds.doorbell_to_worker), ::dup(fds.doorbell_to_host)},
                                      1);
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

}  // namespace
}  // namespace sluice::ipc
