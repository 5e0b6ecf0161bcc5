// Probe runs and slices without their culprits (slicer.md F3.4): plugins see the slice that it is
// about and not the part that is run, nothing of a probe is ever flushed, and what is left out of a
// slice is seen by nobody.
#include <catch2/catch.hpp>

#include "unit/worker/task_world.hpp"

namespace sluice::worker {

using fixture::TaskWorld;
using fixture::Texts;
namespace {

constexpr std::uint32_t kProbeFlags = ipc::kProbe | ipc::kAlone | ipc::kStable;

/// What a plugin is told of the slice whose batch it has.
struct Shown {
  std::int64_t start = -1;
  std::int64_t end = -1;
};

void look_at_slice(TaskWorld& world, std::uint64_t slice_id, Shown& shown) {
  world.plugin.on_call["put"] = [slice_id, &shown](const sluice_host* host) {
    const sluice_slice* slice = host->slice(host, slice_id);
    REQUIRE(slice != nullptr);
    shown = {slice->start_offset, slice->end_offset};
  };
}

}  // namespace

TEST_CASE("a probe is put, never flushed, and forgotten, and plugins see the whole slice (F3.4)",
          "[worker]") {
  TaskWorld world;
  world.source.log(0).append(100);
  Shown shown;
  look_at_slice(world, 7, shown);
  world.then([&] { world.slice_with_terms(7, 40, 60, kProbeFlags, {20, 80, {}}); });
  world.run();
  CHECK(world.outcomes() == Texts{"SURVIVED 7 @60"});
  CHECK(shown.start == 20);
  CHECK(shown.end == 80);
  CHECK(world.plugin.times("flush") == 0);
  CHECK(world.plugin.times("rollback") == 1);
  CHECK(world.plugin.durable.empty());
  const auto& report = world.report_of(7, ipc::ReportKind::Survived).report;
  CHECK(report.records == 20);
  CHECK(report.last_offset == -1);
}

TEST_CASE("a plugin without rollback is destroyed after a probe, so that nothing of it is left",
          "[worker]") {
  TaskWorld world;
  world.plugin.rollback = fixture::Rollback::Missing;
  world.source.log(0).append(10);
  world.then([&] { world.slice_with_terms(1, 0, 5, kProbeFlags, {0, 10, {}}); });
  world.then([&] { world.slice(2, 0, 0, 10, ipc::kStable); });
  world.run();
  CHECK(world.outcomes() == Texts{"SURVIVED 1 @5", "DONE 2 @10"});
  CHECK(world.plugin.times("create") == 2);
  CHECK(world.plugin.durable.size() == 10);
}

TEST_CASE("a probe is a group of its own, and no bound on weight or time flushes it", "[worker]") {
  TaskWorld world;
  world.parameters.flush.records_max = 2;
  world.parameters.flush.interval_ms = 1;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 3;
  world.source.log(1).append(4);
  world.then([&] {
    world.slice(1, 1, 0, 2, ipc::kStable);
    world.slice_with_terms(2, 0, 10, kProbeFlags, {0, 10, {}});
    world.slice(3, 1, 2, 4, ipc::kStable);
  });
  world.run();
  CHECK(world.plugin.durable == Texts{"1@0", "1@1", "1@2", "1@3"});
  CHECK(world.report_of(2, ipc::ReportKind::Survived).report.next_offset == 10);
}

TEST_CASE(
    "a probe whose batch a plugin fails is FAILED, what it fails of its records is nobody's yet",
    "[worker]") {
  TaskWorld world;
  world.parameters.tolerance = ErrorsTolerance::All;
  world.source.log(0).append(3);
  world.source.log(0).append(1, "bad");
  world.source.log(0).append(1, "boom");
  world.then([&] { world.slice_with_terms(1, 0, 4, kProbeFlags, {0, 5, {}}); });
  world.then([&] { world.slice_with_terms(2, 4, 5, kProbeFlags, {0, 5, {}}); });
  world.run();
  CHECK(world.outcomes() == Texts{"SURVIVED 1 @4", "FAILED 2 @4"});
  CHECK(world.report_of(1, ipc::ReportKind::Survived).report.errant == 0);
  CHECK(world.logged().find("is skipped") == std::string::npos);
}

TEST_CASE("STOP and REVOKE in the middle of a probe give it back at its start", "[worker]") {
  for (const bool is_stop : {true, false}) {
    TaskWorld world;
    world.interrupt_first_put(is_stop);
    world.then([&] { world.slice_with_terms(1, 0, 10, kProbeFlags, {0, 10, {}}); });
    world.run();
    CHECK(world.outcomes() == Texts{"RELEASED 1 @0"});
    CHECK(world.plugin.durable.empty());
  }
}

TEST_CASE("a connection that is lost during a probe costs no verdict", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.source.log(0).block_records = 5;
  world.plugin.answers["put"] = {SLUICE_OK, SLUICE_NOT_CONNECTED};
  world.then([&] { world.slice_with_terms(1, 0, 10, kProbeFlags, {0, 10, {}}); });
  world.run();
  CHECK(world.outcomes() == Texts{"SURVIVED 1 @10"});
  CHECK(world.plugin.times("flush") == 0);
}

TEST_CASE("what is excluded from a slice no plugin sees, and the slice is whole (F3.4)",
          "[worker]") {
  const std::size_t block_records = GENERATE(1, 2, 3, 1000);
  const std::vector<std::int64_t> excluded = GENERATE(
      std::vector<std::int64_t>{0}, std::vector<std::int64_t>{9}, std::vector<std::int64_t>{4, 5},
      std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  TaskWorld world;
  world.source.log(0).append(12);
  world.source.log(0).block_records = block_records;
  world.then([&] {
    world.slice_with_terms(1, 0, 10, ipc::kExclude | ipc::kAlone | ipc::kStable, {0, 10, excluded});
    world.slice(2, 0, 10, 12, ipc::kStable);
  });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10", "DONE 2 @12"});
  Texts expected;
  for (std::int64_t offset = 0; offset < 12; ++offset) {
    const bool is_out = std::find(excluded.begin(), excluded.end(), offset) != excluded.end();
    if (!is_out) expected.push_back("0@" + std::to_string(offset));
  }
  CHECK(world.plugin.durable == expected);
  CHECK(world.report_of(1, ipc::ReportKind::Done).report.records == 10 - excluded.size());
}

TEST_CASE("an excluded record at the end of the log does not hold up its slice", "[worker]") {
  TaskWorld world;
  world.source.log(0).append(10);
  world.source.log(0).tells_eof = false;
  world.source.log(0).tells_position = false;
  world.then([&] { world.slice_with_terms(1, 0, 10, ipc::kExclude | ipc::kStable, {0, 10, {9}}); });
  world.run();
  CHECK(world.outcomes() == Texts{"DONE 1 @10"});
}

TEST_CASE("terms that do not fit their command are nonsense: the worker leaves", "[worker]") {
  const ipc::SliceTerms terms =
      GENERATE(ipc::SliceTerms{5, 20, {}}, ipc::SliceTerms{0, 9, {}}, ipc::SliceTerms{0, 20, {20}},
               ipc::SliceTerms{0, 20, {4, 4}}, ipc::SliceTerms{0, 20, {5, 4}});
  TaskWorld world;
  world.source.log(0).append(20);
  world.then([&] { world.slice_with_terms(1, 0, 10, kProbeFlags, terms); });
  CHECK(world.run() == kExitInternal);
  CHECK(world.logged().find("terms do not fit its range") != std::string::npos);
  CHECK(world.outcomes().empty());
}

}  // namespace sluice::worker
