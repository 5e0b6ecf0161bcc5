// The host holds no data: what five jobs over one topic cost it, while their workers read all of it
// five times. SLUICE_FULL=1: a topic of 1 GB instead of 100 MB.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "broker/real_kafka.hpp"
#include "integration/host/observed_run.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::tests {
namespace {

constexpr int kPartitions = 4;
constexpr int kJobs = 5;
constexpr std::int64_t kValueBytes = 1000;
constexpr std::int64_t kGrowthMaxKb = 5 * 1024;

std::int64_t records_of_run() {
  const char* const full = std::getenv("SLUICE_FULL");
  return full != nullptr && std::string_view{full} == "1" ? 1'000'000 : 100'000;
}

void fill(RealKafka& kafka, const std::string& topic, std::int64_t records) {
  const auto producer = kafka.producer();
  const std::string value(kValueBytes, 'v');
  std::vector<kafka::OutRecord> batch(1000);
  for (auto& record : batch) record.value = bytes_of(value);
  for (std::int64_t sent = 0; sent < records; sent += static_cast<std::int64_t>(batch.size())) {
    for (auto& record : batch) {
      record.partition =
          static_cast<std::int32_t>(sent / static_cast<std::int64_t>(batch.size()) % kPartitions);
    }
    ok(producer->produce_bulk(topic, batch));
  }
  ok(producer->flush(kTimeoutMs));
}

}  // namespace

TEST_CASE("a host of five jobs over one topic receives none of its records and does not grow",
          "[broker]") {
  const auto records = records_of_run();
  RealKafka kafka;
  const auto topic = kafka.topic("held", kPartitions);
  fill(kafka, topic, records);
  const TemporaryFolder folder;
  test::ObservedOptions options;
  for (int job = 0; job < kJobs; ++job) {
    const auto name = topic + "-" + std::to_string(job);
    options.jobs.push_back(
        folder.write(name + ".toml", "name = \"" + name +
                                         "\"\nmode = \"once\"\nconnector.class = \"null\"\n" +
                                         "topics = [\"" + topic + "\"]\n"));
  }
  options.bootstrap_servers = kafka.properties().front().second;
  options.state_dir = folder.path() / "state";
  options.output = folder.path() / "observed";
  test::ObservedRun run{options};
  const int code = run.program().wait(std::chrono::seconds{120});
  INFO(run.program().err());
  REQUIRE(code == 0);
  std::int64_t read = 0;
  for (const auto& done : run.events("done")) read += test::number_of(done, "records");
  REQUIRE(read == kJobs * records);

  std::int64_t base_kb = 0;
  std::int64_t most_kb = 0;
  std::int64_t received = 0;
  for (const auto& beat : run.events("beat")) {
    received = std::max(received, test::number_of(beat, "tcp_received"));
    if (test::number_of(beat, "records") < kJobs * records / 10) continue;
    const auto rss_kb = test::number_of(beat, "rss_anon_kb");
    if (base_kb == 0) base_kb = rss_kb;
    most_kb = std::max(most_kb, rss_kb);
  }
  std::cout << "host: RssAnon " << base_kb << " kB after a tenth, at most " << most_kb
            << " kB after it; " << received << " bytes received over TCP while its workers read "
            << read * kValueBytes << std::endl;
  REQUIRE(base_kb > 0);
  CHECK(most_kb - base_kb <= kGrowthMaxKb);
  // Metadata, end offsets, group offsets. One fetched batch of records would be a megabyte.
  REQUIRE(received > 0);
  CHECK(received < 1'000'000);
}

}  // namespace sluice::tests
