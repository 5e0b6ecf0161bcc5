// B03: a start at "latest" loses no first record, and topics.regex means whole names.
#include <catch2/catch.hpp>

#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

constexpr char kLatest[] =
    "connector.class = \"ledger\"\n\"consumer.override.auto.offset.reset\" = \"latest\"\n"
    "expansion.detect.ms = 200\n";

std::int64_t count_of(const JobFixture& kafka, const std::string& topic) {
  std::int64_t count = 0;
  for (const auto& line : kafka.ledger()) count += line.topic == topic ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a partition that was empty at a start at latest loses nothing that came later (B03)",
          "[latest]") {
  JobFixture kafka;
  kafka.topic("orders", 2);
  kafka.produce("orders", 0, 7);  // before the job: not of interest to it
  const auto job = kafka.job("tail", std::string{kLatest} + "topics = [\"orders\"]\n");
  {
    const auto run = kafka.run(job);
    INFO(run->err());
    REQUIRE(
        eventually([&] { return run->err().find("orders-1 starts at 0") != std::string::npos; }));
    kafka.produce("orders", 0, 1);
    REQUIRE(eventually([&] { return kafka.deliveries().size() == 1; }));
    REQUIRE(run->stop(std::chrono::seconds{20}) == 0);
  }
  kafka.produce("orders", 1, 10);
  const auto run = kafka.run(job);
  INFO(run->err());
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 11; }));
  const auto delivered = kafka.deliveries();
  CHECK(delivered.contains({0, 7}));
  CHECK_FALSE(delivered.contains({0, 6}));
  for (std::int64_t offset = 0; offset < 10; ++offset) CHECK(delivered.contains({1, offset}));
}

TEST_CASE("a pattern that no topic matches is told, and waited for (B03)", "[latest]") {
  JobFixture kafka;
  kafka.topic("FTX-old", 1);
  const auto run = kafka.run(kafka.job("tail", std::string{kLatest} + "topics.regex = \"FTX\"\n"));
  INFO(run->err());
  CHECK(eventually([&] {
    return kafka.sluice_job({"show", "tail"}).out.find("topics.regex") != std::string::npos;
  }));
  kafka.topic("FTX", 1);
  kafka.produce("FTX", 0, 3);
  CHECK(eventually([&] { return count_of(kafka, "FTX") == 3; }));
  CHECK(eventually([&] {
    return kafka.sluice_job({"show", "tail"}).out.find("topics.regex") == std::string::npos;
  }));
}

TEST_CASE("a topic that appears is read from its beginning if its whole name matches (B03)",
          "[latest]") {
  JobFixture kafka;
  kafka.topic("FTX-old", 1);
  kafka.topic("trades-FTX-x", 1);
  kafka.produce("trades-FTX-x", 0, 5);
  const auto run =
      kafka.run(kafka.job("tail", std::string{kLatest} + "topics.regex = \"FTX-.*\"\n"));
  INFO(run->err());
  REQUIRE(
      eventually([&] { return run->err().find("FTX-old-0 starts at 0") != std::string::npos; }));
  kafka.topic("FTX-new", 1);
  kafka.produce("FTX-new", 0, 3);
  kafka.produce("FTX-old", 0, 2);
  REQUIRE(eventually([&] { return kafka.ledger().size() == 5; }));
  CHECK(count_of(kafka, "FTX-new") == 3);
  CHECK(count_of(kafka, "FTX-old") == 2);
  CHECK(count_of(kafka, "trades-FTX-x") == 0);
}

TEST_CASE("topics.regex without a dot and a star is one topic's name (B03)", "[latest]") {
  JobFixture kafka;
  for (const std::string topic : {"FTX", "FTX-old", "old-FTX"}) {
    kafka.topic(topic, 1);
    kafka.produce(topic, 0, 4);
  }
  const auto run = kafka.run(kafka.job(
      "archive", "mode = \"once\"\nconnector.class = \"ledger\"\ntopics.regex = \"FTX\"\n"));
  REQUIRE(run->wait() == 0);
  INFO(run->err());
  CHECK(kafka.ledger().size() == 4);
  CHECK(count_of(kafka, "FTX") == 4);
}

TEST_CASE("topics found by a pattern go on where they were after a restart (S5)", "[latest]") {
  JobFixture kafka;
  kafka.topic("FTX-a", 1);
  kafka.topic("FTX-b", 1);
  kafka.produce("FTX-a", 0, 3);
  kafka.produce("FTX-b", 0, 3);
  const auto job = kafka.job(
      "archive", "mode = \"once\"\nconnector.class = \"ledger\"\ntopics.regex = \"FTX-[ab]\"\n");
  REQUIRE(kafka.run(job)->wait() == 0);
  kafka.produce("FTX-b", 0, 2);
  REQUIRE(kafka.run(job)->wait() == 0);
  CHECK(kafka.ledger().size() == 8);
}

}  // namespace sluice::test
