// B01: the saved offset has expired. The mock cluster drops the oldest records of a partition above
// 5 MiB, so twelve records of 999,400 bytes leave the newest five.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "integration/host/delivery_proof.hpp"
#include "integration/host/job_fixture.hpp"
#include "integration/host/observed_run.hpp"

namespace sluice::test {
namespace {

constexpr int kFetchApi = 1;
constexpr int kRequestTimedOut = 7;

/// Offsets 0..2 were delivered and the job was stopped; then 3..14 came, and 10..14 are left.
class ExpiredStart {
 public:
  ExpiredStart() {
    kafka.topic("orders", 1);
    kafka.produce("orders", 0, 3);
    const auto run = kafka.run(job("earliest"));
    REQUIRE(eventually([&] { return kafka.deliveries().size() == 3; }));
    REQUIRE(run->stop() == 0);
    REQUIRE(frontier() == 3);
    produce_big(12);
  }

  std::filesystem::path job(const std::string& policy) {
    return kafka.job("archive",
                     "connector.class = \"ledger\"\ntopics = [\"orders\"]\n"
                     "consumer.override.auto.offset.reset = \"" +
                         policy + "\"\n");
  }
  void produce_big(int count) {
    const std::string value(999'400, 'x');
    for (int i = 0; i < count; ++i) kafka.produce_value("orders", 0, value);
  }
  std::int64_t frontier() const { return stored_frontiers(state_dir(), "archive").at(0); }
  std::vector<state::GapRow> gaps() const { return stored_gaps(state_dir(), "archive"); }
  std::filesystem::path state_dir() const { return kafka.folder().path() / "state"; }
  /// How often each offset from 3 on was delivered.
  Deliveries delivered_since() const {
    auto all = kafka.deliveries();
    for (std::int64_t offset = 0; offset < 3; ++offset) all.erase({0, offset});
    return all;
  }

  JobFixture kafka;
};

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE(
    "an expired start under earliest: what is left comes once, what is gone is on record"
    " (B01)",
    "[expired]") {
  ExpiredStart start;
  const auto run = start.kafka.run(start.job("earliest"));
  REQUIRE(eventually([&] { return start.delivered_since().size() == 5; }));
  REQUIRE(eventually([&] { return start.frontier() == 15; }));
  INFO(run->err());
  REQUIRE(run->stop() == 0);
  CHECK(start.delivered_since() ==
        Deliveries{{{0, 10}, 1}, {{0, 11}, 1}, {{0, 12}, 1}, {{0, 13}, 1}, {{0, 14}, 1}});
  CHECK(lines_with(run->err(), "has expired") == 1);
  CHECK(lines_with(run->err(),
                   "orders-0: offset 3 has expired, 7 offsets, [3, 10), are skipped on record: "
                   "the log is 10..15, auto.offset.reset = earliest") == 1);
  const auto gaps = start.gaps();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].start == 3);
  CHECK(gaps[0].end == 10);
  CHECK(gaps[0].records_max == 7);
  CHECK(gaps[0].cause == state::Cause::Expired);
  CHECK(boost::json::parse(run->out()).at("records_skipped") == 7);
}

TEST_CASE("an expired start under latest: all that is jumped over is told and on record (B01)",
          "[expired]") {
  ExpiredStart start;
  const auto run = start.kafka.run(start.job("latest"));
  REQUIRE(eventually([&] { return start.frontier() == 15; }));
  start.kafka.produce("orders", 0, 1);
  REQUIRE(eventually([&] { return !start.delivered_since().empty(); }));
  INFO(run->err());
  REQUIRE(run->stop() == 0);
  CHECK(start.delivered_since() == Deliveries{{{0, 15}, 1}});
  CHECK(lines_with(run->err(),
                   "orders-0: offset 3 has expired, 12 offsets, [3, 15), are skipped on record: "
                   "the log is 10..15, auto.offset.reset = latest") == 1);
  const auto gaps = start.gaps();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].start == 3);
  CHECK(gaps[0].end == 15);
  CHECK(boost::json::parse(run->out()).at("records_skipped") == 12);
}

TEST_CASE("an expired start under none: halted with the facts, and the position stays (B01)",
          "[expired]") {
  ExpiredStart start;
  const auto run = start.kafka.run(start.job("none"));
  constexpr char kFacts[] =
      "orders-0 halted at offset 3: offset 3 has expired: the log is 10..15, 7 offsets are gone; "
      "auto.offset.reset = none";
  REQUIRE(eventually([&] { return run->err().find(kFacts) != std::string::npos; }));
  INFO(run->err());
  CHECK(run->stop() == 0);
  CHECK(lines_with(run->err(), std::string{"error "} + kFacts) == 1);
  CHECK(start.frontier() == 3);
  CHECK(start.gaps().empty());
  CHECK(start.delivered_since().empty());

  const auto once = start.kafka.run(start.job("none"), {"--once"});
  INFO(once->err());
  CHECK(once->wait() == 1);
  CHECK(boost::json::parse(once->out()).at("state") == "FAILED");
  CHECK(start.frontier() == 3);
  CHECK(start.delivered_since().empty());
}

TEST_CASE("a planned slice that expires before it is read delivers nothing, and is counted (B01)",
          "[expired]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 10);
  // The worker cannot read yet; the host, who asks for offsets only, plans [0, 10).
  kafka.cluster().push_request_errors(kFetchApi, kRequestTimedOut, 10'000);
  ObservedOptions options;
  options.jobs = {kafka.job("archive", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n")};
  options.bootstrap_servers = kafka.cluster().bootstrap_servers();
  options.state_dir = kafka.folder().path() / "state";
  options.output = kafka.folder().path() / "observed";
  ObservedRun run{options};
  const auto planned = [&] {
    const auto beats = run.events("beat");
    if (beats.empty()) return false;
    const auto& open = beats.back().at("open_slices").as_array();
    return !open.empty() && open[0].at("start") == 0 && open[0].at("end") == 10;
  };
  INFO(run.program().err());
  REQUIRE(eventually(planned));
  const std::string big(999'400, 'x');
  for (int i = 0; i < 12; ++i) kafka.produce_value("orders", 0, big);  // 10..21; 17..21 are left
  REQUIRE(planned());
  REQUIRE(kafka.ledger().empty());
  kafka.cluster().clear_request_errors(kFetchApi);
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 5; }));
  REQUIRE(eventually([&] { return stored_frontiers(options.state_dir, "archive")[0] == 22; }));
  CHECK(eventually(  // by the next beat
      [&] { return number_of(run.events("beat").back(), "skipped_records") == 17; }));
  INFO(run.program().err());
  REQUIRE(run.program().stop() == 0);
  for (const auto& line : kafka.ledger()) {
    CHECK(line.offset >= 17);
    CHECK(line.slice_start >= 17);
  }
  CHECK(kafka.deliveries().size() == kafka.ledger().size());
  const auto gaps = stored_gaps(options.state_dir, "archive");
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].start == 0);
  CHECK(gaps[0].end == 17);
  CHECK(gaps[0].cause == state::Cause::Expired);
}

}  // namespace sluice::test
