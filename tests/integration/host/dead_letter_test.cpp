// Dead letter queues as a user meets them (slicer.md F6; B09, B12, B14), on the mock cluster.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "host/worker/sha256.hpp"
#include "integration/host/job_fixture.hpp"
#include "rig/topic_reader.hpp"

namespace sluice::test {
namespace {

constexpr std::int16_t kProduce = 0;
constexpr int kMessageSizeTooLarge = 10;
constexpr int kInvalidRecord = 87;
constexpr char kHundreds[] = "slice.max.records = 100\n";

/// A once job with a dead letter queue and Connect's headers.
std::string dlq_job(const std::string& more) {
  return "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\n"
         "errors.deadletterqueue.topic.name = \"dlq\"\n"
         "errors.deadletterqueue.context.headers.enable = true\n" +
         more;
}

/// The same with errors tolerated.
std::string tolerant(const std::string& more = kHundreds) {
  return dlq_job("errors.tolerance = \"all\"\n" + more);
}

void fill(JobFixture& kafka, const std::string& bad, std::int64_t before = 150,
          std::int64_t after = 149) {
  kafka.topic("orders", 1);
  kafka.topic("dlq", 1);
  kafka.produce("orders", 0, before);
  kafka.produce_value("orders", 0, bad);
  kafka.produce("orders", 0, after);
}

std::vector<rig::ReadRecord> letters(JobFixture& kafka) {
  return rig::read_topic(kafka.cluster().bootstrap_servers(), "dlq");
}

void check_delivered_but(const JobFixture& kafka, std::int64_t bad, std::int64_t count) {
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == static_cast<std::size_t>(count - 1));
  CHECK_FALSE(delivered.contains({0, bad}));
  for (const auto& [where, times] : delivered) CHECK(times == 1);
}

std::int64_t frontier_of(const Program& run) {
  const auto summary = boost::json::parse(run.out()).as_object();
  return summary.at("frontiers").at(0).at("offset").as_int64();
}

}  // namespace

TEST_CASE("B12 one bad record of 300 is one dead letter, the others are delivered once",
          "[dead_letter]") {
  JobFixture kafka;
  fill(kafka, "bad:not wanted");
  const auto run = kafka.run(kafka.job("archive", tolerant()));
  REQUIRE(run->wait() == 0);
  INFO(run->err());
  check_delivered_but(kafka, 150, 300);
  const auto dlq = letters(kafka);
  REQUIRE(dlq.size() == 1);
  CHECK(dlq[0].value == "bad:not wanted");
  CHECK(dlq[0].header("__connect.errors.offset") == "150");
  CHECK(dlq[0].header("__connect.errors.exception.message") == "not wanted");
  const auto summary = boost::json::parse(run->out()).as_object();
  CHECK(summary.at("state") == "COMPLETED");
  CHECK(summary.at("records_errant") == 1);
}

TEST_CASE("B12 without tolerance the job fails naming the offset, and nothing is a dead letter",
          "[dead_letter]") {
  JobFixture kafka;
  fill(kafka, "bad:not wanted");
  const auto run =
      kafka.run(kafka.job("archive", dlq_job(std::string{kHundreds} + "slice.attempts.max = 1\n")));
  REQUIRE(run->wait() == 1);
  INFO(run->err());
  CHECK(run->err().find("record orders-0@150: not wanted") != std::string::npos);
  CHECK(frontier_of(*run) <= 150);
  CHECK(letters(kafka).empty());
}

TEST_CASE("B12 a sink that can only fail its batch costs one dead letter, found by the host",
          "[dead_letter]") {
  JobFixture kafka;
  fill(kafka, "throw");
  const auto run = kafka.run(kafka.job("archive", tolerant()));
  REQUIRE(run->wait() == 0);
  INFO(run->err());
  CHECK(kafka.deliveries().size() == 299);
  const auto dlq = letters(kafka);
  REQUIRE(dlq.size() == 1);
  CHECK(dlq[0].header("__connect.errors.offset") == "150");
  CHECK(dlq[0].header("__connect.errors.stage") == "TASK_PUT");
  CHECK(dlq[0].header("__sluice.errors.signal") == "(none)");
}

TEST_CASE("a record that kills its worker is one dead letter with signal and plugin digest (F3)",
          "[dead_letter]") {
  JobFixture kafka;
  fill(kafka, "crash");
  const auto run = kafka.run(kafka.job("archive", tolerant()));
  REQUIRE(run->wait() == 0);
  INFO(run->err());
  CHECK(kafka.deliveries().size() == 299);
  const auto dlq = letters(kafka);
  REQUIRE(dlq.size() == 1);
  CHECK(dlq[0].value == "crash");
  CHECK(dlq[0].header("__connect.errors.stage") == "CRASH");
  CHECK(dlq[0].header("__connect.errors.class.name") == "fault");
  CHECK(dlq[0].header("__sluice.errors.signal") == "11");
  CHECK(dlq[0].header("__sluice.errors.plugin.sha256").size() == 64);
}

TEST_CASE(
    "a record that kills a processor is a dead letter of that processor, not of the sink (F6)",
    "[dead_letter]") {
  JobFixture kafka;
  fill(kafka, "boom!");
  const std::string chain =
      "transforms = [{ name = \"small\", type = \"filter\", value.size.max = 1000 },\n"
      "              { name = \"drift\", type = \"fragile\", crash.value = \"boom!\" }]\n";
  const auto run = kafka.run(kafka.job("archive", tolerant(kHundreds + chain)));
  REQUIRE(run->wait() == 0);
  INFO(run->err());
  CHECK(kafka.deliveries().size() == 299);
  const auto dlq = letters(kafka);
  REQUIRE(dlq.size() == 1);
  CHECK(dlq[0].value == "boom!");
  CHECK(dlq[0].header("__connect.errors.stage") == "CRASH");
  CHECK(dlq[0].header("__connect.errors.class.name") == "fragile");
  const auto digest = worker::sha256_of_file(SLUICE_PLUGIN_DIR "/fragile_processor.so");
  CHECK(dlq[0].header("__sluice.errors.plugin.sha256") == digest.value());
}

TEST_CASE("B09 records rejected without a text are dead letters of the same bytes",
          "[dead_letter]") {
  const auto bytes = [](const char* text, std::size_t size) { return sluice_bytes{text, size}; };
  const sluice_bytes null{nullptr, 0};
  const std::vector<sluice_header> null_header{{bytes("h", 1), null}};
  const std::vector<sluice_header> empty_header{{bytes("h", 1), bytes("", 0)}};
  const std::vector<sluice_header> repeated{{bytes("h", 1), bytes("1", 1)},
                                            {bytes("h", 1), bytes("2", 1)}};
  const std::vector<sluice_header> foreign{{bytes("\xc3\xa4", 2), bytes("1", 1)}};
  const std::vector<sluice_header> ours{{bytes("__connect.errors.topic", 22), bytes("mine", 4)}};
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.topic("dlq", 1);
  const auto record = [&](sluice_bytes key, sluice_bytes value,
                          std::span<const sluice_header> headers = {}) {
    kafka.produce_record("orders",
                         {.key = key, .value = value, .partition = 0, .headers = headers});
  };
  record(null, null);
  record(bytes("", 0), bytes("", 0));
  record(bytes("k", 1), null);
  record(null, bytes("v", 1), null_header);
  record(null, bytes("v", 1), empty_header);
  record(null, bytes("v", 1), repeated);
  record(bytes("\xff\x00\xfe", 3), bytes("v", 1));
  record(null, bytes("a\nb\rc\"d\0e", 9));
  record(null, bytes("v", 1), foreign);
  record(null, bytes("v", 1), ours);
  // Each record is the last of its flush, and the sink fails that one, without a word.
  const auto run = kafka.run(
      kafka.job("archive", tolerant("slice.max.records = 1\nworker.flush.max.records = 1\n"
                                    "flush.action = \"bad\"\n")));
  REQUIRE(run->wait() == 0);
  INFO(run->err());
  const auto in = rig::read_topic(kafka.cluster().bootstrap_servers(), "orders");
  const auto out = letters(kafka);
  REQUIRE(in.size() == 10);
  REQUIRE(out.size() == 10);
  for (std::size_t i = 0; i < in.size(); ++i) {
    CAPTURE(i);
    CHECK(out[i].key == in[i].key);
    CHECK(out[i].value == in[i].value);
    REQUIRE(out[i].headers.size() == in[i].headers.size() + 10);
    for (std::size_t h = 0; h < in[i].headers.size(); ++h) {
      CHECK(out[i].headers[h] == in[i].headers[h]);
    }
    CHECK(out[i].headers[in[i].headers.size()].first == "__connect.errors.topic");
    CHECK(out[i].headers[in[i].headers.size()].second == "orders");
  }
}

TEST_CASE("B14 a dead letter that the broker refuses stops the partition there, with that reason",
          "[dead_letter]") {
  JobFixture kafka;
  fill(kafka, "bad");
  kafka.cluster().push_request_errors(kProduce, kInvalidRecord, 100);
  const auto run = kafka.run(kafka.job(
      "archive",
      tolerant(std::string{kHundreds} + "errors.retry.timeout = 0\nslice.attempts.max = 2\n")));
  REQUIRE(run->wait() == 1);
  INFO(run->err());
  CHECK(run->err().find("record orders-0@150: its dead letter cannot be written") !=
        std::string::npos);
  CHECK(run->err().find("refused dead letters: 1") != std::string::npos);
  CHECK(frontier_of(*run) == 100);
  CHECK(letters(kafka).empty());
}

TEST_CASE("B14 a refusal that passes costs the job nothing but time", "[dead_letter]") {
  JobFixture kafka;
  fill(kafka, "bad");
  kafka.cluster().push_request_errors(kProduce, kInvalidRecord, 2);
  const auto run = kafka.run(kafka.job("archive", tolerant()));
  REQUIRE(run->wait() == 0);
  INFO(run->err());
  check_delivered_but(kafka, 150, 300);
  CHECK(letters(kafka).size() == 1);
}

TEST_CASE("B14 a dead letter that is too large with its headers is written with fewer",
          "[dead_letter]") {
  JobFixture kafka;
  fill(kafka, "bad:not wanted");
  kafka.cluster().push_request_errors(kProduce, kMessageSizeTooLarge, 1);
  const auto run = kafka.run(kafka.job("archive", tolerant()));
  REQUIRE(run->wait() == 0);
  INFO(run->err());
  const auto dlq = letters(kafka);
  REQUIRE(dlq.size() == 1);
  CHECK(dlq[0].header("__connect.errors.offset") == "150");
  CHECK(dlq[0].header("__connect.errors.exception.message") == "(none)");
}

TEST_CASE("B14 a bad record at the end is one dead letter, also over three starts",
          "[dead_letter]") {
  JobFixture kafka;
  fill(kafka, "bad", 10, 0);
  const auto job = kafka.job("archive", tolerant());
  for (int start = 0; start < 3; ++start) {
    const auto run = kafka.run(job);
    REQUIRE(run->wait() == 0);
    CHECK(frontier_of(*run) == 11);
  }
  CHECK(letters(kafka).size() == 1);
}

}  // namespace sluice::test
