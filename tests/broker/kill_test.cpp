// Workers and hosts killed at random moments while records keep coming: nothing is lost, and only
// slices that a kill interrupted come again. SLUICE_FULL=1: 1,000,000 records at 10,000 a second,
// 50 workers and 20 hosts killed. SLUICE_SEED=N repeats a run's moments.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <vector>

#include "broker/paced_producer.hpp"
#include "broker/real_kafka.hpp"
#include "host/base/random.hpp"
#include "integration/host/delivery_proof.hpp"
#include "integration/host/program.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::tests {
namespace {

using Clock = std::chrono::steady_clock;
using Ms = std::chrono::milliseconds;

constexpr int kPartitions = 4;
constexpr std::int64_t kPerSecond = 10'000;

struct Size {
  std::int64_t records = 100'000;
  int workers = 10;
  int hosts = 5;
};

Size size_of_run() {
  const char* const full = std::getenv("SLUICE_FULL");
  return full != nullptr && std::string_view{full} == "1" ? Size{1'000'000, 50, 20} : Size{};
}

std::uint64_t seed_of_run() {
  const char* const seed = std::getenv("SLUICE_SEED");
  return seed != nullptr ? std::stoull(seed) : Random::system_seed();
}

enum class Victim { Worker, Host };

/// When who is killed, in order: random moments between the first and the last record.
std::vector<std::pair<Ms, Victim>> plan_of(const Size& size, Random& random) {
  std::vector<std::pair<Ms, Victim>> plan;
  const auto span_ms = static_cast<std::uint64_t>(size.records * 1000 / kPerSecond);
  for (int i = 0; i < size.workers + size.hosts; ++i) {
    plan.emplace_back(Ms{random.below(span_ms)}, i < size.workers ? Victim::Worker : Victim::Host);
  }
  std::sort(plan.begin(), plan.end());
  return plan;
}

/// The same job on the same state directory, host after host.
class Hosts {
 public:
  Hosts(const RealKafka& kafka, const std::string& topic)
      : bootstrap_{kafka.properties().front().second}, job_{topic} {
    file_ = folder_.write(
        "tail.toml", "name = \"" + job_ + "\"\nmode = \"persistent\"\ntasks.max = 2\n" +
                         "slice.max.records = 500\nconnector.class = \"ledger\"\ntopics = [\"" +
                         topic + "\"]\nfile = \"" + ledger().string() + "\"\n");
    start();
  }

  void start() {
    host_ = std::make_unique<test::Program>(
        std::vector<std::string>{SLUICE_BIN_DIR "/sluice", "run", file_.string(),
                                 "--bootstrap-servers", bootstrap_, "--state-dir",
                                 state_dir().string(), "--json", "--verbose"},
        folder_.path() / ("run" + std::to_string(++runs_)));
  }

  /// False: it has none at this moment.
  bool kill_a_worker(Random& random) {
    const auto workers = test::workers_below(host_->pid());
    if (workers.empty()) return false;
    const auto victim = workers[random.below(workers.size())];
    killed.insert(victim);
    return ::kill(victim, SIGKILL) == 0;
  }

  /// With those it had, which must be gone in 2 s. Stopped before it is looked at, so that no
  /// worker is missed.
  std::vector<pid_t> kill_host() {
    host_->signal(SIGSTOP);
    const auto orphans = test::workers_below(host_->pid());
    killed.insert(orphans.begin(), orphans.end());
    host_->kill();
    return orphans;
  }

  test::Program& host() { return *host_; }
  const std::string& job() const { return job_; }
  std::filesystem::path ledger() const { return folder_.path() / "ledger.jsonl"; }
  std::filesystem::path state_dir() const { return folder_.path() / "state"; }
  std::int64_t settled() const {
    std::int64_t sum = 0;
    for (const auto& [partition, frontier] : test::stored_frontiers(state_dir(), job_)) {
      sum += frontier;
    }
    return sum;
  }

  std::set<std::int64_t> killed;  ///< every worker that was, by us or with its host

 private:
  TemporaryFolder folder_;
  std::string bootstrap_;
  std::string job_;
  std::filesystem::path file_;
  std::unique_ptr<test::Program> host_;
  int runs_ = 0;
};

}  // namespace

TEST_CASE(
    "workers and hosts killed at random cost no record, and only slices that a kill"
    " interrupted come again (B15, B25)",
    "[broker]") {
  const auto size = size_of_run();
  const auto seed = seed_of_run();
  std::cout << "SLUICE_SEED=" << seed << std::endl;
  Random random{seed};
  RealKafka kafka;
  const auto topic = kafka.topic("killed", kPartitions);
  Hosts hosts{kafka, topic};
  REQUIRE(test::eventually(
      [&] { return hosts.host().err().find("starts at 0") != std::string::npos; }));
  auto plan = plan_of(size, random);
  PacedProducer producer{kafka.producer(), topic, {size.records, kPerSecond, kPartitions}};
  const auto begin = Clock::now();
  const auto kill_host = [&] {
    for (const auto orphan : hosts.kill_host()) {
      const auto gone = [&] {
        producer.send_due();
        return test::has_ended(orphan);
      };
      CHECK(test::eventually(gone, std::chrono::seconds{2}));
    }
    hosts.start();
    return true;
  };
  const auto over = [&] {
    producer.send_due();
    if (!plan.empty() && Clock::now() - begin >= plan.front().first) {
      const bool killed =
          plan.front().second == Victim::Worker ? hosts.kill_a_worker(random) : kill_host();
      if (killed) plan.erase(plan.begin());
    }
    return producer.done() && plan.empty();
  };
  const std::chrono::seconds planned{size.records / kPerSecond};
  REQUIRE(test::eventually(over, 3 * planned + kGiveUp));  // hosts that start slowly take longer
  const bool caught_up = test::eventually([&] { return hosts.settled() == size.records; }, kGiveUp);
  INFO(hosts.host().err());
  REQUIRE(caught_up);
  REQUIRE(hosts.host().stop() == 0);

  const auto lines = test::read_ledger(hosts.ledger());
  const auto delivered = test::count_deliveries(lines);
  CHECK(static_cast<std::int64_t>(delivered.size()) == size.records);
  // Every offset: as many as were sent, from 0 to the last of each partition.
  CHECK(delivered.begin()->first == std::pair{0, std::int64_t{0}});
  CHECK(delivered.rbegin()->first == std::pair{kPartitions - 1, size.records / kPartitions - 1});
  const auto again = test::require_only_interrupted_slices_again(hosts.state_dir(), hosts.job(),
                                                                 lines, hosts.killed);
  std::cout << hosts.killed.size() << " workers died, " << again.records
            << " records came again, of " << again.slices << " interrupted slices" << std::endl;
}

}  // namespace sluice::tests
