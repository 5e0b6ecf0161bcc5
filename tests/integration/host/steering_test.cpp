// `sluice job` changes a running host's jobs: pause, stop, restart, recover, workers, offsets; what
// was said holds over a restart of the host (interfaces.md, "Who owns a job").
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fstream>

#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

namespace json = boost::json;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void put_job(const JobFixture& kafka, const std::string& sink, const std::string& more = {}) {
  std::filesystem::create_directories(kafka.jobs_dir());
  std::ofstream{kafka.jobs_dir() / "archive.toml"}
      << "name = \"archive\"\ntopics = [\"orders\"]\nconnector.class = \"" << sink
      << "\"\nfile = \"" << kafka.ledger_file().string() << "\"\n"
      << more;
}

/// `job show --json`; null where no host or no such job answers.
json::value shown(const JobFixture& kafka) {
  const auto reply = kafka.sluice_job({"show", "archive", "--json"});
  return reply.exit == 0 ? json::parse(reply.out) : json::value{};
}

bool is(const JobFixture& kafka, const std::string& state) {
  const auto job = shown(kafka);
  return job.is_object() && job.at("state") == json::value(state);
}

std::string becomes(const JobFixture& kafka, const std::string& state) {
  eventually([&] { return is(kafka, state); });
  return json::serialize(shown(kafka));
}

}  // namespace

TEST_CASE("a paused job keeps its workers and sees its lag grow, also after a restart of the host",
          "[steering]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 20);
  put_job(kafka, "ledger");
  auto host = kafka.host();
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 20; }));
  REQUIRE(kafka.sluice_job({"pause", "archive"}).exit == 0);
  kafka.produce("orders", 0, 30);
  CHECK(eventually([&] { return shown(kafka).at("lag") == json::value(30); }));
  const auto paused = shown(kafka);
  CHECK(paused.at("state") == json::value("PAUSED"));
  CHECK(paused.at("workers_up") == json::value(1));
  REQUIRE(host->stop() == 0);
  host = kafka.host();
  INFO(becomes(kafka, "PAUSED"));
  REQUIRE(is(kafka, "PAUSED"));
  CHECK(eventually([&] { return shown(kafka).at("lag") == json::value(30); }));
  CHECK(kafka.deliveries().size() == 20);
  REQUIRE(kafka.sluice_job({"resume", "archive"}).exit == 0);
  CHECK(eventually([&] { return kafka.deliveries().size() == 50; }));
  CHECK(eventually([&] { return kafka.sluice_job({"audit", "archive"}).exit == 0; }));
}

TEST_CASE("a stopped job has no workers, stays stopped over a restart of the host, and resumes",
          "[steering]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 20);
  put_job(kafka, "ledger");
  auto host = kafka.host();
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 20; }));
  REQUIRE(kafka.sluice_job({"stop", "archive"}).exit == 0);
  INFO(becomes(kafka, "STOPPED"));
  REQUIRE(is(kafka, "STOPPED"));
  CHECK(processes_below(host->pid()).empty());
  REQUIRE(host->stop() == 0);
  kafka.produce("orders", 0, 5);
  host = kafka.host();
  INFO(becomes(kafka, "STOPPED"));
  REQUIRE(is(kafka, "STOPPED"));
  CHECK(contains(kafka.sluice_job({"offsets", "archive"}).out, "orders-0\t0\t20\t20"));
  CHECK(kafka.sluice_job({"pause", "archive"}).exit == 1);
  REQUIRE(kafka.sluice_job({"resume", "archive"}).exit == 0);
  CHECK(eventually([&] { return kafka.deliveries().size() == 25; }));
}

TEST_CASE("restart lets a halted partition go on", "[steering]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 5);
  kafka.produce_value("orders", 0, "throw");
  const auto marks = kafka.folder().path() / "marks";
  put_job(kafka, "fault",
          "slice.attempts.max = 1\nslice.on.failure = \"halt\"\nonce.folder = \"" + marks.string() +
              "\"\n");
  std::filesystem::create_directories(marks);
  const auto host = kafka.host();
  REQUIRE(eventually([&] {
    const auto job = shown(kafka);
    return job.is_object() && job.at("halted") == json::value(1);
  }));
  REQUIRE(kafka.sluice_job({"restart", "archive"}).exit == 0);
  CHECK(eventually([&] { return kafka.deliveries().size() == 6; }));
  CHECK(eventually([&] { return shown(kafka).at("halted") == json::value(0); }));
}

TEST_CASE("a once job that has ended stays so over a restart of the host, restart begins the next",
          "[steering]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 20);
  put_job(kafka, "ledger", "mode = \"once\"\n");
  auto host = kafka.host();
  INFO(becomes(kafka, "COMPLETED"));
  REQUIRE(is(kafka, "COMPLETED"));
  kafka.produce("orders", 0, 5);
  REQUIRE(host->stop() == 0);
  host = kafka.host();
  INFO(becomes(kafka, "COMPLETED"));
  REQUIRE(is(kafka, "COMPLETED"));
  CHECK(shown(kafka).at("execution") == json::value(1));
  CHECK(kafka.sluice_job({"resume", "archive"}).exit == 1);
  REQUIRE(kafka.sluice_job({"restart", "archive"}).exit == 0);
  CHECK(eventually([&] { return kafka.deliveries().size() == 25; }));
  CHECK(eventually([&] { return is(kafka, "COMPLETED"); }));
  CHECK(shown(kafka).at("execution") == json::value(2));
}

TEST_CASE("a start does not replay what was parked, recover delivers exactly that, once (B18)",
          "[steering]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 25);
  kafka.produce_value("orders", 0, "throw");
  kafka.produce("orders", 0, 39);
  kafka.produce_value("orders", 0, "throw");
  kafka.produce("orders", 0, 34);
  const std::string park =
      "slice.max.records = 10\nslice.attempts.max = 1\nslice.on.failure = \"park\"\n";
  put_job(kafka, "fault", park);
  auto host = kafka.host();
  // What a failed slice had put before it failed is in the ledger already: lines are counted.
  REQUIRE(eventually([&] {
    const auto job = shown(kafka);
    return job.is_object() && job.at("stored").is_object() && job.at("lag") == json::value(0) &&
           job.at("stored").at("parked") == json::value(2);
  }));
  REQUIRE(kafka.sluice_job({"stop", "archive"}).exit == 0);
  REQUIRE(eventually([&] { return is(kafka, "STOPPED"); }));
  const auto lines = kafka.ledger().size();
  CHECK(kafka.sluice_job({"recover", "archive"}).exit == 1);  // only a running job can
  REQUIRE(host->stop() == 0);
  put_job(kafka, "ledger", park);  // the sink is repaired
  host = kafka.host();
  REQUIRE(eventually([&] { return is(kafka, "STOPPED"); }));
  REQUIRE(kafka.sluice_job({"resume", "archive"}).exit == 0);
  kafka.produce("orders", 0, 5);
  REQUIRE(eventually([&] { return kafka.deliveries().contains({0, 104}); }));
  const auto parked = kafka.sluice_job({"slices", "archive", "--state", "parked"});
  CHECK(contains(parked.out, "orders-0\t20..30\tparked"));
  CHECK(contains(parked.out, "orders-0\t60..70\tparked"));
  CHECK(kafka.ledger().size() == lines + 5);

  const auto told = kafka.sluice_job({"recover", "archive", "--dry-run"});
  CHECK(contains(told.out, "2 slices would run again, 20 offsets at most"));
  REQUIRE(kafka.sluice_job({"recover", "archive"}).exit == 0);
  CHECK(eventually([&] { return kafka.deliveries().size() == 105; }));
  CHECK(eventually([&] {
    return contains(kafka.sluice_job({"recover", "archive"}).out, "nothing to recover");
  }));
  CHECK(kafka.ledger().size() == lines + 25);
  CHECK(eventually([&] {  // null while the store takes its time
    const auto stored = shown(kafka).at("stored");
    return stored.is_object() && stored.at("parked") == json::value(0);
  }));
  CHECK(kafka.sluice_job({"audit", "archive"}).exit == 0);
}

TEST_CASE("a host killed in the middle of recover replays nothing by itself, recover does the rest",
          "[steering]") {  // B18
  constexpr int kSlices = 6;
  JobFixture kafka;
  kafka.topic("orders", 1);
  for (int slice = 0; slice < kSlices; ++slice) {
    kafka.produce_value("orders", 0, "throw");
    kafka.produce_value("orders", 0, "slow:500");
  }
  const auto marks = kafka.folder().path() / "marks";
  std::filesystem::create_directories(marks);
  put_job(kafka, "fault",
          "slice.max.records = 2\nslice.attempts.max = 1\nslice.on.failure = \"park\"\n"
          "once.folder = \"" +
              marks.string() + "\"\n");
  const auto parked = [&]() -> json::value {
    const auto job = shown(kafka);
    const bool known = job.is_object() && job.at("stored").is_object();
    return known ? job.at("stored").at("parked") : json::value{};
  };
  auto host = kafka.host();
  REQUIRE(eventually([&] { return parked() == json::value(kSlices); }));
  REQUIRE(kafka.ledger().empty());
  REQUIRE(kafka.sluice_job({"recover", "archive"}).exit == 0);
  REQUIRE(eventually([&] { return kafka.ledger().size() >= 4; }));
  host->kill();

  host = kafka.host();
  REQUIRE(eventually([&] { return is(kafka, "RUNNING"); }));
  const auto lines = kafka.ledger().size();
  kafka.produce("orders", 0, 5);
  REQUIRE(eventually([&] { return kafka.deliveries().contains({0, 2 * kSlices + 4}); }));
  CHECK(kafka.ledger().size() == lines + 5);
  CHECK(parked() != json::value(0));
  REQUIRE(kafka.sluice_job({"recover", "archive"}).exit == 0);
  CHECK(eventually([&] { return parked() == json::value(0); }));
  CHECK(kafka.deliveries().size() == 2 * kSlices + 5);
  // Again came what was at work when the host died, and at most one slice that was not on record.
  CHECK(kafka.ledger().size() <= 2 * kSlices + 5 + 4);
  CHECK(contains(kafka.sluice_job({"recover", "archive"}).out, "nothing to recover"));
  CHECK(kafka.sluice_job({"audit", "archive"}).exit == 0);
}

TEST_CASE("workers come and go while the job runs (A5)", "[steering]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  for (int partition = 0; partition < 4; ++partition) kafka.produce("orders", partition, 10);
  put_job(kafka, "ledger");
  const auto host = kafka.host();
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 40; }));
  REQUIRE(kafka.sluice_job({"workers", "archive", "--tasks-max", "3"}).exit == 0);
  CHECK(eventually([&] { return processes_below(host->pid()).size() == 3; }));
  for (int partition = 0; partition < 4; ++partition) kafka.produce("orders", partition, 10);
  CHECK(eventually([&] { return kafka.deliveries().size() == 80; }));
  REQUIRE(kafka.sluice_job({"workers", "archive", "--tasks-max", "1"}).exit == 0);
  CHECK(eventually([&] { return processes_below(host->pid()).size() == 1; }));
  for (int partition = 0; partition < 4; ++partition) kafka.produce("orders", partition, 10);
  CHECK(eventually([&] { return kafka.deliveries().size() == 120; }));
  CHECK(kafka.sluice_job({"workers", "archive", "--tasks-max", "0"}).exit == 1);
}

TEST_CASE("a stopped job's offsets are reset: its next start begins there, once, on record (S7)",
          "[steering]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 20);
  put_job(kafka, "ledger");
  auto host = kafka.host();
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 20; }));
  const auto refused = kafka.sluice_job({"offsets", "archive", "--from", "earliest"});
  CHECK(refused.exit == 1);
  CHECK(contains(refused.err, "stop it before"));
  const auto stop = [&] {
    REQUIRE(kafka.sluice_job({"stop", "archive"}).exit == 0);
    REQUIRE(eventually([&] { return is(kafka, "STOPPED"); }));
  };
  stop();
  CHECK(kafka.sluice_job({"offsets", "archive", "--from", "yesterday"}).exit == 1);
  const auto reset = kafka.sluice_job({"offsets", "archive", "--from", "earliest"});
  REQUIRE(reset.exit == 0);
  CHECK(contains(reset.out, "`sluice job resume archive`"));
  REQUIRE(host->stop() == 0);  // what was said is durable
  host = kafka.host();
  REQUIRE(eventually([&] { return is(kafka, "STOPPED"); }));
  REQUIRE(kafka.sluice_job({"resume", "archive"}).exit == 0);
  const auto twice = [&] {
    const auto counts = kafka.deliveries();
    return counts.size() == 20 && counts.at({0, 19}) == 2;
  };
  CHECK(eventually(twice));
  CHECK(eventually([&] { return kafka.sluice_job({"audit", "archive"}).exit == 0; }));
  // Once only: the next start is at the frontier again. Then forwards, over 7 records.
  stop();
  kafka.produce("orders", 0, 7);
  REQUIRE(kafka.sluice_job({"offsets", "archive", "--from", "latest"}).exit == 0);
  REQUIRE(kafka.sluice_job({"resume", "archive"}).exit == 0);
  REQUIRE(eventually([&] { return is(kafka, "RUNNING"); }));
  kafka.produce("orders", 0, 3);
  CHECK(eventually([&] { return kafka.deliveries().contains({0, 29}); }));
  CHECK(kafka.deliveries().size() == 23);
  CHECK(contains(kafka.sluice_job({"gaps", "archive"}).out, "orders-0\t20..27\tby_user\t7"));
}

TEST_CASE("a slice that a reset has passed is pending: recover delivers it, once (S6, S7)",
          "[steering]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce_value("orders", 0, "throw");
  kafka.produce("orders", 0, 4);
  const std::string small = "slice.max.records = 5\nslice.attempts.max = 1\n";
  put_job(kafka, "fault", small);
  auto host = kafka.host();
  REQUIRE(eventually([&] {
    const auto job = shown(kafka);
    return job.is_object() && job.at("halted") == json::value(1);
  }));
  REQUIRE(kafka.sluice_job({"stop", "archive"}).exit == 0);
  INFO(becomes(kafka, "STOPPED"));
  REQUIRE(host->stop() == 0);
  put_job(kafka, "ledger", small);  // the sink is repaired
  host = kafka.host();
  REQUIRE(eventually([&] { return is(kafka, "STOPPED"); }));
  REQUIRE(kafka.sluice_job({"offsets", "archive", "--from", "latest"}).exit == 0);
  REQUIRE(kafka.sluice_job({"resume", "archive"}).exit == 0);
  REQUIRE(eventually([&] { return is(kafka, "RUNNING"); }));
  kafka.produce("orders", 0, 5);
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 5; }));
  const auto pending = [&] {
    return kafka.sluice_job({"recover", "archive", "--slices", "pending"}).out;
  };
  CHECK(contains(pending(), "1 slices run again, 5 offsets at most"));
  CHECK(eventually([&] { return kafka.deliveries().size() == 10; }));
  CHECK(eventually([&] { return contains(pending(), "nothing to recover"); }));
  CHECK(kafka.ledger().size() == 10);
  CHECK(eventually([&] { return kafka.sluice_job({"audit", "archive"}).exit == 0; }));
}

TEST_CASE("stop ends `sluice run` with 0, and the next run starts the job again", "[steering]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 20);
  const auto job = kafka.job("archive", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n");
  auto run = kafka.run(job);
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 20; }));
  const auto stop = kafka.sluice_job({"stop", "archive"});
  // Where the first answer was that it is busy, the second question may find nobody any more.
  if (stop.exit != 0) CHECK(contains(stop.err, "no host answers"));
  REQUIRE(run->wait() == 0);
  kafka.produce("orders", 0, 5);
  run = kafka.run(job);
  CHECK(eventually([&] { return kafka.deliveries().size() == 25; }));
}

}  // namespace sluice::test
