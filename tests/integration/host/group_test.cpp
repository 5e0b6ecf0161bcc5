// Who else lives in the group `connect-JOB` (slicer.md S3), where the group itself says so: by
// refusing a commit. This is what a group tells whose protocol cannot be described.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "host/kafka/admin.hpp"
#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

constexpr std::int16_t kOffsetCommit = 8;
constexpr int kUnknownMemberId = 25;
constexpr char kLedger[] = "connector.class = \"ledger\"\ntopics = [\"orders\"]\n";
constexpr char kSentence[] =
    "group connect-archive has active members: stop the Kafka Connect connector first";

bool says(const Program& run, const std::string& text) {
  return run.err().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a group that refuses its own offsets, committed again, is waited for (S3)", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 10);
  const auto job = kafka.job("archive", std::string{"mode = \"once\"\n"} + kLedger);
  REQUIRE(kafka.run(job)->wait() == 0);
  kafka.produce("orders", 0, 5);
  kafka.cluster().push_request_errors(kOffsetCommit, kUnknownMemberId, 1000);
  const auto run = kafka.run(job);
  REQUIRE(eventually([&] { return says(*run, kSentence); }));
  CHECK(kafka.ledger().size() == 10);
  // The members are gone: it goes on by itself.
  kafka.cluster().clear_request_errors(kOffsetCommit);
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  CHECK(kafka.ledger().size() == 15);
  CHECK_FALSE(says(*run, "the job halts"));
}

TEST_CASE("a commit refused at run time halts every partition, and a new start goes on (S3)",
          "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 3);
  const auto job = kafka.job("archive", kLedger);
  {
    const auto run = kafka.run(job);
    REQUIRE(eventually([&] { return says(*run, "orders-2 starts at 0"); }));
    kafka.cluster().push_request_errors(kOffsetCommit, kUnknownMemberId, 1);
    for (int partition = 0; partition < 3; ++partition) kafka.produce("orders", partition, 10);
    INFO(run->err());
    for (const auto* name : {"orders-0", "orders-1", "orders-2"}) {
      REQUIRE(eventually([&] { return says(*run, std::string{name} + " halted at offset "); }));
    }
    CHECK(says(*run, std::string{kSentence} + "; the job halts"));
    for (int partition = 0; partition < 3; ++partition) kafka.produce("orders", partition, 10);
    REQUIRE(eventually([&] { return says(*run, "3 partitions halted; waiting: "); }));
    CHECK(kafka.ledger().size() <= 30);
    CHECK(run->stop() == 0);
  }
  const auto next = kafka.run(job, {"--once"});
  INFO(next->err());
  REQUIRE(next->wait() == 0);
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == 60);
  for (const auto& [where, times] : delivered) CHECK(times == 1);
}

TEST_CASE("restart of a job that halted for its group asks the group again, and commits to it (S3)",
          "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  const auto run = kafka.run(kafka.job("archive", kLedger));
  REQUIRE(eventually([&] { return says(*run, "orders-0 starts at 0"); }));
  kafka.cluster().push_request_errors(kOffsetCommit, kUnknownMemberId, 1);
  kafka.produce("orders", 0, 10);
  INFO(run->err());
  REQUIRE(eventually([&] { return says(*run, "orders-0 halted at offset "); }));
  REQUIRE(kafka.sluice_job({"restart", "archive"}).exit == 0);
  kafka.produce("orders", 0, 10);
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 20; }));
  const auto shown = [&] { return kafka.sluice_job({"show", "archive"}).out; };
  CHECK(eventually([&] { return shown().find("active members") == std::string::npos; }));
  auto client =
      kafka::HostClient::create({{"bootstrap.servers", kafka.cluster().bootstrap_servers()}},
                                kafka::IsolationLevel::ReadCommitted);
  REQUIRE(client);
  const kafka::TopicPartition orders[] = {{"orders", 0}};
  CHECK(eventually([&] {
    const auto committed = (*client)->committed("connect-archive", orders, 5000);
    return committed && committed->front().offset == 20;
  }));
  CHECK(run->stop() == 0);
}

TEST_CASE(
    "what --from has chosen over another store's offsets holds, also where nothing moves (S4)",
    "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 10);
  const auto job = kafka.job("archive", kLedger);
  auto run = kafka.run(job);
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 10; }));
  REQUIRE(run->stop() == 0);
  auto client =
      kafka::HostClient::create({{"bootstrap.servers", kafka.cluster().bootstrap_servers()}},
                                kafka::IsolationLevel::ReadCommitted);
  REQUIRE(client);
  const kafka::GroupOffset foreign[] = {{{"orders", 0}, 10, "sluice/1 other 1"}};
  REQUIRE((*client)->commit_and_wait("connect-archive", foreign, 5000).outcome ==
          kafka::CommitOutcome::Committed);
  run = kafka.run(job);
  CHECK(run->wait() == 78);
  CHECK(says(*run, "was committed by another state store"));
  run = kafka.run(job, {"--from", "frontier"});
  REQUIRE(eventually([&] { return says(*run, "orders-0 starts at 10"); }));
  REQUIRE(run->stop() == 0);
  run = kafka.run(job);
  INFO(run->err());
  REQUIRE(eventually([&] { return says(*run, "orders-0 starts at 10") || !run->running(); }));
  CHECK(run->stop() == 0);
}

}  // namespace sluice::test
