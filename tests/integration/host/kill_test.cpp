// SIGKILL to workers and to the host: what was promised holds without anybody's goodbye.
#include <catch2/catch.hpp>
#include <iterator>
#include <regex>
#include <set>

#include "integration/host/delivery_proof.hpp"
#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

constexpr char kLedgerJob[] =
    "mode = \"once\"\nconnector.class = \"ledger\"\ntopics = [\"orders\"]\ntasks.max = 2\n"
    "slice.max.records = 250\n";

}  // namespace

TEST_CASE("a worker killed with SIGKILL costs no record, and its neighbour keeps its pid (B15 a)",
          "[kill]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  for (int partition = 0; partition < 4; ++partition) {
    kafka.produce_same("orders", partition, 2500, "slow:1");
  }
  const auto run =
      kafka.run(kafka.job("archive",
                          "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\n"
                          "tasks.max = 2\nslice.max.records = 250\n"));
  REQUIRE(eventually([&] { return kafka.ledger().size() > 500; }));
  const auto workers = processes_below(run->pid());
  REQUIRE(workers.size() == 2);
  ::kill(workers.front(), SIGKILL);
  INFO(run->err());
  REQUIRE(run->wait(std::chrono::seconds{100}) == 0);
  const auto delivered = kafka.deliveries();
  REQUIRE(delivered.size() == 10'000);
  std::set<std::int64_t> pids;
  std::size_t twice = 0;
  for (const auto& line : kafka.ledger()) pids.insert(line.pid);
  for (const auto& [where, times] : delivered) {
    REQUIRE(times <= 2);
    twice += times == 2 ? 1 : 0;
  }
  CHECK(pids.contains(workers.back()));
  CHECK(pids.size() <= 3);
  // Only what was in flight in the killed worker may come again: its flush group.
  CHECK(twice <= 2500);
  CHECK(run->err().find("worker is gone") != std::string::npos);
}

TEST_CASE(
    "a plugin that ends its process says nothing of the configuration, whatever the exit code",
    "[kill]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  kafka.produce("orders", 0, 5);
  kafka.produce_value("orders", 0, "exit:78");
  const auto marks = kafka.folder().path() / "marks";
  std::filesystem::create_directories(marks);
  const auto run =
      kafka.run(kafka.job("archive",
                          "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\n"
                          "once.folder = \"" +
                              marks.string() + "\"\n"));
  const int ended = run->wait();
  INFO(run->err());
  CHECK(ended == 0);
  CHECK(kafka.deliveries().size() == 6);
  CHECK(run->err().find("exit code 78") != std::string::npos);
}

TEST_CASE(
    "a worker that dies in the middle of a line is named within 2 s, its slice goes to"
    " another worker, and every line parses (B15 b)",
    "[kill]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  kafka.produce_same("orders", 0, 1250, "slow:1");
  kafka.produce_value("orders", 0, "half");
  kafka.produce_same("orders", 0, 1249, "slow:1");
  for (int partition = 1; partition < 4; ++partition) {
    kafka.produce_same("orders", partition, 2500, "slow:1");
  }
  const auto once = kafka.folder().path() / "once";
  std::filesystem::create_directory(once);
  const auto run =
      kafka.run(kafka.job("archive",
                          "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\n"
                          "tasks.max = 2\nslice.max.records = 250\nonce.folder = \"" +
                              once.string() + "\"\n"));
  REQUIRE(eventually([&] { return std::filesystem::exists(once / "orders-0-1250"); }));
  const auto named = [&] {
    return std::regex_search(
        run->err(), std::regex{"worker is gone: SIGKILL, not from us; cause killed, phase put, pid "
                               "\\d+, slice orders-0 \\[1250, 1500\\), restart 1 in \\d+ ms "
                               ".*job=archive worker=\\d"});
  };
  const bool in_time = eventually(named, std::chrono::seconds{2});
  INFO(run->err());
  REQUIRE(in_time);
  REQUIRE(run->wait(std::chrono::seconds{100}) == 0);
  const auto lines = kafka.ledger();  // fails if a line does not parse
  CHECK(count_deliveries(lines).size() == 10'000);
  std::smatch victim;
  const auto said = run->err();
  REQUIRE(std::regex_search(said, victim, std::regex{"phase put, pid (\\d+)"}));
  const auto pid = std::stoll(victim[1]);
  std::set<std::int64_t> pids;
  for (const auto& line : lines) {
    pids.insert(line.pid);
    if (line.partition == 0 && line.offset == 1250) CHECK(line.pid != pid);
  }
  CHECK(pids.size() <= 3);  // the victim, its neighbour, its successor
  require_only_interrupted_slices_again(kafka.folder().path() / "state", "archive", lines, {pid});
}

TEST_CASE("a worker that dies after an upgrade is replaced by one of its host's version (B15)",
          "[kill]") {
  namespace fs = std::filesystem;
  JobFixture kafka;
  kafka.topic("orders", 1);
  const auto bin = kafka.folder().path() / "bin";
  fs::create_directory(bin);
  for (const char* const name : {"sluice", "sluice-worker"}) {
    fs::copy_file(fs::path{SLUICE_BIN_DIR} / name, bin / name);
  }
  auto command =
      kafka.run_command(kafka.job("tail", "connector.class = \"ledger\"\ntopics = [\"orders\"]\n"),
                        {"--plugin-path", SLUICE_PLUGIN_DIR});
  command.front() = bin / "sluice";
  Program run{command, kafka.folder().path() / "run"};
  kafka.produce("orders", 0, 10);
  REQUIRE(eventually([&] { return kafka.deliveries().size() == 10; }));

  std::ofstream{bin / "newer"} << "#!/bin/sh\nexit 78\n";
  fs::permissions(bin / "newer", fs::perms::owner_all);
  fs::rename(bin / "newer", bin / "sluice-worker");
  const auto workers = workers_below(run.pid());
  REQUIRE(workers.size() == 1);
  ::kill(workers.front(), SIGKILL);
  kafka.produce("orders", 0, 10);
  CHECK(eventually([&] { return kafka.deliveries().size() == 20; }));
  REQUIRE(workers_below(run.pid()).size() == 1);
  CHECK(read_file("/proc/" + std::to_string(workers_below(run.pid()).front()) + "/comm") ==
        "sluice-worker\n");
  INFO(run.err());
  CHECK(run.stop() == 0);
}

TEST_CASE(
    "a record that crashes its worker every time halts its partition after the configured"
    " attempts, and the others finish (B15)",
    "[kill]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  kafka.produce("orders", 0, 150);
  kafka.produce_value("orders", 0, "crash");
  kafka.produce("orders", 0, 149);
  for (int partition = 1; partition < 4; ++partition) kafka.produce("orders", partition, 300);
  const auto run =
      kafka.run(kafka.job("archive",
                          "mode = \"once\"\nconnector.class = \"fault\"\ntopics = [\"orders\"]\n"
                          "tasks.max = 2\nslice.max.records = 100\nslice.attempts.max = 2\n"));
  REQUIRE(run->wait() == 1);
  INFO(run->err());
  const std::regex death{"worker is gone: SIGSEGV in put"};
  const auto said = run->err();
  // Once beside others, which charges nobody, and once for each attempt.
  CHECK(std::distance(std::sregex_iterator{said.begin(), said.end(), death}, {}) <= 3);
  CHECK(said.find("orders-0 halted at offset 1") != std::string::npos);
  CHECK(said.find("SIGSEGV in put") != std::string::npos);
  const auto delivered = kafka.deliveries();
  CHECK_FALSE(delivered.contains({0, 150}));
  for (int partition = 1; partition < 4; ++partition) {
    for (std::int64_t offset = 0; offset < 300; ++offset) {
      REQUIRE(delivered.contains({partition, offset}));
    }
  }
  const auto frontier = stored_frontiers(kafka.folder().path() / "state", "archive").at(0);
  CHECK(frontier == 100);
}

TEST_CASE(
    "no worker outlives a host killed with SIGKILL by more than 2 s, and nothing is lost (B25)",
    "[kill]") {
  JobFixture kafka;
  kafka.topic("orders", 4);
  for (int partition = 0; partition < 4; ++partition) kafka.produce("orders", partition, 5000);
  const auto job = kafka.job("archive", kLedgerJob);
  for (int kills = 0; kills < 5; ++kills) {
    const auto before = kafka.ledger().size();
    const auto run = kafka.run(job);
    REQUIRE(eventually([&] { return !run->running() || kafka.ledger().size() > before + 300; }));
    if (!run->running()) break;
    const auto workers = processes_below(run->pid());
    run->kill();
    for (const auto worker : workers) {
      CHECK(eventually([worker] { return has_ended(worker); }, std::chrono::seconds{2}));
    }
  }
  const auto last = kafka.run(job);
  INFO(last->err());
  REQUIRE(last->wait() == 0);
  CHECK(kafka.deliveries().size() == 20'000);
}

}  // namespace sluice::test
