// A worker may say anything that has the form of a report: the slicer must stay up, believe only
// what fits what it published, and never lose count (ipc facts 3.4, case D1 of the requirements).
#include <catch2/catch.hpp>
#include <map>
#include <utility>
#include <vector>

#include "host/base/random.hpp"
#include "unit/slicer/fixture.hpp"

namespace sluice::slicer {
namespace {

ipc::Report garbage(Random& random, const SlicerFixture& world, Slot slot) {
  ipc::Report report;
  if (world.in_flight(slot) > 0 && !random.once_in(8)) {
    const auto kind = static_cast<ipc::ReportKind>(2 + random.below(4));
    report = world.answer(slot, random.below(world.in_flight(slot)), kind);
    report.failure = static_cast<std::uint16_t>(random.below(8));
    if (random.once_in(2)) report.next_offset += static_cast<std::int64_t>(random.below(12)) - 4;
  } else {
    report.kind = static_cast<std::uint16_t>(1 + random.below(9));
    report.partition = static_cast<std::int32_t>(random.below(6)) - 1;
    report.topic = static_cast<std::uint16_t>(random.below(2));
    // A hint above the end is believed until the host's next sample (C2): not what this is about.
    report.next_offset = static_cast<std::int64_t>(random.below(310)) - 10;
    report.slice_id = random.below(50);
  }
  if (random.once_in(20)) report.fence += 1;
  if (random.once_in(20)) report.records = static_cast<std::uint32_t>(random.below(100));
  if (random.once_in(20)) report.slice_id = random.next();
  if (random.once_in(30)) report.partition = static_cast<std::int32_t>(random.next());
  return report;
}

void answer_lows(SlicerFixture& world) {
  for (const TopicPartition tp : std::exchange(world.asked_lows, {})) {
    world.slicer().low_observed(tp, 0, 300, world.now);
  }
}

}  // namespace

TEST_CASE("whatever workers say, the slicer stays up and the frontier never goes back",
          "[slicer]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random{seed};
    SlicerOptions options;
    options.slots = 2;
    options.slice_records_max = 10;
    options.credit_records = 60;
    options.attempts_max = 1 + static_cast<std::uint32_t>(random.below(3));
    options.on_failure = random.once_in(2) ? OnFailure::Park : OnFailure::Halt;
    SlicerFixture world{options};
    world.found(4, 300);
    world.all_ready();
    std::map<std::int32_t, std::int64_t> frontiers;
    for (int i = 0; i < 300; ++i) {
      const auto slot = static_cast<Slot>(random.below(2));
      world.violations.clear();
      world.send(slot, garbage(random, world, slot));
      if (random.once_in(10))
        world.slicer().worker_ready(slot, {world.incarnation(slot), 1}, world.now);
      world.advance(static_cast<std::int64_t>(random.below(300)));
      answer_lows(world);
      const std::vector<Violation> violations = world.violations;
      for (const Violation& violation : violations) {
        world.lose(violation.slot, {});
        world.ready(violation.slot);
      }
      if (random.once_in(20)) world.slicer().restart_halted(world.now);
      for (std::int32_t partition = 0; partition < 4; ++partition) {
        const PartitionStatus status = world.status(partition);
        REQUIRE(status.frontier >= frontiers[partition]);
        REQUIRE(status.durable_frontier <= status.frontier);
        frontiers[partition] = status.frontier;
      }
    }
    // Nothing that was counted is left over: with honest workers everything ends.
    world.slicer().restart_halted(world.now);
    for (Slot slot = 0; slot < 2; ++slot) {
      world.lose(slot, {});
      world.ready(slot);
    }
    for (int i = 0; i < 200; ++i) {
      world.complete_all();
      for (std::int32_t partition = 0; partition < 4; ++partition) world.sampled(partition, 300);
      world.slicer().restart_halted(world.now);
      world.advance(1'000);
      answer_lows(world);
    }
    for (std::int32_t partition = 0; partition < 4; ++partition) {
      INFO("seed " << seed << " orders-" << partition << " "
                   << wait_reason_name(world.status(partition).wait));
      REQUIRE(world.status(partition).frontier == 300);
      REQUIRE(world.status(partition).in_flight == 0);
    }
  }
}

}  // namespace sluice::slicer
