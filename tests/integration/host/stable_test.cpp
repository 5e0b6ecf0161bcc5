// Sinks that name their output after the slice (slicer.md C5; B15: "none when the sink uses the
// slice's identity"), with real processes: whoever is killed, and when, each record is there once.
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "host/base/random.hpp"
#include "integration/host/job_fixture.hpp"
#include "rig/topic_reader.hpp"

namespace sluice::test {
namespace {

constexpr int kPartitions = 4;
constexpr char kIsolate[] =
    "slice.on.failure = \"isolate\"\nerrors.deadletterqueue.topic.name = \"dlq\"\n"
    "errors.deadletterqueue.context.headers.enable = true\n";

struct SliceFile {
  std::int32_t partition = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// What the name of an output says: PARTITION-START-END.
SliceFile slice_of(const std::filesystem::path& file) {
  std::istringstream name{file.filename().string()};
  SliceFile slice;
  char dash = 0;
  REQUIRE((name >> slice.partition >> dash >> slice.start >> dash >> slice.end));
  return slice;
}

class NamedOutput {
 public:
  NamedOutput() {
    kafka.topic("orders", kPartitions);
    std::filesystem::create_directories(folder());
  }

  std::filesystem::path folder() const { return kafka.folder().path() / "slices"; }
  std::filesystem::path die() const { return kafka.folder().path() / "die"; }

  void job(const std::string& more = {}) const {
    std::filesystem::create_directories(kafka.jobs_dir());
    std::ofstream{kafka.jobs_dir() / "archive.toml"}
        << "name = \"archive\"\ntopics = [\"orders\"]\nconnector.class = \"slice_files\"\n"
        << "tasks.max = 2\nslice.max.records = 50\nworker.batch.max.records = 10\nfolder = \""
        << folder().string() << "\"\ndie = \"" << die().string() << "\"\n"
        << more;
  }
  std::unique_ptr<Program> host() {
    return kafka.host("plugin.path = [\"" SLUICE_SLICE_FILES_PLUGIN_DIR "\"]\n");
  }

  std::size_t files() const {
    const std::filesystem::directory_iterator all{folder()};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  /// How often each record is there; fails where a file holds what its name does not say.
  Deliveries records() const {
    Deliveries found;
    for (const auto& entry : std::filesystem::directory_iterator{folder()}) {
      const auto [partition, start, end] = slice_of(entry.path());
      std::istringstream text{read_file(entry.path())};
      for (std::string line; std::getline(text, line);) {
        const std::int64_t offset = std::stoll(line);
        REQUIRE(offset >= start);
        REQUIRE(offset < end);
        ++found[{partition, offset}];
      }
    }
    return found;
  }
  /// Whether two files are of the same offsets.
  bool is_overlapping() const {
    std::map<std::int32_t, std::map<std::int64_t, std::int64_t>> ranges;
    for (const auto& entry : std::filesystem::directory_iterator{folder()}) {
      const auto [partition, start, end] = slice_of(entry.path());
      if (!ranges[partition].emplace(start, end).second) return true;
    }
    for (const auto& [partition, of] : ranges) {
      std::int64_t reached = 0;
      for (const auto& [start, end] : of) {
        if (start < reached) return true;
        reached = end;
      }
    }
    return false;
  }
  /// How many slices were written more than once.
  std::size_t written_again() const {
    std::map<std::string, int> times;
    std::istringstream log{read_file(folder().string() + ".log")};
    for (std::string name; std::getline(log, name);) ++times[name];
    return static_cast<std::size_t>(std::count_if(
        times.begin(), times.end(), [](const auto& entry) { return entry.second > 1; }));
  }
  bool audited() const {
    return eventually([&] { return kafka.sluice_job({"audit", "archive"}).exit == 0; });
  }

  JobFixture kafka;
};

}  // namespace

TEST_CASE("output that is named after its slice is there once, whoever is killed (B15, C5)",
          "[stable]") {
  constexpr int kRounds = 10;
  constexpr std::int64_t kEach = 150;
  NamedOutput output;
  output.job();
  auto host = output.host();
  Random random{15};
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t before = output.files();
    const std::size_t some = before + random.below(8);
    if (round % 3 == 2) std::ofstream{output.die()} << "";
    for (int partition = 0; partition < kPartitions; ++partition) {
      output.kafka.produce("orders", partition, kEach);
    }
    REQUIRE(eventually([&] { return output.files() >= some; }));
    if (round % 3 == 0) {
      host->kill();
      host = output.host();
    } else if (round % 3 == 1) {
      const auto workers = workers_below(host->pid());
      if (!workers.empty()) ::kill(workers[random.below(workers.size())], SIGKILL);
    } else {
      REQUIRE(eventually([&] { return !std::filesystem::exists(output.die()); }));
    }
  }
  constexpr std::size_t kAll = kRounds * kEach * kPartitions;
  REQUIRE(eventually([&] { return output.records().size() == kAll; }, std::chrono::seconds{60}));
  REQUIRE(output.audited());
  REQUIRE(host->stop() == 0);
  for (const auto& [where, times] : output.records()) {
    CAPTURE(where.first, where.second);
    CHECK(times == 1);
  }
  // It was not luck: slices came again after they were written, under the same name.
  CHECK(output.written_again() > 0);
}

TEST_CASE(
    "a record that kills such a sink becomes a dead letter, and its slice keeps its name,"
    " whoever is killed meanwhile (F3.4)",
    "[stable]") {
  constexpr std::int64_t kEach = 500;
  const bool is_host_killed = GENERATE(false, true);
  NamedOutput output;
  output.kafka.topic("dlq", 1);
  output.job(kIsolate);
  const std::vector<std::pair<std::int32_t, std::int64_t>> poison{{0, 123}, {1, 0}, {2, 499}};
  for (int partition = 0; partition < kPartitions; ++partition) {
    for (std::int64_t offset = 0; offset < kEach; ++offset) {
      const bool is_bad = std::find(poison.begin(), poison.end(),
                                    std::pair{std::int32_t{partition}, offset}) != poison.end();
      output.kafka.produce_value("orders", partition, is_bad ? "crash" : "value");
    }
  }
  auto host = output.host();
  if (is_host_killed) {
    Random random{34};
    for (int round = 0; round < 5; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds{300 + 100 * random.below(6)});
      host->kill();
      host = output.host();
    }
  }
  const std::size_t all = kPartitions * kEach - poison.size();
  REQUIRE(eventually([&] { return output.records().size() == all; }, std::chrono::seconds{60}));
  // The job goes on.
  for (int partition = 0; partition < kPartitions; ++partition) {
    output.kafka.produce("orders", partition, 10);
  }
  REQUIRE(eventually([&] { return output.records().size() == all + 10 * kPartitions; }));
  REQUIRE(output.audited());
  const std::string slices = output.kafka.sluice_job({"slices", "archive"}).out;
  REQUIRE(host->stop() == 0);
  const Deliveries records = output.records();
  for (const auto& [where, times] : records) {
    CAPTURE(where.first, where.second);
    CHECK(times == 1);
  }
  for (const auto& where : poison) CHECK_FALSE(records.contains(where));
  CHECK_FALSE(output.is_overlapping());
  CAPTURE(slices);
  CHECK(slices.find("dead_lettered") != std::string::npos);
  const auto letters = rig::read_topic(output.kafka.cluster().bootstrap_servers(), "dlq");
  std::set<std::pair<std::string, std::string>> places;
  for (const auto& letter : letters) {
    CHECK(letter.value == "crash");
    CHECK(letter.header("__connect.errors.stage") == "CRASH");
    places.emplace(letter.header("__connect.errors.partition"),
                   letter.header("__connect.errors.offset"));
  }
  CHECK(places.size() == poison.size());
  if (!is_host_killed) CHECK(letters.size() == poison.size());
}

TEST_CASE("such a sink that dies only in flush halts its partition, which says why (F3.4)",
          "[stable]") {
  NamedOutput output;
  output.kafka.topic("dlq", 1);
  output.job(kIsolate);
  output.kafka.produce("orders", 0, 120);
  output.kafka.produce_value("orders", 0, "crash_flush");
  output.kafka.produce("orders", 0, 79);
  output.kafka.produce("orders", 1, 200);
  const auto host = output.host();
  REQUIRE(eventually(
      [&] {
        return host->err().find(
                   "each of its records survives a probe run, which is never flushed") !=
               std::string::npos;
      },
      std::chrono::seconds{60}));
  INFO(host->err());
  CHECK(host->err().find("orders-0 halted at offset") != std::string::npos);
  REQUIRE(eventually([&] {
    const auto records = output.records();
    return std::count_if(records.begin(), records.end(),
                         [](const auto& entry) { return entry.first.first == 1; }) == 200;
  }));
  const auto records = output.records();
  CHECK(records.contains({0, 0}));
  CHECK_FALSE(records.contains({0, 120}));
  CHECK_FALSE(records.contains({0, 199}));
  CHECK(rig::read_topic(output.kafka.cluster().bootstrap_servers(), "dlq").empty());
  REQUIRE(host->stop() == 0);
}

}  // namespace sluice::test
