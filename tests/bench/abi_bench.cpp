// What the boundary costs: put and process of a loaded .so, with what a worker does around each
// call (two clock reads, a store to the pulse). The bar is 2 ns a record at 512 records a batch
// (sdk.md, "Bars").
//
//   build/release/bin/bench_abi --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <atomic>
#include <ctime>
#include <stdexcept>

#include "host/worker/plugin_module.hpp"
#include "unit/sdk/fake_host.hpp"

namespace {

using sluice::test::FakeHost;
using sluice::test::TestBatch;
using sluice::test::TestRecord;

sluice_plugin* load(const char* name, sluice_kind kind, FakeHost& host) {
  static const auto module = sluice::worker::load_module(SLUICE_BENCH_PLUGIN);
  if (!module) {
    throw std::runtime_error{module.error().message()};
  }
  const auto choice = sluice::worker::find_plugin(*module, name, kind, SLUICE_BENCH_PLUGIN);
  if (!choice) {
    throw std::runtime_error{choice.error().message()};
  }
  return choice->plugin->descriptor->create(&host.raw);
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void call(benchmark::State& state, const char* plugin_name, sluice_kind kind) {
  FakeHost host;
  // What is emitted is the host's to keep; here only the crossing counts.
  host.raw.emit = [](const sluice_host*, const sluice_out* outs, std::uint32_t) noexcept {
    benchmark::DoNotOptimize(outs);
    return sluice_status{SLUICE_OK};
  };
  sluice_plugin* plugin = load(plugin_name, kind, host);
  const sluice_start start{sizeof start, 0, nullptr, {"job", 3}, 0, 0};
  plugin->start(plugin, &start);
  const auto run = kind == SLUICE_KIND_SINK ? plugin->put : plugin->process;
  const auto size = static_cast<std::size_t>(state.range(0));
  const std::vector<TestRecord> records(size, TestRecord{"key", std::string(100, 'x')});
  const TestBatch batch{1, 0, 0, records};
  std::atomic<std::int64_t> pulse_ns = 0;
  std::int64_t call_ns = 0;
  for (auto _ : state) {
    const std::int64_t before_ns = now_ns();
    pulse_ns.store(before_ns, std::memory_order_relaxed);
    benchmark::DoNotOptimize(run(plugin, batch.raw()));
    call_ns += now_ns() - before_ns;
  }
  benchmark::DoNotOptimize(call_ns);
  using benchmark::Counter;
  state.counters["per_record"] =
      Counter(static_cast<double>(size), Counter::kIsIterationInvariantRate | Counter::kInvert);
  plugin->stop(plugin);
  plugin->destroy(plugin);
}

void iterator_with_position(benchmark::State& state) {
  call(state, "sum-by-iterator", SLUICE_KIND_SINK);
}
void struct_without_position(benchmark::State& state) {
  call(state, "sum-by-struct", SLUICE_KIND_SINK);
}
void processor_pass_through(benchmark::State& state) {
  call(state, "pass-through", SLUICE_KIND_PROCESSOR);
}

BENCHMARK(iterator_with_position)->Arg(1)->Arg(8)->Arg(64)->Arg(512)->Arg(4096);
BENCHMARK(struct_without_position)->Arg(1)->Arg(8)->Arg(64)->Arg(512)->Arg(4096);
BENCHMARK(processor_pass_through)->Arg(8)->Arg(64)->Arg(512)->Arg(4096);

}  // namespace
