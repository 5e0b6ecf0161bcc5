#include "sim/scenario.hpp"

#include <algorithm>

#include "host/base/random.hpp"

namespace sluice::sim {
namespace {

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

/// Half of the runs have this trouble at all; then one in low .. high.
std::uint32_t trouble(Random& random, std::int64_t low, std::int64_t high) {
  return random.once_in(2) ? static_cast<std::uint32_t>(between(random, low, high)) : 0;
}

void choose_options(Scenario& scenario, Random& random) {
  slicer::SlicerOptions& slicer = scenario.slicer;
  slicer.mode = random.once_in(3) ? slicer::Mode::Once : slicer::Mode::Persistent;
  slicer.on_failure = static_cast<slicer::OnFailure>(between(random, 0, 2));
  slicer.dead_letters = random.once_in(2) ? slicer::DeadLetters::Topic : slicer::DeadLetters::None;
  slicer.expired =
      random.once_in(4) ? slicer::ExpiredPolicy::Latest : slicer::ExpiredPolicy::Earliest;
  slicer.slots = static_cast<std::uint32_t>(between(random, 1, 5));
  if (random.once_in(6)) slicer.assignment = slicer::Assignment::Any;
  // Of its own: what else a seed decides is not moved by it.
  const bool linear = Random{scenario.seed ^ 0xA3A3'A3A3ULL}.once_in(5);
  if (linear && slicer.assignment == slicer::Assignment::Sticky) {
    slicer.assignment = slicer::Assignment::Linear;
  }
  slicer.stable_slices = Random{scenario.seed ^ 0xC5C5'C5C5ULL}.once_in(4);
  slicer.standby = random.once_in(4) ? static_cast<std::uint32_t>(between(random, 1, 2)) : 0;
  slicer.slice_records_max = between(random, 1, 60);
  slicer.credit_slices = static_cast<std::uint32_t>(between(random, 1, 12));
  slicer.credit_records = slicer.slice_records_max * between(random, 1, 8);
  slicer.attempts_max = static_cast<std::uint32_t>(between(random, 1, 4));
  slicer.slices_per_second_max =
      static_cast<std::uint32_t>(random.once_in(4) ? between(random, 50, 500) : 20'000);
  slicer.rebalance_delay = Milliseconds{between(random, 500, 5'000)};
  slicer.retry_delay_max = Milliseconds{2'000};
  slicer.restart_backoff = Milliseconds{between(random, 500, 5'000)};
  slicer.restarts_max = between(random, 0, 2);
  supervisor::SupervisorOptions& supervisor = scenario.supervisor;
  supervisor.slots = slicer.slots;
  supervisor.call_timeout = Milliseconds{2'000};
  supervisor.loop_timeout = Milliseconds{1'000};
  supervisor.load_timeout = Milliseconds{2'000};
  supervisor.stop_timeout = Milliseconds{3'000};
  supervisor.backoff_max = Milliseconds{3'000};
}

void choose_records(Scenario& scenario, Random& random) {
  scenario.partitions = static_cast<std::int32_t>(between(random, 1, 10));
  if (scenario.slicer.mode == slicer::Mode::Persistent && random.once_in(3)) {
    scenario.partitions_later = static_cast<std::int32_t>(between(random, 1, 2));
  }
  scenario.start_at_latest = random.once_in(5);
  scenario.backlog = random.once_in(4) ? 0 : between(random, 1, 800);
  scenario.produced = scenario.slicer.mode == slicer::Mode::Persistent ? between(random, 0, 1'500)
                                                                       : between(random, 0, 200);
  scenario.hole_one_in = trouble(random, 2, 20);
  if (!random.once_in(2)) return;
  const std::int64_t bad = between(random, 1, 6);
  for (std::int64_t i = 0; i < bad && scenario.backlog > 0; ++i) {
    const RecordAt at{static_cast<std::int32_t>(between(random, 0, scenario.partitions - 1)),
                      between(random, 0, scenario.backlog - 1)};
    if (scenario.hole(at.partition, at.offset)) continue;
    scenario.bad[at] = static_cast<Badness>(between(random, 0, 6));
  }
}

void choose_troubles(Scenario& scenario, Random& random) {
  scenario.troubled_s = between(random, 2, 25);
  scenario.batch_records = between(random, 1, 20);
  scenario.flush_records = between(random, 1, 200);
  scenario.put_us = between(random, 1, 2'000);
  scenario.flush_us = between(random, 10, 40'000);
  if (random.once_in(3))
    scenario.graceful_restarts = static_cast<std::uint32_t>(between(random, 1, 2));
  if (random.once_in(6)) return;  // a quiet world
  Troubles& troubles = scenario.troubles;
  troubles.kill_one_in_s = trouble(random, 2, 10);
  troubles.exit_one_in_s = trouble(random, 5, 20);
  troubles.freeze_one_in_s = trouble(random, 4, 20);
  troubles.garbage_one_in_s = trouble(random, 4, 20);
  troubles.lost_hint_one_in = trouble(random, 2, 10);
  troubles.failed_sample_one_in = trouble(random, 2, 10);
  troubles.short_end_one_in = trouble(random, 5, 50);
  troubles.false_expiry_one_in = trouble(random, 20, 100);
  troubles.host_crash_one_in_s = trouble(random, 3, 12);
  troubles.broker_away_one_in_s = trouble(random, 4, 15);
  troubles.slots_change_one_in_s = trouble(random, 3, 10);
  troubles.expire_one_in_s = trouble(random, 3, 10);
  troubles.recover_one_in_s = trouble(random, 1, 5);
  troubles.disk_us_max = random.once_in(3) ? between(random, 10'000, 800'000) : 2'000;
  troubles.doorbell_us_max = random.once_in(3) ? between(random, 1'000, 100'000) : 200;
  troubles.reap_us_max = random.once_in(3) ? between(random, 10'000, 3'000'000) : 5'000;
}

/// A job that runs once looks at its topic once: what is put in its place then is beyond it.
void choose_shrinking(Scenario& scenario, Random& random) {
  scenario.troubles.truncate_one_in_s = random.once_in(3) ? trouble(random, 3, 10) : 0;
  if (scenario.slicer.mode == slicer::Mode::Once || !random.once_in(4)) return;
  scenario.troubles.recreate_one_in_s = trouble(random, 3, 10);
}

}  // namespace

Scenario scenario_of(std::uint64_t seed) {
  Random random{seed * 0x9E37'79B9'7F4A'7C15ULL + 1};
  Scenario scenario;
  scenario.seed = seed;
  choose_options(scenario, random);
  choose_troubles(scenario, random);
  choose_records(scenario, random);
  if (!scenario.quiet()) choose_shrinking(scenario, random);
  return scenario;
}

bool Scenario::hole(std::int32_t partition, std::int64_t offset) const {
  if (hole_one_in == 0) return false;
  Random random{seed ^ (static_cast<std::uint64_t>(partition) << 40) ^
                static_cast<std::uint64_t>(offset)};
  return random.once_in(hole_one_in);
}

bool Scenario::quiet() const {
  const Troubles& t = troubles;
  return bad.empty() && t.kill_one_in_s + t.exit_one_in_s + t.freeze_one_in_s + t.garbage_one_in_s +
                                t.host_crash_one_in_s + t.expire_one_in_s + t.false_expiry_one_in +
                                t.truncate_one_in_s + t.recreate_one_in_s ==
                            0;
}

std::string Scenario::summary() const {
  return std::string{slicer.mode == slicer::Mode::Once ? "once" : "persistent"} + ", " +
         std::to_string(partitions) + "+" + std::to_string(partitions_later) + " partitions, " +
         std::to_string(slicer.slots) + " slots, backlog " + std::to_string(backlog) +
         ", produced " + std::to_string(produced) + ", slices of " +
         std::to_string(slicer.slice_records_max) + ", attempts " +
         std::to_string(slicer.attempts_max) + ", " + std::to_string(bad.size()) + " bad records" +
         (slicer.assignment == slicer::Assignment::Linear ? ", linear" : "") +
         (slicer.stable_slices ? ", stable" : "") + (quiet() ? ", quiet" : "");
}

}  // namespace sluice::sim
