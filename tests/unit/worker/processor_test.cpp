// What processors emit, on its way through the chain.
#include <catch2/catch.hpp>

#include "unit/worker/task_world.hpp"

namespace sluice::worker {

using fixture::TaskWorld;
using fixture::Texts;
using ipc::ReportKind;

TEST_CASE("what a processor emits reaches the sink with the record's coordinates and counts",
          "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.source.log(0).append(6);
  world.source.log(0).values[1] = "drop";
  world.source.log(0).values[3] = "twice";
  world.then([&] { world.slice(1, 0, 0, 6); });
  world.run();
  CHECK(world.plugin.durable == Texts{"0@0", "0@2", "0@3", "0@3", "0@4", "0@5"});
  const ipc::Report& report = world.report_of(1, ReportKind::Done).report;
  CHECK(report.records == 6);
  CHECK(report.out == 6);
  CHECK(report.filtered == 1);
}

TEST_CASE("the pulse tells whose code runs: the processor's, then the sink's", "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.source.log(0).append(3);
  Texts places;
  for (const auto* call : {"p:process", "put", "flush"}) {
    world.plugin.on_call[call] = [&, call](const sluice_host*) {
      places.push_back(call + std::string{" "} + std::to_string(world.host().pulse().plugin_place));
    };
  }
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(places == Texts{"p:process 1", "put 2", "flush 2"});
}

TEST_CASE("outputs that are too many for one batch reach the sink in several", "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.parameters.batch.records_max = 4;
  world.source.log(0).append(4, "twice");
  world.then([&] { world.slice(1, 0, 0, 4); });
  world.run();
  CHECK(world.plugin.batch_sizes == std::vector<std::size_t>{4, 4});
  CHECK(world.plugin.durable.size() == 8);
}

TEST_CASE("a batch that is filtered whole does not reach the sink", "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.source.log(0).append(3, "drop");
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(world.plugin.times("put") == 0);
  CHECK(world.report_of(1, ReportKind::Done).report.filtered == 3);
}

TEST_CASE("a record that a processor fails is errant and not filtered", "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.parameters.tolerance = ErrorsTolerance::All;
  world.source.log(0).append(3);
  world.source.log(0).values[1] = "odd";
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  const ipc::Report& report = world.report_of(1, ReportKind::Done).report;
  CHECK(report.errant == 1);
  CHECK(report.filtered == 0);
  CHECK(report.out == 2);
  CHECK_THAT(world.logged(), Catch::Contains("<4>pass record orders-0@1 failed in process"));
}

TEST_CASE("RETRY from the sink puts the same emitted views again without processing anew",
          "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.source.log(0).append(3);
  world.plugin.answers["put"] = {SLUICE_RETRY};
  world.then([&] { world.slice(1, 0, 0, 3); });
  world.run();
  CHECK(world.plugin.times("p:process") == 1);
  CHECK(world.plugin.times("put") == 2);
}

TEST_CASE("RETRY from a processor forgets what it had emitted", "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.source.log(0).append(2);
  bool is_first = true;
  world.plugin.on_call["p:process"] = [&](const sluice_host* host) {
    if (!std::exchange(is_first, false)) return;
    const sluice_out out{sizeof(sluice_out), 0, {}, {}, 0, 0, 0, nullptr};
    CHECK(host->emit(host, &out, 1) == SLUICE_OK);
  };
  world.plugin.answers["p:process"] = {SLUICE_RETRY};
  world.then([&] { world.slice(1, 0, 0, 2); });
  world.run();
  CHECK(world.plugin.durable == Texts{"0@0", "0@1"});
}

TEST_CASE("emit is refused outside process, for a source that falls, and beyond the batch",
          "[worker]") {
  TaskWorld world;
  world.has_processor = true;
  world.source.log(0).append(2);
  const auto out_of = [](std::uint32_t source) {
    return sluice_out{sizeof(sluice_out), source, {}, {}, 0, 0, 0, nullptr};
  };
  world.plugin.on_call["p:process"] = [&](const sluice_host* host) {
    const sluice_out falling[] = {out_of(1), out_of(0)};
    CHECK(host->emit(host, falling, 2) == SLUICE_FAIL);
    const sluice_out beyond = out_of(2);
    CHECK(host->emit(host, &beyond, 1) == SLUICE_FAIL);
    CHECK(host->emit(host, nullptr, 1) == SLUICE_FAIL);
    CHECK(host->emit(host, nullptr, 0) == SLUICE_OK);
  };
  world.plugin.on_call["put"] = [&](const sluice_host* host) {
    const sluice_out out = out_of(0);
    CHECK(host->emit(host, &out, 1) == SLUICE_FAIL);
  };
  world.then([&] { world.slice(1, 0, 0, 2); });
  world.run();
  CHECK(world.plugin.durable == Texts{"0@0", "0@1"});
}

}  // namespace sluice::worker
