// What the bundled plugins cost per record of 150 bytes, in batches of 512: formatting and
// appending (to the system's temporary folder, without flush), and filtering.
//
//   build/release/bin/bench_plugins --benchmark_repetitions=5
//   --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <filesystem>

#include "unit/sdk/plugin_harness.hpp"
#include "unit/temporary_folder.hpp"

namespace {

using sluice::TemporaryFolder;
using sluice::test::PluginHarness;
using sluice::test::TestBatch;
using sluice::test::TestRecord;

constexpr std::size_t kBatchRecords = 512;
constexpr std::size_t kFileBytesMax = std::size_t{256} << 20;

TestRecord order() {
  const std::string start = R"({"id":12345,"customer":"c-881","text":"")";
  return {"c-881", start + std::string(150 - start.size() - 2, 'x') + "\"}", {{"source", "web"}}};
}

void count_records(benchmark::State& state) {
  using benchmark::Counter;
  state.counters["per_record"] =
      Counter(kBatchRecords, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void file(benchmark::State& state, const char* format) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  PluginHarness sink{PluginHarness::load("file_sink.so"), {{"file", path}, {"format", format}}};
  sink.start();
  sink.host.add_slice(1, 0, 0, kBatchRecords);
  const TestBatch batch{1, 0, 0, std::vector<TestRecord>(kBatchRecords, order())};
  std::size_t bytes = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(sink.put(batch));
    bytes += kBatchRecords * 300;
    if (bytes > kFileBytesMax) {
      state.PauseTiming();
      std::filesystem::resize_file(path, 0);
      bytes = 0;
      state.ResumeTiming();
    }
  }
  count_records(state);
}

void filter(benchmark::State& state, const PluginHarness::Config& config) {
  PluginHarness processor{PluginHarness::load("filter_processor.so"), config};
  processor.host.raw.emit = [](const sluice_host*, const sluice_out* outs, std::uint32_t) noexcept {
    benchmark::DoNotOptimize(outs);
    return sluice_status{SLUICE_OK};
  };
  processor.start();
  const TestBatch batch{1, 0, 0, std::vector<TestRecord>(kBatchRecords, order())};
  for (auto _ : state) {
    benchmark::DoNotOptimize(processor.process(batch));
  }
  count_records(state);
}

void file_json(benchmark::State& state) {
  file(state, "json");
}
void file_text(benchmark::State& state) {
  file(state, "text");
}
void file_raw(benchmark::State& state) {
  file(state, "raw");
}
void filter_size(benchmark::State& state) {
  filter(state, {{"value.size.min", "100"}});
}
void filter_header(benchmark::State& state) {
  filter(state, {{"header.source", "web"}});
}
void filter_regex(benchmark::State& state) {
  filter(state, {{"value.regex", "c-[0-9]+\"}$"}});
}

BENCHMARK(file_json);
BENCHMARK(file_text);
BENCHMARK(file_raw);
BENCHMARK(filter_size);
BENCHMARK(filter_header);
BENCHMARK(filter_regex);

}  // namespace
