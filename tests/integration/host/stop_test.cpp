// B25: SIGTERM with work in flight. The host drains, exits 0, and the next start goes on.
#include <catch2/catch.hpp>
#include <thread>

#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

constexpr char kSlowJob[] =
    "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\ntasks.max = 2\n"
    "slice.max.records = 500\ntask.stop.timeout.ms = 10000\n";

}  // namespace

TEST_CASE(
    "stopped ten times with work in flight, nothing is lost and nothing delivered twice (B25)",
    "[stop]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  for (int partition = 0; partition < 4; ++partition) {
    kafka.produce_same("orders", partition, 2500, "slow:1");
  }
  const auto job = kafka.job("archive", kSlowJob);
  for (int stop = 0; stop < 10; ++stop) {
    const auto before = kafka.ledger().size();
    const auto run = kafka.run(job);
    // A stop in the middle of the work, not before it.
    REQUIRE(eventually([&] { return !run->running() || kafka.ledger().size() > before + 20; }));
    INFO("stop " << stop << "\n" << run->err());
    REQUIRE(run->stop(std::chrono::seconds{20}) == 0);
  }
  const auto last = kafka.run(job);
  INFO(last->err());
  REQUIRE(last->wait(std::chrono::seconds{100}) == 0);
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == 10'000);
  for (const auto& [where, times] : delivered) REQUIRE(times == 1);
}

TEST_CASE("SIGTERM again and again, to the very end, changes nothing of the exit code (B25)",
          "[stop]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  const auto job = kafka.job("tail", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n");
  for (int stop = 0; stop < 10; ++stop) {
    const auto before = kafka.ledger().size();
    kafka.produce("orders", 0, 10);
    const auto run = kafka.run(job);
    REQUIRE(eventually([&] { return kafka.ledger().size() > before; }));
    while (run->running()) run->signal(SIGTERM);
    INFO("stop " << stop << "\n" << run->err());
    REQUIRE(run->wait() == 0);
  }
}

TEST_CASE("a host whose SIGHUP is ignored, as under nohup, outlives its terminal", "[stop]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  const auto job = kafka.job("archive", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n");
  std::vector<std::string> command{"/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"};
  for (auto& word : kafka.run_command(job)) command.push_back(std::move(word));
  Program run{command, kafka.folder().path() / "nohup"};
  REQUIRE(eventually([&] { return run.err().find("starts at 0") != std::string::npos; }));
  run.signal(SIGHUP);
  CHECK_FALSE(eventually([&] { return !run.running(); }, std::chrono::seconds{1}));
  kafka.produce("orders", 0, 5);
  CHECK(eventually([&] { return kafka.deliveries().size() == 5; }));
  INFO(run.err());
  CHECK(run.stop() == 0);
}

TEST_CASE("a host takes as many descriptors as it may have, not only those it starts with",
          "[stop]") {
  constexpr int kWorkers = 12;
  JobFixture kafka;
  kafka.topic("orders", kWorkers);
  for (int partition = 0; partition < kWorkers; ++partition) kafka.produce("orders", partition, 5);
  const auto job = kafka.job("archive",
                             "connector.class = \"ledger\"\ntopics = [\"orders\"]\n"
                             "mode = \"once\"\ntasks.max = 12\n");
  std::vector<std::string> command{"/bin/sh", "-c", "ulimit -Sn 80; exec \"$@\"", "sh"};
  for (auto& word : kafka.run_command(job)) command.push_back(std::move(word));
  Program run{command, kafka.folder().path() / "few"};
  CHECK(run.wait() == 0);
  INFO(run.err());
  CHECK(run.err().find("Too many open files") == std::string::npos);
  CHECK(kafka.deliveries().size() == 5 * kWorkers);
}

TEST_CASE("a sink that hangs at SIGTERM costs the stop timeout, not the slice (B25)", "[stop]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 5);
  kafka.produce_value("orders", 0, "hang");
  const auto job = kafka.job("archive",
                             "connector.class = \"fault\"\ntopics = [\"orders\"]\n"
                             "slice.max.records = 5\ntask.stop.timeout.ms = 2000\n");
  {
    const auto run = kafka.run(job);
    REQUIRE(eventually([&] { return kafka.deliveries().size() >= 5; }));
    // The next slice is in the plugin's hands now or soon; either way SIGTERM must end the host.
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    run->signal(SIGTERM);
    run->signal(SIGTERM);  // a second one: nothing worse happens
    INFO(run->err());
    CHECK(run->wait(std::chrono::seconds{10}) == 0);
  }
  CHECK(kafka.deliveries().size() == 5);
}

TEST_CASE("brokers that are down at SIGTERM do not hold up the host (B25)", "[stop]") {
  JobFixture kafka;
  kafka.topic("orders", 2);
  kafka.produce("orders", 0, 10);
  const auto run = kafka.run(kafka.job(
      "tail",
      "connector.class = \"ledger\"\ntopics = [\"orders\"]\ntask.stop.timeout.ms = 1000\n"));
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 10; }));
  REQUIRE(kafka.cluster().set_down(1));
  // By then the host has asked for end offsets, as every 2 s, and is not answered for up to 10.
  REQUIRE_FALSE(eventually([&] { return !run->running(); }, std::chrono::seconds{3}));
  INFO(run->err());
  // 1 s for the worker, 3 s for the last commit, half a second for the question under way.
  CHECK(run->stop(std::chrono::seconds{8}) == 0);
}

}  // namespace sluice::test
