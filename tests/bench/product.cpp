// The whole product at full speed: a host in this process with its slicer, supervisor, store and
// real worker processes, a once job with the null sink over a topic, and one JSON line when it has
// completed. Compared with bench_raw_reader on the same topic it says what Sluice costs (ipc facts
// 5: P1, P2, P4). Time runs from the last worker's READY to the last DONE; CPU is that of all
// processes of ours over their whole life.
#include <sys/resource.h>

#include <boost/program_options.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

#include "host/config/load.hpp"
#include "host/job/host.hpp"
#include "host/job/job_plan.hpp"
#include "unit/temporary_folder.hpp"

namespace {

namespace options = boost::program_options;
using namespace sluice;
using SteadyClock = std::chrono::steady_clock;

struct Settings {
  std::string bootstrap;
  std::string topic;
  int workers = 1;
  std::int64_t slice_records = 10'000;
  std::string work_ns = "0";
};

class Stopwatch final : public job::JobObserver {
 public:
  void worker_ready(std::uint32_t, std::int32_t) override { begin_ = SteadyClock::now(); }
  void reported(std::uint32_t, const ipc::Report& report) override {
    if (static_cast<ipc::ReportKind>(report.kind) != ipc::ReportKind::Done) return;
    end_ = SteadyClock::now();
    records += report.records;
    bytes += report.bytes;
    ++slices;
  }
  double seconds() const { return std::chrono::duration<double>(end_ - begin_).count(); }

  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t slices = 0;

 private:
  SteadyClock::time_point begin_ = SteadyClock::now();
  SteadyClock::time_point end_ = begin_;
};

template <typename T, typename E>
T must(boost::system::result<T, E> result) {
  if constexpr (std::is_same_v<E, config::Problems>) {
    if (!result) throw std::runtime_error{result.error().text()};
  } else {
    if (!result) throw std::runtime_error{result.error().message()};
  }
  return *std::move(result);
}

std::string job_text(const Settings& settings) {
  return "name = \"bench\"\nmode = \"once\"\nconnector.class = \"null\"\ntopics = [\"" +
         settings.topic + "\"]\ntasks.max = " + std::to_string(settings.workers) +
         "\nslice.max.records = " + std::to_string(settings.slice_records) +
         "\nwork.ns = " + settings.work_ns + "\n";
}

double cpu_us(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

void run(const Settings& settings) {
  const TemporaryFolder folder;
  const SystemClock clock;
  const auto worker = must(job::find_worker_executable());
  catalog::PluginCatalog catalog{{{SLUICE_PLUGIN_DIR}, worker, folder.path()}};
  auto plan = must(job::plan_job(
      must(config::parse_job(job_text(settings), config::Format::Toml, "bench")), catalog));
  // Each run has a store of its own: it must not go on where another store left the group.
  plan.from = job::StartFrom{job::StartFrom::Kind::Earliest, 0};
  job::HostOptions host_options;
  host_options.kafka = {{"bootstrap.servers", settings.bootstrap}};
  host_options.state_dir = folder.path();
  host_options.worker_executable = worker;
  const double planning_us = cpu_us(RUSAGE_CHILDREN);
  Stopwatch stopwatch;
  auto host = must(
      job::Host::open(host_options, clock, log::Logger::to_stderr(clock, log::Level::Warning)));
  host->add_job(std::move(plan), &stopwatch);
  host->run(job::Host::Until::JobsEnded);
  const auto status = host->status().front();
  if (status.state != job::JobState::Completed) throw std::runtime_error{"not completed"};
  const double host_us = cpu_us(RUSAGE_SELF);
  const double workers_us = cpu_us(RUSAGE_CHILDREN) - planning_us;
  rusage workers_usage{};
  ::getrusage(RUSAGE_CHILDREN, &workers_usage);
  const auto records = static_cast<double>(stopwatch.records);
  std::printf(
      "{\"bench\":\"product\",\"workers\":%d,\"records\":%llu,\"bytes\":%llu,"
      "\"seconds\":%.3f,\"records_per_second\":%.0f,\"cpu_us_per_record\":%.4f,"
      "\"host_cpu_us_per_slice\":%.2f,\"rss_max_bytes\":%llu}\n",
      settings.workers, static_cast<unsigned long long>(stopwatch.records),
      static_cast<unsigned long long>(stopwatch.bytes), stopwatch.seconds(),
      records / stopwatch.seconds(), (host_us + workers_us) / records,
      host_us / static_cast<double>(stopwatch.slices),
      static_cast<unsigned long long>(workers_usage.ru_maxrss) * 1024);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  options::options_description described{"bench_product: a once job with the null sink"};
  described.add_options()("help", "this text")(
      "bootstrap", options::value(&settings.bootstrap)->required(), "host:port")(
      "topic", options::value(&settings.topic)->required(), "the topic, read to its end")(
      "workers", options::value(&settings.workers)->default_value(1), "tasks.max")(
      "slice-records", options::value(&settings.slice_records)->default_value(10'000),
      "slice.max.records")("work-ns", options::value(&settings.work_ns)->default_value("0"),
                           "CPU time the sink burns for each record");
  try {
    options::variables_map values;
    options::store(options::parse_command_line(argc, argv, described), values);
    if (values.contains("help")) {
      std::cout << described;
      return 0;
    }
    options::notify(values);
    run(settings);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_product: " << error.what() << '\n';
    return 1;
  }
}
