// slicer.assignment = linear (slicer.md A3) with real processes: where partitions are is arithmetic
// over the number of workers that the job began with, which a restart remembers.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <vector>

#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

namespace json = boost::json;

constexpr int kPartitions = 6;
constexpr std::int64_t kRecords = 20;

using Workers = std::vector<std::int64_t>;  ///< by partition; -1: none

void put_job(const JobFixture& kafka, int tasks) {
  std::filesystem::create_directories(kafka.jobs_dir());
  std::ofstream{kafka.jobs_dir() / "archive.toml"}
      << "name = \"archive\"\ntopics = [\"orders\"]\nconnector.class = \"ledger\"\n"
      << "slicer.assignment = \"linear\"\nworker.rebalance.delay.ms = \"1s\"\ntasks.max = " << tasks
      << "\nfile = \"" << kafka.ledger_file().string() << "\"\n";
}

json::value shown(const JobFixture& kafka) {
  const auto reply = kafka.sluice_job({"show", "archive", "--json"});
  return reply.exit == 0 ? json::parse(reply.out) : json::value{};
}

Workers workers(const JobFixture& kafka) {
  Workers all(kPartitions, -1);
  const auto job = shown(kafka);
  if (!job.is_object()) return all;
  for (const auto& entry : job.at("partitions").as_array()) {
    const auto& worker = entry.at("worker");
    if (worker.is_null()) continue;
    all.at(entry.at("partition").to_number<std::size_t>()) = worker.to_number<std::int64_t>();
  }
  return all;
}

pid_t pid_of(const JobFixture& kafka, int slot) {
  const auto job = shown(kafka);
  for (const auto& worker : job.at("workers").as_array()) {
    if (worker.at("slot") == json::value(slot)) return worker.at("pid").to_number<pid_t>();
  }
  return 0;
}

std::int64_t moves(const JobFixture& kafka) {
  return shown(kafka).at("counts").at("moves").to_number<std::int64_t>();
}

/// A worker that takes long to start has its part run by others, until it is there.
bool all_up(const JobFixture& kafka, int tasks) {
  return eventually([&] {
    const auto job = shown(kafka);
    return job.is_object() && job.at("workers_up") == json::value(tasks);
  });
}

bool become(const JobFixture& kafka, const Workers& expected) {
  return eventually([&] { return workers(kafka) == expected; });
}

void more(JobFixture& kafka, std::size_t rounds) {
  for (int partition = 0; partition < kPartitions; ++partition) {
    kafka.produce("orders", partition, kRecords);
  }
  REQUIRE(eventually([&] { return kafka.deliveries().size() == rounds * kPartitions * kRecords; }));
}

}  // namespace

TEST_CASE("linear: one worker more moves one other's part, also remembered by the next host (A3)",
          "[linear]") {
  JobFixture kafka;
  kafka.topic("orders", kPartitions);
  put_job(kafka, 3);
  auto host = kafka.host();
  INFO(kafka.sluice_job({"show", "archive"}).out);
  REQUIRE(become(kafka, {0, 1, 2, 0, 1, 2}));
  more(kafka, 1);
  REQUIRE(kafka.sluice_job({"workers", "archive", "--tasks-max", "4"}).exit == 0);
  REQUIRE(become(kafka, {0, 1, 2, 3, 1, 2}));
  more(kafka, 2);
  // From 4 workers on it would be 0 1 2 3 0 1, had the host forgotten that the job began with 3.
  host->signal(SIGKILL);
  host->wait();
  put_job(kafka, 4);
  host = kafka.host();
  REQUIRE(become(kafka, {0, 1, 2, 3, 1, 2}));
  more(kafka, 3);
  CHECK(eventually([&] { return kafka.sluice_job({"audit", "archive"}).exit == 0; }));
}

TEST_CASE("linear: a killed worker's partitions are run by others, and come home (A2, A3)",
          "[linear]") {
  JobFixture kafka;
  kafka.topic("orders", kPartitions);
  put_job(kafka, 3);
  const auto host = kafka.host();
  REQUIRE(all_up(kafka, 3));
  REQUIRE(become(kafka, {0, 1, 2, 0, 1, 2}));
  more(kafka, 1);
  const auto before = moves(kafka);
  REQUIRE(::kill(pid_of(kafka, 1), SIGKILL) == 0);
  CHECK(eventually([&] { return moves(kafka) >= before + 2; }));
  more(kafka, 2);
  CHECK(become(kafka, {0, 1, 2, 0, 1, 2}));
  more(kafka, 3);
  CHECK(eventually([&] { return kafka.sluice_job({"audit", "archive"}).exit == 0; }));
}

}  // namespace sluice::test
