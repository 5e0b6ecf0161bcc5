// A state store that takes no rows while the host works (delivery.md D1): a lock of another
// program, a full disk. Records go on to the sink, nothing is claimed, everybody who asks is told
// why within a second, and afterwards the host goes on by itself.
#include <sqlite3.h>
#include <sys/resource.h>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "integration/host/delivery_proof.hpp"
#include "integration/host/job_fixture.hpp"
#include "integration/host/stall_meter.hpp"
#include "unit/rest/http_peer.hpp"

namespace sluice::test {
namespace {

namespace json = boost::json;

constexpr char kLedger[] = "connector.class = \"ledger\"\ntopics = [\"orders\"]\n";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Another program in the middle of a write to the store.
class ForeignWriter {
 public:
  explicit ForeignWriter(const std::filesystem::path& database) {
    REQUIRE(sqlite3_open(database.c_str(), &connection_) == SQLITE_OK);
    // The host itself may be writing just now.
    REQUIRE(eventually([this] {
      return sqlite3_exec(connection_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
    }));
  }
  ~ForeignWriter() { sqlite3_close(connection_); }
  ForeignWriter(const ForeignWriter&) = delete;
  ForeignWriter& operator=(const ForeignWriter&) = delete;

 private:
  sqlite3* connection_ = nullptr;
};

/// The host's disk is full: of its files only the log still grows, up to a size that the store has
/// passed.
class FullDisk {
 public:
  FullDisk(pid_t host, const std::filesystem::path& state_dir) : host_{host} {
    REQUIRE(std::filesystem::file_size(state_dir / "state.db-wal") > kLogOnly);
    REQUIRE(::prlimit(host_, RLIMIT_FSIZE, nullptr, &previous_) == 0);
    const rlimit limit{kLogOnly, previous_.rlim_max};
    REQUIRE(::prlimit(host_, RLIMIT_FSIZE, &limit, nullptr) == 0);
  }
  ~FullDisk() { ::prlimit(host_, RLIMIT_FSIZE, &previous_, nullptr); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  static constexpr rlim_t kLogOnly = 16'384;
  pid_t host_;
  rlimit previous_{};
};

std::string get(const JobFixture& kafka, const std::string& path) {
  const Stopwatch watch;
  HttpPeer peer{kafka.socket()};
  REQUIRE(peer.connected());
  const auto answer = peer.get("/sluice/v1/jobs/archive" + path);
  INFO(answer);
  CHECK(status_of(answer) == "200");
  CHECK(watch.is_below(std::chrono::seconds{3}));
  return body_of(answer);
}

std::string waiting(const JobFixture& kafka) {
  return json::serialize(json::parse(get(kafka, "")).at("waiting"));
}

/// A job with 100 records delivered and on record.
std::unique_ptr<Program> settled_job(JobFixture& kafka) {
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 100);
  auto run = kafka.run(kafka.job("archive", kLedger));
  REQUIRE(eventually([&] {
    return kafka.deliveries().size() == 100 &&
           stored_frontiers(kafka.state_dir(), "archive")[0] == 100;
  }));
  return run;
}

/// 100 records more reach the sink while the store is in trouble, and nobody claims them.
void require_delivered_and_not_claimed(JobFixture& kafka, const std::string& trouble) {
  kafka.produce("orders", 0, 100);
  REQUIRE(eventually([&] { return contains(waiting(kafka), trouble); }));
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 200; }));
  CHECK(stored_frontiers(kafka.state_dir(), "archive")[0] == 100);
  for (const char* question : {"/slices", "/gaps", "/offsets", "/workers", "/executions"}) {
    get(kafka, question);
  }
}

void require_recovered(JobFixture& kafka) {
  REQUIRE(eventually([&] { return stored_frontiers(kafka.state_dir(), "archive")[0] == 200; }));
  CHECK(eventually([&] { return waiting(kafka) == "[]"; }));
  CHECK(kafka.ledger().size() == 200);  // each once
  const auto audit = kafka.sluice_job({"audit", "archive"});
  INFO(audit.out << audit.err);
  CHECK(audit.exit == 0);
}

}  // namespace

TEST_CASE("another program's lock on the store stops no record, and status names it", "[store]") {
  JobFixture kafka;
  const auto run = settled_job(kafka);
  {
    const ForeignWriter writer{kafka.state_dir() / "state.db"};
    require_delivered_and_not_claimed(kafka, "another program holds a lock on it");
  }
  require_recovered(kafka);
}

TEST_CASE("a disk that gets full stops no record, and status names it", "[store]") {
  JobFixture kafka;
  const auto run = settled_job(kafka);
  {
    const FullDisk disk{run->pid(), kafka.state_dir()};
    require_delivered_and_not_claimed(kafka, "state store: ");
  }
  require_recovered(kafka);
}

TEST_CASE("a host stopped or killed with a full disk delivers again what it could not record",
          "[store]") {
  JobFixture kafka;
  auto run = settled_job(kafka);
  const int signal = GENERATE(SIGTERM, SIGKILL);
  CAPTURE(signal);
  {
    const FullDisk disk{run->pid(), kafka.state_dir()};
    require_delivered_and_not_claimed(kafka, "state store: ");
    run->signal(signal);
    const int ended = run->wait();
    INFO(run->err());
    if (signal == SIGTERM) {
      CHECK(ended != 0);
      CHECK(contains(run->err(), "stopped before the state store took what is done"));
    }
  }
  run = kafka.run(kafka.job("archive", kLedger));
  REQUIRE(eventually([&] { return stored_frontiers(kafka.state_dir(), "archive")[0] == 200; }));
  const auto deliveries = kafka.deliveries();
  CHECK(deliveries.size() == 200);
  CHECK(kafka.ledger().size() <= 300);  // only what was not on record comes again
  CHECK(kafka.sluice_job({"audit", "archive"}).exit == 0);
}

TEST_CASE("a store that is deleted under a working host fails its job, not the host", "[store]") {
  JobFixture kafka;
  kafka.topic("orders", 2);
  for (const int partition : {0, 1}) kafka.produce("orders", partition, 100);
  std::filesystem::create_directories(kafka.jobs_dir());
  std::filesystem::rename(kafka.job("archive", std::string{kLedger} + "slice.max.records = 100\n"),
                          kafka.jobs_dir() / "archive.toml");
  const auto host = kafka.host();
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 200; }));
  REQUIRE(eventually([&] { return stored_frontiers(kafka.state_dir(), "archive")[0] == 100; }));
  std::filesystem::remove(kafka.state_dir() / "state.db");
  for (const int partition : {0, 1}) kafka.produce("orders", partition, 20'000);
  const auto job = [&] { return kafka.sluice_job({"list"}).out; };
  CHECK(eventually([&] { return contains(job(), "FAILED"); }));
  INFO(host->err());
  CHECK(contains(job(), "was deleted or replaced while in use"));
  CHECK(host->running());
  CHECK(host->stop() == 0);
}

}  // namespace sluice::test
