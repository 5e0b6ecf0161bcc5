#include "broker/soak_jobs.hpp"

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include "integration/host/delivery_proof.hpp"
#include "rig/topic_reader.hpp"

namespace sluice::tests {
namespace {

// Small slices and short waits, so that more happens in a minute.
constexpr char kCommon[] =
    "tasks.max = 2\nslice.max.records = 500\nworker.rebalance.delay.ms = 2000\n"
    "restart.backoff.ms = 1000\nrestart.backoff.max.ms = 5000\n";
constexpr char kIsolating[] =
    "connector.class = \"fault\"\nslice.on.failure = \"isolate\"\nslice.isolate.max = 1000\n"
    "errors.tolerance = \"all\"\nerrors.deadletterqueue.context.headers.enable = true\n";

SoakJob write_job(const test::JobFolder& host, const std::string& name, const std::string& topic,
                  const std::string& dlq) {
  std::filesystem::create_directories(host.jobs_dir());
  SoakJob job{name, host.jobs_dir() / (name + ".toml"), host.folder().path() / (name + ".jsonl"),
              dlq};
  std::ofstream out{job.file};
  out << "name = \"" << name << "\"\ntopics = [\"" << topic << "\"]\nfile = \""
      << job.ledger.string() << "\"\n"
      << kCommon;
  if (dlq.empty()) {
    out << "connector.class = \"ledger\"\n";
  } else {
    out << kIsolating << "errors.deadletterqueue.topic.name = \"" << dlq << "\"\n";
  }
  return job;
}

std::int64_t entries_of(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::directory_iterator entries{folder, error};
  return error ? 0 : std::distance(begin(entries), end(entries));
}

}  // namespace

Footprint footprint_of(pid_t pid) {
  const auto folder = std::filesystem::path{"/proc"} / std::to_string(pid);
  Footprint footprint;
  std::ifstream status{folder / "status"};
  for (std::string line; std::getline(status, line);) {
    std::istringstream words{line};
    std::string name;
    std::int64_t value = 0;
    if (!(words >> name >> value)) continue;
    if (name == "RssAnon:") footprint.rss_anon_kb = value;
    if (name == "Threads:") footprint.threads = value;
  }
  footprint.descriptors = entries_of(folder / "fd");
  std::ifstream maps{folder / "maps"};
  for (std::string line; std::getline(maps, line);) ++footprint.mappings;
  return footprint;
}

std::vector<pid_t> workers_of(pid_t host, const std::string& job) {
  auto workers = test::workers_below(host);
  std::erase_if(workers, [&](pid_t pid) {
    const auto title = test::read_file("/proc/" + std::to_string(pid) + "/cmdline");
    return !title.starts_with("sluice-worker: " + job + "/");
  });
  return workers;
}

bool kill_one(const std::vector<pid_t>& workers, Random& random) {
  return !workers.empty() && ::kill(workers[random.below(workers.size())], SIGKILL) == 0;
}

LastingHost::LastingHost(const std::string& bootstrap_servers, const std::string& topic)
    : JobFolder{bootstrap_servers},
      bootstrap_servers_{bootstrap_servers},
      steady_{write_job(*this, topic + "-steady", topic, {})},
      hit_{write_job(*this, topic + "-hit", topic, topic + "-hit-dlq")} {}

void LastingHost::start() {
  test::ObservedOptions options;
  options.jobs = {steady_.file, hit_.file};
  options.bootstrap_servers = bootstrap_servers_;
  options.state_dir = state_dir();
  options.output = folder().path() / "observed";
  run_ = std::make_unique<test::ObservedRun>(options);
}

MortalHost::MortalHost(const std::string& bootstrap_servers, const std::string& topic)
    : JobFolder{bootstrap_servers},
      mortal_{write_job(*this, topic + "-mortal", topic, topic + "-mortal-dlq")} {}

void MortalHost::start() {
  program_ = host();
}

std::vector<pid_t> MortalHost::kill() {
  program_->signal(SIGSTOP);
  auto orphans = test::workers_below(program_->pid());
  program_->kill();
  return orphans;
}

std::vector<std::int64_t> frontiers_of(const test::JobFolder& host, const SoakJob& job) {
  std::vector<std::int64_t> frontiers;
  for (const auto& [partition, frontier] : test::stored_frontiers(host.state_dir(), job.name)) {
    frontiers.push_back(frontier);
  }
  return frontiers;
}

std::set<Place> letters_of(const std::string& bootstrap_servers, const SoakJob& job) {
  std::set<Place> places;
  if (job.dlq.empty()) return places;
  for (const auto& letter : rig::read_topic(bootstrap_servers, job.dlq)) {
    CHECK(letter.value == "crash");
    places.insert({std::stoi(letter.header("__connect.errors.partition")),
                   std::stoll(letter.header("__connect.errors.offset"))});
  }
  return places;
}

}  // namespace sluice::tests
