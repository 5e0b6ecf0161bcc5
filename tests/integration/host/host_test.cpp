// `sluice host --config F` as a service manager runs it: a folder of job files, SIGTERM at the end.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>

#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

void put_job(const JobFixture& kafka, const std::string& name, const std::string& lines) {
  std::filesystem::create_directories(kafka.jobs_dir());
  std::ofstream{kafka.jobs_dir() / (name + ".toml")} << "name = \"" << name << "\"\n" << lines;
}

std::string ledger_job(const JobFixture& kafka) {
  return "connector.class = \"ledger\"\ntopics = [\"orders\"]\nfile = \"" +
         kafka.ledger_file().string() + "\"\n";
}

}  // namespace

TEST_CASE("a job file that is wrong costs its own job only, and SIGTERM ends the host with 0",
          "[host]") {
  JobFixture kafka;
  kafka.topic("orders", 2);
  kafka.produce("orders", 0, 50);
  put_job(kafka, "archive", ledger_job(kafka));
  put_job(kafka, "broken", "connector.class = \"ledger\"\ntopics = [\"orders\"]\ntask.max = 2\n");
  const auto host = kafka.host();
  INFO(host->err());
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 50; }));
  CHECK(host->err().find("task.max") != std::string::npos);
  REQUIRE(host->stop(std::chrono::seconds{20}) == 0);
  CHECK(host->err().find("host has drained") != std::string::npos);
}

TEST_CASE("each problem of a job file is a line of the host's log", "[host]") {
  JobFixture kafka;
  put_job(kafka, "broken",
          "connector.class = \"ledger\"\ntopics = [\"orders\"]\ntask.max = 2\nslice.max = 3\n");
  const auto host = kafka.host();
  REQUIRE(eventually([&] { return host->err().find("host is up") != std::string::npos; }));
  REQUIRE(host->stop(std::chrono::seconds{20}) == 0);
  INFO(host->err());
  for (const auto* key : {"task\\.max", "slice\\.max"}) {
    const std::regex line{std::string{"(^|\n)[^ \n]+ error [^\n]*broken\\.toml:[^\n]*"} + key};
    CHECK(std::regex_search(host->err(), line));
  }
  CHECK(host->err().find("\\n") == std::string::npos);
}

TEST_CASE("log.format = journald puts a priority before every line of the host", "[host]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 5);
  put_job(kafka, "archive", ledger_job(kafka));
  const auto host = kafka.host("log.format = \"journald\"\n");
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 5; }));
  REQUIRE(host->stop(std::chrono::seconds{20}) == 0);
  std::ifstream lines{host->err_file()};
  int seen = 0;
  for (std::string line; std::getline(lines, line); ++seen) {
    INFO(line);
    CHECK(std::regex_search(line, std::regex{"^<[0-7]>"}));
  }
  CHECK(seen > 3);
}

}  // namespace sluice::test
