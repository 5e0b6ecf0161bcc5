// B17: what was believed dead comes back. A worker is ended before its slice is given away; a host
// that is stopped keeps the lock of its state directory (slicer.md S8), so nobody takes over beside
// it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>

#include "integration/host/delivery_proof.hpp"
#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

constexpr std::int64_t kRecords = 400;
/// Far above what a put of 50 ms or a flush takes, also where the machine or its disk stands still:
/// only who is stopped is over it.
constexpr std::chrono::seconds kCallTimeout{4};

/// Two partitions, two workers, slices of a hundred records that take half a second each.
class SlowJob {
 public:
  SlowJob() {
    kafka.topic("orders", 2);
    for (int partition = 0; partition < 2; ++partition) {
      kafka.produce_same("orders", partition, kRecords, "slow:5");
    }
  }

  std::unique_ptr<Program> run() {
    return kafka.run(kafka.job("archive",
                               "mode = \"once\"\nconnector.class = \"fault\"\n"
                               "topics = [\"orders\"]\ntasks.max = 2\nslice.max.records = 100\n"
                               "worker.batch.max.records = 10\ntask.call.timeout.ms = \"" +
                                   std::to_string(kCallTimeout.count()) + "s\"\n"));
  }
  std::filesystem::path state_dir() const { return kafka.folder().path() / "state"; }
  std::vector<LedgerLine> lines_of(int partition) const {
    auto lines = kafka.ledger();
    std::erase_if(lines, [=](const auto& line) { return line.partition != partition; });
    return lines;
  }
  void require_all_delivered() const {
    REQUIRE(kafka.deliveries().size() == 2 * static_cast<std::size_t>(kRecords));
  }

  JobFixture kafka;
};

bool waits_for_state_dir(const Program& host) {
  const std::regex line{
      "warning state directory: [^:]+: is in use by pid [0-9, ]+; stop that host, "
      "or name another state.dir; waiting for it to end"};
  return std::regex_search(host.err(), line);
}

/// Looks at the stored frontiers as often as it is asked; none of them may ever go back.
class FrontierWatch {
 public:
  explicit FrontierWatch(std::filesystem::path state_dir) : state_dir_{std::move(state_dir)} {}

  void look() {
    for (const auto& [partition, frontier] : stored_frontiers(state_dir_, "archive")) {
      REQUIRE(frontier >= seen_[partition]);
      seen_[partition] = frontier;
    }
  }

 private:
  std::filesystem::path state_dir_;
  Frontiers seen_;
};

}  // namespace

TEST_CASE(
    "a worker stopped half-way through a slice is ended before the slice is given away, and"
    " writes nothing more (B17)",
    "[zombie]") {
  SlowJob job;
  const auto run = job.run();
  FrontierWatch frontiers{job.state_dir()};
  REQUIRE(eventually([&] { return job.lines_of(0).size() > 120; }));
  const auto zombie = static_cast<pid_t>(job.lines_of(0).back().pid);
  REQUIRE(::kill(zombie, SIGSTOP) == 0);
  const auto lost = [&] {
    frontiers.look();
    return run->err().find("worker is gone: ") != std::string::npos;
  };
  REQUIRE(eventually(lost));
  // Gone, not only unwanted: there is nobody whom SIGCONT could bring back.
  CHECK(has_ended(zombie));
  CHECK(::kill(zombie, SIGCONT) != 0);
  REQUIRE(eventually([&] {
    frontiers.look();
    return !run->running();
  }));
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  // In put nearly always; between two batches it may be in another call.
  CHECK(std::regex_search(
      run->err(), std::regex{"the process is stopped; cause hang, phase (put|flush|fetch), pid " +
                             std::to_string(zombie)}));
  job.require_all_delivered();
  const auto lines = job.lines_of(0);
  const auto first_of_others = std::find_if(lines.begin(), lines.end(),
                                            [=](const auto& line) { return line.pid != zombie; });
  REQUIRE(first_of_others != lines.end());
  CHECK(std::none_of(first_of_others, lines.end(),
                     [=](const auto& line) { return line.pid == zombie; }));
  const auto again = require_only_interrupted_slices_again(job.state_dir(), "archive",
                                                           job.kafka.ledger(), {zombie});
  CHECK(again.slices <= 2);  // what one flush group may hold: S, and one that was waiting for it
}

TEST_CASE(
    "a second host does not take over beside one that is stopped, which goes on when it"
    " comes back, and nothing is delivered twice (B17, S8)",
    "[zombie]") {
  SlowJob job;
  const auto first = job.run();
  FrontierWatch frontiers{job.state_dir()};
  REQUIRE(eventually([&] { return job.lines_of(0).size() > 120; }));
  first->signal(SIGSTOP);
  const auto second = job.run();
  const auto second_waits = [&] {
    frontiers.look();
    return waits_for_state_dir(*second);
  };
  REQUIRE(eventually(second_waits));
  CHECK(second->err().find(std::to_string(first->pid())) != std::string::npos);
  // Longer than any deadline of the job; the workers have run dry by then.
  REQUIRE_FALSE(eventually([&] { return !second->running(); }, kCallTimeout + kCallTimeout / 4));
  CHECK(second->err().find("starts at") == std::string::npos);
  first->signal(SIGCONT);
  INFO(first->err());
  REQUIRE(first->wait() == 0);
  frontiers.look();
  CHECK(first->err().find("worker is gone") == std::string::npos);
  CHECK(second->wait() == 0);
  frontiers.look();
  job.require_all_delivered();
  for (const auto& [where, times] : job.kafka.deliveries()) REQUIRE(times == 1);
}

TEST_CASE(
    "a second host takes over from one that is stopped once that is killed, and its workers"
    " are gone by then (B17, S8)",
    "[zombie]") {
  SlowJob job;
  const auto first = job.run();
  FrontierWatch frontiers{job.state_dir()};
  REQUIRE(eventually([&] { return job.lines_of(0).size() > 120; }));
  first->signal(SIGSTOP);
  const auto zombies = workers_below(first->pid());
  REQUIRE(zombies.size() == 2);
  const auto second = job.run();
  REQUIRE(eventually([&] { return waits_for_state_dir(*second); }));
  first->kill();
  REQUIRE(eventually([&] { return second->err().find("starts at") != std::string::npos; }));
  for (const auto zombie : zombies) CHECK(has_ended(zombie));
  frontiers.look();
  REQUIRE(second->wait() == 0);
  frontiers.look();
  job.require_all_delivered();
  require_only_interrupted_slices_again(job.state_dir(), "archive", job.kafka.ledger(),
                                        {zombies.begin(), zombies.end()});
}

}  // namespace sluice::test
