// The whole product at full speed: a host in this process with its slicer, supervisor, store and
// real worker processes, a once job over a topic into the null sink or (--file) the file sink with
// raw values, and one JSON line when it has completed. Compared with bench_raw_reader on the same
// topic it says what Sluice costs (ipc facts 5: P1, P2, P4). Time runs from the last worker's READY
// to the last DONE; CPU is that of all processes of ours over their whole life. "running" figures
// (P5) are the host's from the first open partition to the end of the job.
#include <sys/resource.h>
#include <time.h>

#include <boost/program_options.hpp>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/config/load.hpp"
#include "host/job/host.hpp"
#include "host/job/job_plan.hpp"
#include "unit/temporary_folder.hpp"

namespace {

namespace options = boost::program_options;
using namespace sluice;

/// Above what small slices bring, so that the host's speed is seen and not its limit.
constexpr std::uint32_t kSlicesPerSecondMax = 1'000'000;

struct Settings {
  std::string bootstrap;
  std::vector<std::string> topics;
  int workers = 1;
  std::int64_t slice_records = 10'000;
  std::string assignment = "sticky";
  std::string work_ns = "0";
  std::string file;  ///< empty: the null sink
};

double clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// A moment of the run, by the clock and by the CPU of this process, which is the host.
struct Moment {
  double at_us = clock_us(CLOCK_MONOTONIC);
  double loop_us = clock_us(CLOCK_THREAD_CPUTIME_ID);  ///< of the loop's thread alone
  double host_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
};

/// Called on the loop's thread.
class Stopwatch final : public job::JobObserver {
 public:
  void worker_ready(std::uint32_t, std::int32_t) override { ready = Moment{}; }
  void reported(std::uint32_t, const ipc::Report& report) override {
    const auto kind = static_cast<ipc::ReportKind>(report.kind);
    if (kind == ipc::ReportKind::Opened && !is_opened_) {
      is_opened_ = true;
      opened = Moment{};
    }
    if (kind != ipc::ReportKind::Done) return;
    records += report.records;
    bytes += report.bytes;
    ++slices;
    end_us = clock_us(CLOCK_MONOTONIC);
  }

  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t slices = 0;
  Moment ready;   ///< the last worker's READY
  Moment opened;  ///< the first partition was opened: partitions found, starts durable
  double end_us = clock_us(CLOCK_MONOTONIC);  ///< the last DONE

 private:
  bool is_opened_ = false;
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
  const std::string sink =
      settings.file.empty()
          ? "connector.class = \"null\"\nwork.ns = " + settings.work_ns
          : "connector.class = \"file\"\nformat = \"raw\"\nfile = \"" + settings.file + '"';
  std::string topics;
  for (const auto& topic : settings.topics)
    topics += (topics.empty() ? "\"" : ", \"") + topic + '"';
  return "name = \"bench\"\nmode = \"once\"\ntopics = [" + topics +
         "]\ntasks.max = " + std::to_string(settings.workers) +
         "\nslice.max.records = " + std::to_string(settings.slice_records) +
         "\nslicer.assignment = \"" + settings.assignment + "\"\n" + sink + '\n';
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
  host_options.slices_per_second_max = kSlicesPerSecondMax;
  const double planning_us = cpu_us(RUSAGE_CHILDREN);
  Stopwatch stopwatch;
  auto host = must(
      job::Host::open(host_options, clock, log::Logger::to_stderr(clock, log::Level::Warning)));
  host->add_job(std::move(plan), &stopwatch);
  host->run(job::Host::Until::JobsEnded);
  const auto status = host->status().front();
  if (status.state != job::JobState::Completed) throw std::runtime_error{"not completed"};
  const Moment over;
  const double host_us = cpu_us(RUSAGE_SELF);
  const double workers_us = cpu_us(RUSAGE_CHILDREN) - planning_us;
  rusage workers_usage{};
  ::getrusage(RUSAGE_CHILDREN, &workers_usage);
  const auto records = static_cast<double>(stopwatch.records);
  const auto slices = static_cast<double>(stopwatch.slices);
  const double seconds = (stopwatch.end_us - stopwatch.ready.at_us) / 1e6;
  std::printf(
      "{\"bench\":\"product\",\"workers\":%d,\"records\":%llu,\"bytes\":%llu,\"slices\":%llu,"
      "\"seconds\":%.3f,\"seconds_from_first_open\":%.3f,\"records_per_second\":%.0f,"
      "\"cpu_us_per_record\":%.4f,\"host_cpu_us_per_slice\":%.2f,"
      "\"running_loop_cpu_us_per_slice\":%.3f,\"running_host_cpu_us_per_slice\":%.3f,"
      "\"running_host_cpu_share\":%.5f,\"rss_max_bytes\":%llu}\n",
      settings.workers, static_cast<unsigned long long>(stopwatch.records),
      static_cast<unsigned long long>(stopwatch.bytes),
      static_cast<unsigned long long>(stopwatch.slices), seconds,
      (stopwatch.end_us - stopwatch.opened.at_us) / 1e6, records / seconds,
      (host_us + workers_us) / records, host_us / slices,
      (over.loop_us - stopwatch.opened.loop_us) / slices,
      (over.host_us - stopwatch.opened.host_us) / slices,
      (over.host_us - stopwatch.opened.host_us) / workers_us,
      static_cast<unsigned long long>(workers_usage.ru_maxrss) * 1024);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  options::options_description described{"bench_product: a once job at full speed"};
  described.add_options()("help", "this text")(
      "bootstrap", options::value(&settings.bootstrap)->required(), "host:port")(
      "topic", options::value(&settings.topics)->required(), "read to its end; may be repeated")(
      "workers", options::value(&settings.workers)->default_value(1), "tasks.max")(
      "slice-records", options::value(&settings.slice_records)->default_value(10'000),
      "slice.max.records")("assignment", options::value(&settings.assignment), "slicer.assignment")(
      "work-ns", options::value(&settings.work_ns)->default_value("0"),
      "CPU time the null sink burns for each record")(
      "file", options::value(&settings.file), "raw values into this file instead of the null sink");
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
