// What is outside is down for everybody: no record is to blame, however the sink takes it
// (slicer.md F2, F3.2), although errors are tolerated and poison records are looked for.
// SLUICE_FULL=1: ten minutes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "integration/host/delivery_proof.hpp"
#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

constexpr int kPartitions = 2;
constexpr std::int64_t kRecords = 50;

struct Reaction {
  std::string name;
  std::string word;  ///< what each put of the sink does
  std::string lines;
};

/// NOT_CONNECTED, RETRY for ever, RETRY that is used up, FAIL, and sinks that cannot live without.
const std::vector<Reaction>& reactions() {
  static const std::vector<Reaction> kReactions{
      {"lost", "lost:1000000", ""},
      {"again", "again:1000000", ""},
      {"impatient", "again:1000000", "task.retry.timeout.ms = 300\n"},
      {"fails", "throw", ""},
      {"crashes", "crash", ""},
      {"hangs", "hang", "task.call.timeout.ms = 1000\n"},
  };
  return kReactions;
}

std::chrono::seconds duration_of_outage() {
  const char* const full = std::getenv("SLUICE_FULL");
  return std::chrono::seconds{full != nullptr && std::string{full} == "1" ? 600 : 8};
}

class Outage {
 public:
  Outage() {
    std::filesystem::create_directories(kafka.jobs_dir());
    for (const auto& [name, word, lines] : reactions()) {
      kafka.topic(name, kPartitions);
      std::ofstream{kafka.jobs_dir() / (name + ".toml")}
          << "name = \"" << name << "\"\nconnector.class = \"fault\"\ntopics = [\"" << name
          << "\"]\ntasks.max = 2\nfile = \"" << ledger_file(name).string() << "\"\noutage.file = \""
          << down_file(name).string()
          << "\"\nslice.on.failure = \"isolate\"\nerrors.tolerance = \"all\"\n"
             "slice.max.records = 10\nerrors.retry.delay.max.ms = 500\n"
             "restart.backoff.ms = 500\nrestart.backoff.max.ms = 1000\n"
          << lines;
    }
  }

  void begin() {
    for (const auto& [name, word, lines] : reactions()) {
      std::ofstream{down_file(name).string() + ".new"} << word;
      std::filesystem::rename(down_file(name).string() + ".new", down_file(name));
    }
  }
  void end() {
    for (const auto& reaction : reactions()) std::filesystem::remove(down_file(reaction.name));
  }
  void produce() {
    for (const auto& reaction : reactions()) {
      for (int partition = 0; partition < kPartitions; ++partition) {
        kafka.produce(reaction.name, partition, kRecords);
      }
    }
  }
  std::size_t delivered(const std::string& name) const {
    return count_deliveries(read_ledger(ledger_file(name))).size();
  }
  bool all_have(std::int64_t records) const {
    return std::all_of(reactions().begin(), reactions().end(), [&](const auto& reaction) {
      return delivered(reaction.name) == static_cast<std::size_t>(records * kPartitions);
    });
  }
  std::filesystem::path state_dir() const { return kafka.folder().path() / "state"; }

  JobFixture kafka;

 private:
  std::filesystem::path ledger_file(const std::string& name) const {
    return kafka.folder().path() / (name + ".jsonl");
  }
  std::filesystem::path down_file(const std::string& name) const {
    return kafka.folder().path() / (name + ".down");
  }
};

}  // namespace

TEST_CASE(
    "an outage convicts no record, whether the sink waits, fails, dies or hangs, and work goes on"
    " when it is over (F2, F3)",
    "[outage]") {
  Outage outage;
  outage.produce();
  const auto host = outage.kafka.host();
  REQUIRE(eventually([&] { return outage.all_have(kRecords); }));
  outage.begin();
  outage.produce();
  REQUIRE_FALSE(eventually([&] { return !host->running(); }, duration_of_outage()));
  REQUIRE(outage.all_have(kRecords));
  outage.end();
  outage.produce();
  // The workers that crashed come back with the respawn's back-off, at most a minute.
  const bool went_on =
      eventually([&] { return outage.all_have(3 * kRecords); }, std::chrono::seconds{90});
  INFO(host->err());
  for (const auto& reaction : reactions()) {
    INFO(reaction.name);
    CHECK(outage.delivered(reaction.name) == 3 * kRecords * kPartitions);
  }
  REQUIRE(went_on);
  REQUIRE(host->stop() == 0);
  CHECK(host->err().find("is set aside") == std::string::npos);
  for (const auto& reaction : reactions()) {
    INFO(reaction.name);
    CHECK(stored_gaps(outage.state_dir(), reaction.name).empty());
    CHECK(stored_frontiers(outage.state_dir(), reaction.name) ==
          Frontiers{{0, 3 * kRecords}, {1, 3 * kRecords}});
  }
}

}  // namespace sluice::test
