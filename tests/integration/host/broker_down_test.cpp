// B07: a leader moves, brokers are down. Two brokers; what the host itself does meanwhile is seen
// by the beat of its loop.
#include <algorithm>
#include <catch2/catch.hpp>

#include "integration/host/job_fixture.hpp"
#include "integration/host/observed_run.hpp"

namespace sluice::test {
namespace {

constexpr std::chrono::seconds kGoesOnWithin{15};
constexpr std::chrono::seconds kDown{20};
constexpr std::chrono::seconds kStopTimeout{20};
constexpr std::int64_t kAnswersWithinMs = 1000;

void must(const Result<>& result) {
  if (!result) FAIL(result.error().message());
}

void set_all(JobFixture& kafka, Result<> (kafka::MockCluster::*change)(std::int32_t)) {
  for (const int broker : {1, 2}) must((kafka.cluster().*change)(broker));
}

void require_each_once(const JobFixture& kafka, std::size_t records) {
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == records);
  CHECK(std::all_of(delivered.begin(), delivered.end(),
                    [](const auto& entry) { return entry.second == 1; }));
}

}  // namespace

TEST_CASE("after a leader moved, new records are delivered within 15 s, once (B07)",
          "[broker_down]") {
  JobFixture kafka{2};
  kafka.topic("orders", 1);
  must(kafka.cluster().set_leader("orders", 0, 1));
  kafka.produce("orders", 0, 10);
  const auto run =
      kafka.run(kafka.job("tail", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n"));
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 10; }));
  must(kafka.cluster().set_leader("orders", 0, 2));
  kafka.produce("orders", 0, 10);
  CHECK(eventually([&] { return kafka.deliveries().size() == 20; }, kGoesOnWithin));
  INFO(run->err());
  CHECK(run->stop() == 0);
  require_each_once(kafka, 20);
}

TEST_CASE(
    "with all brokers down for 20 s the host's loop never stands still, work goes on within"
    " 15 s of their return, and SIGTERM ends it while they are down again (B07)",
    "[broker_down]") {
  JobFixture kafka{2};
  kafka.topic("orders", 2);
  kafka.produce("orders", 0, 10);
  kafka.produce("orders", 1, 10);
  ObservedOptions options;
  options.jobs = {kafka.job("tail",
                            "connector.class = \"ledger\"\ntopics = [\"orders\"]\n"
                            "task.stop.timeout.ms = 20000\n")};
  options.bootstrap_servers = kafka.cluster().bootstrap_servers();
  options.state_dir = kafka.folder().path() / "state";
  options.output = kafka.folder().path() / "observed";
  ObservedRun run{options};
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 20; }));
  const auto beats_before = run.events("beat").size();
  set_all(kafka, &kafka::MockCluster::set_down);
  REQUIRE_FALSE(eventually([&] { return !run.program().running(); }, kDown));
  const auto beats = run.events("beat");
  CHECK(beats.size() > beats_before);
  for (auto i = beats_before; i < beats.size(); ++i) {
    CHECK(number_of(beats[i], "gap_ms") - number_of(beats[i], "stalled_ms") < kAnswersWithinMs);
  }
  set_all(kafka, &kafka::MockCluster::set_up);
  kafka.produce("orders", 0, 10);
  kafka.produce("orders", 1, 10);
  const bool went_on = eventually([&] { return kafka.deliveries().size() == 40; }, kGoesOnWithin);
  INFO(run.program().err());
  REQUIRE(went_on);
  REQUIRE(run.program().running());
  set_all(kafka, &kafka::MockCluster::set_down);
  REQUIRE_FALSE(eventually([&] { return !run.program().running(); }, std::chrono::seconds{3}));
  CHECK(run.program().stop(kStopTimeout) == 0);
  require_each_once(kafka, 40);
}

TEST_CASE("a leader that moves in the middle of a slice costs no offset (B07)", "[broker_down]") {
  constexpr int kRecords = 2000;
  JobFixture kafka{2};
  kafka.topic("orders", 1);
  must(kafka.cluster().set_leader("orders", 0, 1));
  for (int i = 0; i < kRecords; i += 50) kafka.produce_same("orders", 0, 50, "slow:1");
  // The client holds about a hundred records: the rest of the slice is still with the broker.
  const auto run =
      kafka.run(kafka.job("archive",
                          "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\n"
                          "slice.max.records = 5000\nworker.batch.max.records = 50\n"
                          "consumer.override.queued.min.messages = 100\n"));
  REQUIRE(eventually([&] { return kafka.ledger().size() >= 50; }));
  must(kafka.cluster().set_leader("orders", 0, 2));
  const auto delivered_then = kafka.ledger();
  CHECK(delivered_then.size() < kRecords);
  CHECK(delivered_then.front().slice_end == kRecords);
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  require_each_once(kafka, kRecords);
}

TEST_CASE(
    "a host that starts while one of two brokers is down works on the other's partitions (B07)",
    "[broker_down]") {
  JobFixture kafka{2};
  kafka.topic("orders", 2);
  for (const int partition : {0, 1}) {
    must(kafka.cluster().set_leader("orders", partition, partition + 1));
    kafka.produce("orders", partition, 10);
  }
  must(kafka.cluster().set_coordinator("connect-tail", 1));
  const auto job = kafka.job("tail", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n");
  auto run = kafka.run(job);
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 20; }));
  REQUIRE(run->stop() == 0);
  must(kafka.cluster().set_down(2));
  kafka.produce("orders", 0, 10);
  run = kafka.run(job);
  constexpr std::chrono::seconds kPatience{60};  // the other broker is waited for before
  CHECK(eventually([&] { return kafka.deliveries().size() == 30; }, kPatience));
  INFO(run->err());
  must(kafka.cluster().set_up(2));
  kafka.produce("orders", 1, 10);
  CHECK(eventually([&] { return kafka.deliveries().size() == 40; }, kPatience));
  CHECK(run->stop() == 0);
  require_each_once(kafka, 40);
}

TEST_CASE(
    "a partition whose broker is down is told, and costs another's hanging record no verdict (F2)",
    "[broker_down]") {
  JobFixture kafka{2};
  for (const auto* topic : {"orders", "bills"}) kafka.topic(topic, 1);
  must(kafka.cluster().set_leader("orders", 0, 1));
  must(kafka.cluster().set_leader("bills", 0, 2));
  must(kafka.cluster().set_coordinator("connect-tail", 1));
  kafka.produce("orders", 0, 10);
  const auto run = kafka.run(kafka.job(
      "tail",
      "connector.class = \"fault\"\ntopics = [\"orders\", \"bills\"]\ntasks.max = 2\n"
      "slice.on.failure = \"isolate\"\ntask.call.timeout.ms = 1000\nslice.max.records = 10\n"));
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 10; }));
  must(kafka.cluster().set_down(2));
  const auto is_told = [&] {
    return kafka.sluice_job({"show", "tail"}).out.find("waiting: kafka: bills-0: ") !=
           std::string::npos;
  };
  REQUIRE(eventually(is_told));
  kafka.produce("orders", 0, 14);
  kafka.produce_value("orders", 0, "hang");
  kafka.produce("orders", 0, 30);
  const bool went_on =
      eventually([&] { return kafka.deliveries().size() == 54; }, std::chrono::seconds{60});
  INFO(run->err());
  CHECK(went_on);
  CHECK(kafka.sluice_job({"gaps", "tail"}).out.find("orders-0\t24..25\tpoison") !=
        std::string::npos);
  CHECK(is_told());
  must(kafka.cluster().set_up(2));
  CHECK(eventually([&] { return !is_told(); }));
}

}  // namespace sluice::test
