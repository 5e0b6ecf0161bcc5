// Killed at each step of the end of a flush group (delivery.md D2): sink flush -> report to the
// host -> slice records -> group commit, once the worker and once the host. Exact: one slice of ten
// records at a time, and where the host dies none begins before the store has the one before; so
// what was done before a kill is on disk and what must come again is known offset by offset.
#include <catch2/catch.hpp>
#include <numeric>

#include "integration/host/delivery_proof.hpp"
#include "integration/host/job_fixture.hpp"
#include "integration/host/observed_run.hpp"

namespace sluice::test {
namespace {

constexpr std::int64_t kRecords = 50;
constexpr std::int64_t kSlice = 10;
constexpr char kOneSliceAtATime[] =
    "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\ntasks.max = 1\n"
    "slice.max.records = 10\nworker.credit.slices = 1\nworker.batch.max.records = 5\n"
    "worker.flush.interval.ms = \"60s\"\n";  // no flush but that at a slice's end

using Offsets = std::vector<std::int64_t>;

Offsets range(std::int64_t start, std::int64_t end) {
  Offsets offsets(static_cast<std::size_t>(end - start));
  std::iota(offsets.begin(), offsets.end(), start);
  return offsets;
}

/// Each slice begins with a pause, in which a test may look. `word` acts at `at`.
class KillPoint {
 public:
  explicit KillPoint(std::int64_t at = -1, const std::string& word = {}) {
    kafka.topic("orders", 1);
    for (std::int64_t offset = 0; offset < kRecords; ++offset) {
      const bool pauses = offset % kSlice == 0 && offset != at;
      kafka.produce_value("orders", 0, offset == at ? word : pauses ? "slow:300" : "value");
    }
  }

  std::filesystem::path job(const std::string& more = {}) {
    return kafka.job("archive", kOneSliceAtATime + more);
  }
  std::filesystem::path state_dir() const { return kafka.folder().path() / "state"; }
  std::int64_t frontier() const { return stored_frontiers(state_dir(), "archive").at(0); }
  std::int64_t committed() {
    const std::vector<kafka::TopicPartition> where{{"orders", 0}};
    const auto offsets = client().committed("connect-archive", where, 10'000);
    if (!offsets) FAIL(offsets.error().message());
    return offsets->front().offset.value_or(0);
  }
  void require_order() {
    require_order_of_durability(client(), state_dir(), "archive", "orders", 1, kafka.ledger_file());
  }
  void require_all_delivered() const { REQUIRE(kafka.deliveries().size() == kRecords); }

  JobFixture kafka;

 private:
  kafka::HostClient& client() {
    if (!client_) {
      auto made =
          kafka::HostClient::create({{"bootstrap.servers", kafka.cluster().bootstrap_servers()}},
                                    kafka::IsolationLevel::ReadCommitted);
      if (!made) FAIL(made.error().message());
      client_ = *std::move(made);
    }
    return *client_;
  }

  std::unique_ptr<kafka::HostClient> client_;
};

ObservedOptions observed_options(KillPoint& point, const std::filesystem::path& job,
                                 const std::string& kill_at) {
  ObservedOptions options;
  options.jobs = {job};
  options.bootstrap_servers = point.kafka.cluster().bootstrap_servers();
  options.state_dir = point.state_dir();
  options.output = point.kafka.folder().path() / "observed";
  options.kill_at = kill_at;
  options.after_reports = 3;
  return options;
}

/// The host, killed at `point` of the third slice, [20, 30). Answers what came again.
Offsets kill_host_at(KillPoint& point, const std::string& name, std::int64_t frontier_then) {
  const auto job = point.job();
  ObservedRun observed{observed_options(point, job, name)};
  REQUIRE(observed.program().wait() == 1000 + SIGKILL);
  REQUIRE(number_of(observed.events("done").back(), "next_offset") == 30);
  CHECK(point.frontier() == frontier_then);
  CHECK(point.committed() <= 20);  // D2: the group is told last
  point.require_order();
  const auto restarted = point.kafka.run(job);
  INFO(restarted->err());
  REQUIRE(restarted->wait() == 0);
  point.require_all_delivered();
  point.require_order();
  CHECK(point.committed() == kRecords);
  return delivered_again(point.kafka.ledger(), 0);
}

/// A worker that a record of the third slice kills. Answers what came again.
Offsets kill_worker_at(std::int64_t offset, const std::string& word, const std::string& more = {}) {
  KillPoint point{offset, word};
  const auto once = point.kafka.folder().path() / "once";
  std::filesystem::create_directory(once);
  const auto run = point.kafka.run(point.job("once.folder = \"" + once.string() + "\"\n" + more));
  REQUIRE(eventually([&] { return run->err().find("starts at 0") != std::string::npos; }));
  while (run->running()) point.require_order();
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  CHECK(run->err().find("worker is gone: SIGKILL") != std::string::npos);
  point.require_all_delivered();
  const auto lines = point.kafka.ledger();
  require_only_interrupted_slices_again(point.state_dir(), "archive", lines, {lines[0].pid});
  return delivered_again(lines, 0);
}

}  // namespace

TEST_CASE("a host killed after a report and before the store wrote it: that slice comes again (D2)",
          "[kill_point]") {
  KillPoint point;
  CHECK(kill_host_at(point, "report", 20) == range(20, 30));
}

TEST_CASE("a host killed in the middle of the store's write: that slice comes again (D2)",
          "[kill_point]") {
  KillPoint point;
  CHECK(kill_host_at(point, "store-torn", 20) == range(20, 30));
}

TEST_CASE("a host killed when the store's write is whole: nothing comes again (D2)",
          "[kill_point]") {
  KillPoint point;
  CHECK(kill_host_at(point, "store-whole", 30).empty());
}

TEST_CASE(
    "a host killed after the store's write and before the group commit: nothing comes again"
    " (D2)",
    "[kill_point]") {
  KillPoint point;
  CHECK(kill_host_at(point, "stored", 30).empty());
}

TEST_CASE("a host killed after the group commit: nothing that was committed comes again (D2)",
          "[kill_point]") {
  KillPoint point;
  const auto job = point.job();
  ObservedRun observed{observed_options(point, job, "outside")};
  REQUIRE(eventually([&] { return point.committed() >= 20; }));
  observed.program().kill();
  const auto frontier = point.frontier();
  CHECK(frontier >= 20);
  point.require_order();
  const auto restarted = point.kafka.run(job);
  INFO(restarted->err());
  REQUIRE(restarted->wait() == 0);
  point.require_all_delivered();
  for (const auto offset : delivered_again(point.kafka.ledger(), 0)) {
    CHECK((offset >= frontier && offset < frontier + kSlice));
  }
}

TEST_CASE("a worker killed in put, before the flush: only what it had put comes again (D2)",
          "[kill_point]") {
  const auto again = kill_worker_at(25, "kill");
  REQUIRE_FALSE(again.empty());
  CHECK(again == range(20, 20 + static_cast<std::int64_t>(again.size())));
  CHECK(again.back() < 25);
}

TEST_CASE("a worker killed in flush: only that group comes again (D2)", "[kill_point]") {
  CHECK(kill_worker_at(29, "kill_flush") == range(20, 30));
}

TEST_CASE("a worker killed in flush before anything was written: nothing comes twice (D2)",
          "[kill_point]") {
  CHECK(kill_worker_at(29, "kill_flush", "buffer = true\n").empty());
}

TEST_CASE("a worker killed after the flush and before its report: that group comes again (D2)",
          "[kill_point]") {
  CHECK(kill_worker_at(29, "kill_flushed") == range(20, 30));
}

TEST_CASE("a worker killed after its report: nothing comes again (D2)", "[kill_point]") {
  CHECK(kill_worker_at(30, "kill").empty());
}

}  // namespace sluice::test
