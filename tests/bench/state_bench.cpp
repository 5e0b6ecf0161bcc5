// What a group commit costs: one ChangeSet of as many lanes as the argument says, each with its
// merged slice row and its frontier (slicer.md R3), synced to the disk of the working directory.
//
// rows = merged rows a second; a merged row stands for as many slices as completed since the commit
// before. Time is wall time with the sync, CPU without.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <string>

#include "host/state/sqlite_store.hpp"

namespace sluice::state {
namespace {

ChangeSet merged_rows(std::int64_t lanes, std::int64_t round) {
  ChangeSet changes;
  for (std::int32_t number = 0; number < lanes; ++number) {
    PartitionRow lane;
    lane.topic = "orders";
    lane.partition = number;
    lane.frontier = (round + 1) * 100;
    changes.partitions.push_back(lane);
    SliceRow run;
    run.id = static_cast<std::uint64_t>(number) + 1;
    run.execution = 1;
    run.topic = "orders";
    run.partition = number;
    run.end = lane.frontier;
    run.state = SliceState::Completed;
    run.worker = {1, 4711, 1};
    run.counts.in = run.counts.out = static_cast<std::uint64_t>(run.end);
    run.settled_ms = 1'700'000'000'000 + round;
    changes.slices_upserted.push_back(run);
  }
  return changes;
}

void group_commit(benchmark::State& run) {
  const std::filesystem::path folder = std::filesystem::absolute("bench_state.tmp");
  std::filesystem::remove_all(folder);
  {
    const auto lock = DirectoryLock::try_acquire(folder).value();
    const auto store = open_sqlite_store(lock).value();
    store->begin_execution("orders", ExecutionMode::Persistent, 1).value();
    std::int64_t round = 0;
    for (auto _ : run) {
      run.PauseTiming();
      const JobChanges batch[] = {{"orders", merged_rows(run.range(0), round++)}};
      run.ResumeTiming();
      if (!store->apply(batch)) run.SkipWithError("cannot write");
    }
    run.counters["rows"] = benchmark::Counter(static_cast<double>(run.iterations() * run.range(0)),
                                              benchmark::Counter::kIsRate);
  }
  std::filesystem::remove_all(folder);
}

BENCHMARK(group_commit)
    ->Arg(1)
    ->Arg(100)
    ->Arg(1'000)
    ->Arg(10'000)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::state
