// `sluice run` from its command line to the sink's file.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "integration/host/job_fixture.hpp"
#include "integration/host/mapped_plugin.hpp"
#include "integration/host/observed_run.hpp"

namespace sluice::test {
namespace {

constexpr char kOnceLedger[] =
    "mode = \"once\"\nconnector.class = \"ledger\"\ntopics = [\"orders\"]\ntasks.max = 2\n"
    "slice.max.records = 100\n";

boost::json::object summary(const Program& run) {
  return boost::json::parse(run.out()).as_object();
}

}  // namespace

TEST_CASE("a once job delivers every record exactly once and ends by itself", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  for (int partition = 0; partition < 3; ++partition) kafka.produce("orders", partition, 1000);
  const auto run = kafka.run(kafka.job("archive", kOnceLedger));
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  const auto delivered = kafka.deliveries();
  REQUIRE(delivered.size() == 3000);
  for (const auto& [where, times] : delivered) REQUIRE(times == 1);
  const auto words = summary(*run);
  CHECK(words.at("state") == "COMPLETED");
  CHECK(words.at("records_read") == 3000);
  CHECK(words.at("records_delivered") == 3000);
  CHECK(words.at("worker_restarts") == 0);
  CHECK(words.at("frontiers").as_array().size() == 4);
}

TEST_CASE("a once job over empty partitions ends by itself", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 3);
  const auto run = kafka.run(kafka.job("archive", kOnceLedger));
  INFO(run->err());
  CHECK(run->wait() == 0);
  CHECK(kafka.ledger().empty());
}

TEST_CASE("the next run of a once job delivers only what has come since (S1, S5)", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 10);
  const auto job = kafka.job("archive", kOnceLedger);
  REQUIRE(kafka.run(job)->wait() == 0);
  kafka.produce("orders", 0, 5);
  const auto run = kafka.run(job);
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == 15);
  for (const auto& [where, times] : delivered) CHECK(times == 1);
}

TEST_CASE("a persistent job follows the topic until SIGTERM, then exits 0", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 2);
  const auto run =
      kafka.run(kafka.job("tail", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n"));
  REQUIRE(eventually([&] { return run->err().find("starts at 0") != std::string::npos; }));
  kafka.produce("orders", 1, 20);
  CHECK(eventually([&] { return kafka.deliveries().size() == 20; }));
  kafka.produce("orders", 0, 5);
  CHECK(eventually([&] { return kafka.deliveries().size() == 25; }));
  INFO(run->err());
  CHECK(run->stop() == 0);
  CHECK(summary(*run).at("state") == "STOPPED");
}

TEST_CASE(
    "a topic that is missing is waited for, not created, and work starts when it appears (B22)",
    "[run]") {
  JobFixture kafka;
  constexpr int kUnknownTopic = 3;
  // The mock cluster makes a topic that somebody asks for, so its absence is said for it.
  kafka.topic("orders", 1);
  kafka.cluster().set_topic_error("orders", kUnknownTopic);
  const auto run = kafka.run(kafka.job("archive", kOnceLedger));
  REQUIRE(eventually([&] {
    return run->err().find("topic orders: the topic does not exist") != std::string::npos;
  }));
  CHECK(run->running());
  kafka.cluster().set_topic_error("orders", 0);
  kafka.produce("orders", 0, 7);
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  CHECK(kafka.deliveries().size() == 7);
}

TEST_CASE("a configuration error is told with file, line and nearest key, and exits 78 (B22)",
          "[run]") {
  JobFixture kafka;
  const auto job = kafka.job("archive", std::string{kOnceLedger} + "task.max = 3\n");
  const auto run = kafka.run(job);
  CHECK(run->wait() == 78);
  CHECK(run->err().find(job.string() + ":8:") != std::string::npos);
  CHECK(run->err().find("tasks.max") != std::string::npos);
}

TEST_CASE("a plugin's bad key is refused before anything runs, at its line", "[run]") {
  JobFixture kafka;
  const auto job = kafka.job(
      "archive", std::string{kOnceLedger} +
                     "transforms = [{ name = \"f\", type = \"filter\", value.size.mim = 3 }]\n");
  const auto run = kafka.run(job);
  CHECK(run->wait() == 78);
  CHECK(run->err().find("value.size.min") != std::string::npos);
  CHECK(run->err().find(job.string() + ":8:") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(kafka.ledger_file()));
}

TEST_CASE("a transform called like its job has its own problems, not the sink's", "[run]") {
  JobFixture kafka;
  const auto job = kafka.job(
      "archive", std::string{kOnceLedger} +
                     "transforms = [{ name = \"archive\", type = \"filter\", tombstone = 3 }]\n");
  const auto run = kafka.run(job);
  CHECK(run->wait() == 78);
  CHECK(run->err().find("transforms.archive.tombstone") != std::string::npos);
}

TEST_CASE("a mistyped override is refused by librdkafka's own list, at its line", "[run]") {
  JobFixture kafka;
  const auto job =
      kafka.job("archive", std::string{kOnceLedger} + "consumer.override.fetch.min.bites = 3\n");
  const auto run = kafka.run(job);
  CHECK(run->wait() == 78);
  CHECK(run->err().find(job.string() + ":8:") != std::string::npos);
  CHECK(run->err().find("fetch.min.bites") != std::string::npos);
}

TEST_CASE("a plugin that refuses its configuration at start fails the job with its own words",
          "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  const auto job =
      kafka.folder().write("archive.toml",
                           "name = \"archive\"\nconnector.class = \"file\"\ntopics = [\"orders\"]\n"
                           "file = \"/proc/nowhere/out.jsonl\"\n");
  const auto run = kafka.run(job);
  CHECK(run->wait() == 78);
  CHECK(summary(*run).at("state") == "FAILED");
  const std::string reason{summary(*run).at("reason").as_string()};
  INFO(reason);
  CHECK(reason.find("archive: ") == 0);
  CHECK(reason.find("/proc/nowhere") != std::string::npos);
}

TEST_CASE("folders are named from where the user stands", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 5);
  const auto job = kafka.job("archive", kOnceLedger);
  const auto& folder = kafka.folder().path();
  std::vector<std::string> command{"/bin/sh", "-c", "cd \"$1\"; shift; exec \"$@\"", "sh",
                                   folder.string()};
  for (auto& word : kafka.run_command(job)) {
    if (word == kafka.state_dir().string()) word = kafka.state_dir().filename().string();
    command.push_back(std::move(word));
  }
  Program run{command, folder / "here"};
  const int ended = run.wait();
  INFO(run.err());
  CHECK(ended == 0);
  CHECK(kafka.deliveries().size() == 5);
}

TEST_CASE("an unknown plugin is refused with the nearest name", "[run]") {
  JobFixture kafka;
  const auto run =
      kafka.run(kafka.job("archive", "connector.class = \"leger\"\ntopics = [\"orders\"]\n"));
  CHECK(run->wait() == 78);
  CHECK(run->err().find("leger") != std::string::npos);
  CHECK(run->err().find("ledger") != std::string::npos);
}

TEST_CASE("a second host on a state directory waits and names the first (S8)", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  const auto job = kafka.job("tail", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n");
  const auto first = kafka.run(job);
  REQUIRE(eventually([&] { return first->err().find("starts at 0") != std::string::npos; }));
  const auto second = kafka.run(job);
  CHECK(eventually(
      [&] { return second->err().find(std::to_string(first->pid())) != std::string::npos; }));
  CHECK(second->running());
  CHECK(first->stop() == 0);
  CHECK(eventually([&] { return second->err().find("starts at 0") != std::string::npos; }));
  CHECK(second->stop() == 0);
}

// The host says it of itself: it is not dumpable, so only root could read its maps from outside.
TEST_CASE("no plugin is mapped into the host", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 5);
  ObservedOptions options;
  options.jobs = {kafka.job("tail", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n")};
  options.bootstrap_servers = kafka.cluster().bootstrap_servers();
  options.state_dir = kafka.folder().path() / "state";
  options.output = kafka.folder().path() / "observed";
  ObservedRun run{options};
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 5; }));
  const auto census = run.census();
  REQUIRE(census.mappings > 0);
  CHECK(census.plugins == 0);
}

TEST_CASE("a worker has its plugin, and the host's segment read-only", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 5);
  const auto run =
      kafka.run(kafka.job("tail", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n"));
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 5; }));
  const auto workers = processes_below(run->pid());
  REQUIRE(workers.size() == 1);
  std::istringstream worker_maps{read_file("/proc/" + std::to_string(workers.front()) + "/maps")};
  int host_segments = 0;
  int plugins = 0;
  for (std::string line; std::getline(worker_maps, line);) {
    if (is_of_plugin(line)) ++plugins;
    if (line.find("memfd:sluice-commands") == std::string::npos) continue;
    ++host_segments;
    CHECK(line.find(" r--s ") != std::string::npos);
  }
  CHECK(host_segments > 0);
  CHECK(plugins > 0);
}

TEST_CASE("with slicer.assignment = any four workers share one partition, each record once (A4)",
          "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 8'000);
  // Nothing is put before all four are there, else the first may be done before the last.
  const auto closed = kafka.folder().write("closed", "again:1000000");
  const auto run = kafka.run(kafka.job(
      "archive",
      "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\ntasks.max = 4\n"
      "slicer.assignment = \"any\"\nslice.max.records = 250\nerrors.retry.delay.max.ms = 100\n"
      "outage.file = \"" +
          closed.string() + "\"\n"));
  const auto workers_up = [&] {
    const auto shown = kafka.sluice_job({"show", "archive", "--json"});
    if (shown.exit != 0) return false;
    return boost::json::parse(shown.out).at("workers_up") == boost::json::value(4);
  };
  REQUIRE(eventually(workers_up));
  std::filesystem::remove(closed);
  REQUIRE(run->wait() == 0);
  INFO(run->err());
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == 8'000);
  for (const auto& [where, times] : delivered) REQUIRE(times == 1);
  std::set<std::int64_t> pids;
  for (const auto& line : kafka.ledger()) pids.insert(line.pid);
  CHECK(pids.size() == 4);
}

TEST_CASE("more tasks than partitions are accepted with a warning that counts the idle ones (A4)",
          "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 5);
  const auto run = kafka.run(kafka.job("archive",
                                       "mode = \"once\"\nconnector.class = \"ledger\"\n"
                                       "topics = [\"orders\"]\ntasks.max = 3\n"));
  REQUIRE(run->wait() == 0);
  CHECK(run->err().find("tasks.max is 3, partitions are 1: 2 workers will idle") !=
        std::string::npos);
}

}  // namespace sluice::test
