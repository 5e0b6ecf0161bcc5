// P5 (ipc facts 5): what a slice costs the host in the slicer: cut, put among the commands, report
// judged, settled, row and frontier taken every 1,000 slices. The rings' 36 ns come on top. And
// P12's part of it: the same with 10,000 partitions must cost the same per slice.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "host/slicer/slicer.hpp"

namespace {

using namespace sluice;

constexpr std::size_t kReportsPerStep = 32;  // what one doorbell brings
constexpr std::uint64_t kSlicesPerSet = 1'000;

class Bench {
 public:
  Bench(std::int32_t partitions, std::int64_t slice_records) {
    slicer::SlicerOptions options;
    options.slots = 2;
    options.slice_records_max = slice_records;
    options.credit_records = 8 * slice_records;
    options.slices_per_second_max = 1'000'000'000;
    slicer_ = std::make_unique<slicer::Slicer>(options, Random{1});
    slicer_->add_topic(0, "orders", 1);
    for (std::int32_t partition = 0; partition < partitions; ++partition) {
      slicer::FoundPartition found;
      found.tp = {0, partition};
      found.end = std::int64_t{1} << 50;
      slicer_->partition_found(std::move(found), now_);
    }
    slicer_->discovery_done(now_);
    for (slicer::Slot slot = 0; slot < 2; ++slot) slicer_->worker_ready(slot, {slot + 1, 1}, now_);
    step();
    persist();
  }

  /// Done reports for the oldest slices in flight, one step, and now and then a change set.
  std::size_t round() {
    now_ += Milliseconds{1};
    const std::size_t count = std::min(kReportsPerStep, in_flight_.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto [slot, command] = in_flight_.front();
      in_flight_.pop_front();
      ipc::Report report;
      report.slice_id = command.slice_id;
      report.fence = command.fence;
      report.kind = static_cast<std::uint16_t>(ipc::ReportKind::Done);
      report.partition = command.partition;
      report.next_offset = command.end;
      report.records = static_cast<std::uint32_t>(command.end - command.start);
      report.bytes = report.records;
      slicer_->report(slot, slot + 1, report, {}, now_);
    }
    step();
    settled_ += count;
    if (settled_ >= kSlicesPerSet) {
      settled_ = 0;
      persist();
    }
    return count;
  }

 private:
  std::unique_ptr<slicer::Slicer> slicer_;
  slicer::Actions actions_;
  Milliseconds now_{1'000};
  std::deque<std::pair<slicer::Slot, ipc::Command>> in_flight_;
  std::uint64_t settled_ = 0;

  void step() {
    slicer_->step(now_, actions_);
    for (const auto& batch : actions_.commands) {
      for (const auto& command : batch.commands) in_flight_.emplace_back(batch.slot, command);
    }
    for (const auto tp : actions_.sample_ends) {
      slicer_->end_observed(tp, std::int64_t{1} << 50, slicer::LeaderChange::None, now_);
    }
  }

  void persist() {
    const auto set = slicer_->take_changes(now_);
    benchmark::DoNotOptimize(slicer_->persisted(set.token, now_));
    step();
  }
};

void slice_through_the_slicer(benchmark::State& state) {
  Bench bench{static_cast<std::int32_t>(state.range(0)), state.range(1)};
  std::int64_t slices = 0;
  for (auto _ : state) slices += static_cast<std::int64_t>(bench.round());
  state.SetItemsProcessed(slices);
}
BENCHMARK(slice_through_the_slicer)
    ->ArgNames({"partitions", "records"})
    ->Args({8, 10'000})
    ->Args({8, 1})
    ->Args({1'000, 10'000})
    ->Args({10'000, 10'000});

}  // namespace
