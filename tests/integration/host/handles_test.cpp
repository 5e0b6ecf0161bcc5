// B15: what dead workers leave behind in the host.
#include <catch2/catch.hpp>
#include <map>

#include "integration/host/job_fixture.hpp"
#include "integration/host/observed_run.hpp"

namespace sluice::test {
namespace {

// Many slots: the respawn back-off of each doubles with its losses, and five are over in 6 s.
constexpr int kSlots = 40;
constexpr int kKills = 200;

/// The latest worker of each slot, if it is READY and was not lost since.
std::map<std::int64_t, std::int64_t> ready_workers(const ObservedRun& run) {
  std::map<std::int64_t, std::int64_t> pids;
  for (const auto& event : run.events("ready")) {
    pids[number_of(event, "slot")] = number_of(event, "pid");
  }
  for (const auto& event : run.events("lost")) {
    const auto found = pids.find(number_of(event, "slot"));
    if (found != pids.end() && found->second == number_of(event, "pid")) pids.erase(found);
  }
  return pids;
}

}  // namespace

TEST_CASE("200 workers killed one after the other leave no descriptor, thread or segment (B15)",
          "[handles]") {
  JobFixture kafka;
  kafka.topic("orders", kSlots);
  ObservedOptions options;
  options.jobs = {kafka.job("archive",
                            "connector.class = \"ledger\"\ntopics = [\"orders\"]\n"
                            "tasks.max = " +
                                std::to_string(kSlots) + "\n")};
  options.bootstrap_servers = kafka.cluster().bootstrap_servers();
  options.state_dir = kafka.folder().path() / "state";
  options.output = kafka.folder().path() / "observed";
  ObservedRun run{options};
  const auto all_ready = [&] { return ready_workers(run).size() == kSlots; };
  REQUIRE(eventually(all_ready, std::chrono::seconds{60}));
  const auto before = run.census();
  for (int kill = 0; kill < kKills; ++kill) {
    const auto slot = kill % kSlots;
    REQUIRE(eventually([&] { return ready_workers(run).contains(slot); }));
    const auto victim = ready_workers(run).at(slot);
    REQUIRE(::kill(static_cast<pid_t>(victim), SIGKILL) == 0);
    REQUIRE(eventually([&] { return !ready_workers(run).contains(slot); }));
  }
  REQUIRE(eventually(all_ready, std::chrono::seconds{60}));
  const auto after = run.census();
  CHECK(run.events("lost").size() == kKills);
  CHECK(after.threads == before.threads);
  CHECK(after.segments == before.segments);
  // Connections to the broker and heaps come and go, but not one with every dead worker.
  CHECK(after.descriptors < before.descriptors + kKills / 4);
  CHECK(after.mappings < before.mappings + kKills / 4);
  kafka.produce("orders", 7, 5);
  CHECK(eventually([&] { return kafka.deliveries().size() == 5; }));
  INFO(run.program().err());
  CHECK(run.program().stop() == 0);
}

}  // namespace sluice::test
