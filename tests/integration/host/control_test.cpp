// `sluice job` against a running host: what it tells, and that it tells it whatever else is broken
// (interfaces.md, "REST").
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <set>

#include "integration/host/job_fixture.hpp"
#include "integration/host/stall_meter.hpp"
#include "unit/rest/http_peer.hpp"

namespace sluice::test {
namespace {

namespace json = boost::json;

std::string ledger_job(const std::string& more = {}) {
  return "connector.class = \"ledger\"\ntopics = [\"orders\"]\n" + more;
}

std::string fault_job(const std::string& more = {}) {
  return "connector.class = \"fault\"\ntopics = [\"orders\"]\n" + more;
}

/// The status as a caller gets it, within the second that REST has.
json::value status(const JobFixture& kafka, const std::string& job) {
  const Stopwatch watch;
  HttpPeer peer{kafka.socket()};
  REQUIRE(peer.connected());
  const auto answer = peer.get("/sluice/v1/jobs/" + job);
  INFO(answer);
  REQUIRE(status_of(answer) == "200");
  CHECK(watch.is_below(std::chrono::seconds{1}));
  return json::parse(body_of(answer));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every command that looks at a job tells what is there, as a table and as JSON",
          "[control]") {
  JobFixture kafka;
  kafka.topic("orders", 2);
  kafka.produce("orders", 0, 50);
  kafka.produce_value("orders", 1, "crash");
  const auto run =
      kafka.run(kafka.job("archive", fault_job("slice.on.failure = \"park\"\ntasks.max = 2\n"
                                               "slice.attempts.max = 1\n")));
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 50; }));
  REQUIRE(eventually([&] {
    return contains(kafka.sluice_job({"gaps", "archive"}).out, "parked");
  }));
  // What was put is delivered; here it must be on record, too.
  REQUIRE(eventually([&] {
    return contains(kafka.sluice_job({"offsets", "archive"}).out, "orders-0\t0\t50\t50\t50\t0");
  }));

  const auto list = kafka.sluice_job({"list"});
  CHECK(list.exit == 0);
  CHECK(contains(list.out, "archive\tRUNNING\tpersistent"));
  const auto show = kafka.sluice_job({"show", "archive"});
  INFO(show.out);
  CHECK(contains(show.out, "archive RUNNING, persistent, execution 1"));
  CHECK(contains(show.out, "orders-0\tIDLE\t50\t50\t0"));
  CHECK(contains(show.out, "0 failed slices, 1 parked"));
  CHECK(contains(kafka.sluice_job({"offsets", "archive"}).out, "orders-0\t0\t50\t50\t50\t0"));
  CHECK(contains(kafka.sluice_job({"workers", "archive"}).out, "SIGSEGV"));
  const auto slices = kafka.sluice_job({"slices", "archive", "--state", "parked"});
  CHECK(contains(slices.out, "orders-1\t0..1\tparked"));
  CHECK_FALSE(contains(slices.out, "orders-0"));
  CHECK_FALSE(
      contains(kafka.sluice_job({"slices", "archive", "--topic", "orders", "--partition", "0"}).out,
               "orders-1"));

  const auto printed = kafka.sluice_job({"gaps", "archive", "--json"});
  const auto gaps = json::parse(printed.out).at("gaps").as_array();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].at("cause") == json::value("parked"));
  CHECK(gaps[0].at("partition") == json::value(1));
}

TEST_CASE("the audit holds after workers and host were killed at work, and exits 0", "[control]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  for (int partition = 0; partition < 4; ++partition) kafka.produce("orders", partition, 5'000);
  const auto job = kafka.job("archive", ledger_job("tasks.max = 2\nslice.max.records = 100\n"));
  auto run = kafka.run(job);
  for (std::size_t delivered : {2'000, 6'000, 10'000}) {
    REQUIRE(eventually([&] { return kafka.deliveries().size() >= delivered; }));
    for (const pid_t worker : processes_below(run->pid())) {
      ::kill(worker, SIGKILL);
      break;
    }
    const auto audit = kafka.sluice_job({"audit", "archive"});
    INFO(audit.out << audit.err);
    CHECK(audit.exit == 0);
  }
  run->kill();
  run = kafka.run(job);
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 20'000; }));
  REQUIRE(eventually([&] {
    return contains(kafka.sluice_job({"audit", "archive"}).out, "holds: 20000 offsets of 4 lanes");
  }));
}

TEST_CASE("a page of slices says where the next one begins", "[control]") {
  JobFixture kafka;
  kafka.topic("orders", 3);
  for (int partition = 0; partition < 3; ++partition) kafka.produce("orders", partition, 5);
  const auto run = kafka.run(kafka.job("archive", ledger_job()));
  REQUIRE(eventually([&] {
    const auto reply = kafka.sluice_job({"slices", "archive", "--json", "--state", "completed"});
    return reply.exit == 0 && json::parse(reply.out).at("slices").as_array().size() == 3;
  }));
  std::set<std::int64_t> seen;
  std::string before;
  for (int page = 0; page < 3; ++page) {
    std::vector<std::string> arguments{"slices", "archive", "--json", "--limit", "1"};
    if (!before.empty()) arguments.insert(arguments.end(), {"--before", before});
    const auto answer = json::parse(kafka.sluice_job(arguments).out);
    REQUIRE(answer.at("slices").as_array().size() == 1);
    seen.insert(answer.at("slices").as_array()[0].at("partition").as_int64());
    before = json::serialize(answer.at("next_before"));
  }
  CHECK(seen == std::set<std::int64_t>{0, 1, 2});
}

TEST_CASE("no host there is 75 and names the socket, an unknown job is 1 and names the nearest",
          "[control]") {
  JobFixture kafka;
  const auto nobody = kafka.sluice_job({"list"});
  CHECK(nobody.exit == 75);
  CHECK(contains(nobody.err, kafka.socket().string()));
  kafka.topic("orders", 1);
  const auto run = kafka.run(kafka.job("archive", ledger_job()));
  REQUIRE(eventually([&] { return kafka.sluice_job({"list"}).exit == 0; }));
  const auto unknown = kafka.sluice_job({"show", "archiv"});
  CHECK(unknown.exit == 1);
  CHECK(contains(unknown.err, "did you mean archive?"));
  CHECK(kafka.sluice_job({"slices", "archive", "--state", "lost"}).exit == 1);
  CHECK(kafka.sluice_job({"shwo"}).exit == 2);
  CHECK(contains(kafka.sluice_job({"shwo"}).err, "did you mean `sluice job show`?"));
  CHECK(kafka.sluice_job({"show"}).exit == 2);
}

TEST_CASE("status answers within a second while all brokers are away, and says so (B07)",
          "[control]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 10);
  const auto run = kafka.run(kafka.job("archive", ledger_job()));
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 10; }));
  REQUIRE(kafka.cluster().set_down(1));
  REQUIRE(eventually([&] {
    const auto job = status(kafka, "archive");
    return contains(json::serialize(job.at("waiting")), "kafka: ");
  }));
  HttpPeer peer{kafka.socket()};
  for (const char* rest : {"/slices", "/gaps", "/offsets", "/workers", "/executions"}) {
    const Stopwatch watch;
    CHECK(status_of(peer.get("/sluice/v1/jobs/archive" + std::string{rest})) == "200");
    CHECK(watch.is_below(std::chrono::seconds{1}));
  }
}

TEST_CASE("a plugin that hangs does not stop status, which calls its worker stuck", "[control]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce_value("orders", 0, "hang");
  const auto run = kafka.run(kafka.job("archive", fault_job()));
  REQUIRE(eventually([&] { return contains(run->err(), "control socket is"); }));
  REQUIRE(eventually([&] {
    const auto job = status(kafka, "archive");
    return json::serialize(job.at("workers")).find("\"STUCK\"") != std::string::npos;
  }));
  const auto job = status(kafka, "archive");
  CHECK(contains(json::serialize(job.at("waiting")), "worker 0: put has shown nothing new for"));
  CHECK(contains(kafka.sluice_job({"workers", "archive"}).out, "STUCK"));
  run->kill();
}

TEST_CASE("status never calls a dead or stopped worker RUNNING", "[control]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  const auto run = kafka.run(kafka.job("archive", fault_job("task.call.timeout.ms = 60000\n")));
  kafka.produce("orders", 0, 10);
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 10; }));
  const auto worker = [&] { return status(kafka, "archive").at("workers").as_array()[0]; };
  const auto pid = static_cast<pid_t>(worker().at("pid").as_int64());
  REQUIRE(::kill(pid, SIGSTOP) == 0);
  kafka.produce("orders", 0, 10);
  CHECK(eventually([&] { return worker().at("state") == json::value("STUCK"); }));
  REQUIRE(::kill(pid, SIGKILL) == 0);
  // From the moment the kernel has reaped it, the state names another process or none.
  CHECK(eventually([&] {
    const auto now = worker();
    return now.at("pid") != json::value(pid);
  }));
  CHECK(eventually([&] { return kafka.deliveries().size() == 20; }));
}

TEST_CASE("a killed host's socket is taken over, a living host's is refused", "[control]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  {
    const auto first = kafka.host();
    REQUIRE(eventually([&] { return kafka.sluice_job({"list"}).exit == 0; }));
    first->kill();
  }
  REQUIRE(std::filesystem::exists(kafka.socket()));
  const auto second = kafka.host();
  REQUIRE(eventually([&] { return kafka.sluice_job({"list"}).exit == 0; }));
  const auto file = kafka.folder().write(
      "third.toml", "state.dir = \"third\"\njobs.dir = \"jobs.d\"\nrest.listen = [\"unix:" +
                        kafka.socket().string() + "\"]\n[kafka]\nbootstrap.servers = \"" +
                        kafka.cluster().bootstrap_servers() + "\"\n");
  Program third{{SLUICE_BIN_DIR "/sluice", "host", "--config", file.string()},
                kafka.folder().path() / "third"};
  CHECK(third.wait() == 1);
  CHECK(contains(third.err(), "another host answers there"));
  CHECK(kafka.sluice_job({"list"}).exit == 0);
  REQUIRE(second->stop() == 0);
  CHECK_FALSE(std::filesystem::exists(kafka.socket()));
}

}  // namespace sluice::test
