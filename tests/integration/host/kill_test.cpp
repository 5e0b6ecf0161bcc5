// SIGKILL to workers and to the host: what was promised holds without anybody's goodbye.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

constexpr char kLedgerJob[] =
    "mode = \"once\"\nconnector.class = \"ledger\"\ntopics = [\"orders\"]\ntasks.max = 2\n"
    "slice.max.records = 250\n";

}  // namespace

TEST_CASE("a worker killed with SIGKILL costs no record, and its neighbour keeps its pid (B15 a)",
          "[kill]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  for (int partition = 0; partition < 4; ++partition) {
    kafka.produce("orders", partition, 2500, "slow:1");
  }
  const auto run =
      kafka.run(kafka.job("archive",
                          "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\n"
                          "tasks.max = 2\nslice.max.records = 250\n"));
  REQUIRE(eventually([&] { return kafka.ledger().size() > 500; }));
  const auto workers = processes_below(run->pid());
  REQUIRE(workers.size() == 2);
  ::kill(workers.front(), SIGKILL);
  INFO(run->err());
  REQUIRE(run->wait(std::chrono::seconds{100}) == 0);
  const auto delivered = kafka.deliveries();
  REQUIRE(delivered.size() == 10'000);
  std::set<std::int64_t> pids;
  std::size_t twice = 0;
  for (const auto& line : kafka.ledger()) pids.insert(line.pid);
  for (const auto& [where, times] : delivered) {
    REQUIRE(times <= 2);
    twice += times == 2 ? 1 : 0;
  }
  CHECK(pids.contains(workers.back()));
  CHECK(pids.size() <= 3);
  // Only what was in flight in the killed worker may come again: its flush group.
  CHECK(twice <= 2500);
  CHECK(run->err().find("worker is gone") != std::string::npos);
}

TEST_CASE(
    "no worker outlives a host killed with SIGKILL by more than 2 s, and nothing is lost (B25)",
    "[kill]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  for (int partition = 0; partition < 4; ++partition) kafka.produce("orders", partition, 5000);
  const auto job = kafka.job("archive", kLedgerJob);
  for (int kills = 0; kills < 5; ++kills) {
    const auto before = kafka.ledger().size();
    const auto run = kafka.run(job);
    REQUIRE(eventually([&] { return !run->running() || kafka.ledger().size() > before + 300; }));
    if (!run->running()) break;
    const auto workers = processes_below(run->pid());
    run->kill();
    for (const auto worker : workers) {
      CHECK(eventually([worker] { return ::kill(worker, 0) != 0; }, std::chrono::seconds{2}));
    }
  }
  const auto last = kafka.run(job);
  INFO(last->err());
  REQUIRE(last->wait() == 0);
  CHECK(kafka.deliveries().size() == 20'000);
}

}  // namespace sluice::test
