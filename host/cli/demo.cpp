// `sluice demo`: the product's promise, seen within seconds. An embedded Kafka, 200,000 orders, a
// job of two workers through a filter and a plugin with a bug into files. One worker is killed with
// SIGKILL in the middle; one order crashes the plugin every time, and ends as a dead letter. Every
// figure that is printed was measured in this run, and the output is compared record by record.
#include <unistd.h>

#include <boost/json.hpp>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "host/cli/command.hpp"
#include "host/cli/demo_records.hpp"
#include "host/cli/demo_spectator.hpp"
#include "host/cli/mock_broker_process.hpp"
#include "host/cli/progress.hpp"
#include "host/cli/setup.hpp"
#include "host/config/load.hpp"
#include "host/job/job_plan.hpp"

namespace sluice::cli {
namespace {

namespace po = boost::program_options;

constexpr Milliseconds kMemorySamplePeriod{20};
constexpr std::uint64_t kMebibyte = 1U << 20;

std::string job_text(const DemoRecords& records, const std::filesystem::path& folder) {
  return "# The demo's job. Run it again with: sluice run FILE --bootstrap-servers HOST:PORT\n"
         "name = \"demo-orders\"\n"
         "mode = \"once\"\n"
         "topics = [\"" +
         records.topic +
         "\"]\n"
         "tasks.max = 2\n"
         "slice.max.records = 2500\n"
         "transforms = [{ name = \"noted\", type = \"filter\", value.size.min = " +
         std::to_string(records.kept_size_min) +
         " },\n"
         "              { name = \"packed\", type = \"fragile\", crash.value = '" +
         kPoisonText +
         "' }]\n"
         "errors.tolerance = \"all\"\n"
         "errors.deadletterqueue.topic.name = \"" +
         records.dead_letter_topic +
         "\"\n"
         "errors.deadletterqueue.context.headers.enable = true\n"
         "errors.deadletterqueue.topic.replication.factor = 1\n"
         "connector.class = \"file\"\n"
         "file = \"" +
         (folder / "out" / "{topic}-{partition}.jsonl").string() + "\"\n";
}

struct DemoResult {
  std::filesystem::path folder;
  std::string broker;
  std::int64_t produced_ms = 0;
  job::JobStatus job;
  DemoAudit audit;
  DemoDeadLetter dead_letter;
};

std::string ms_text(const std::optional<std::int64_t>& ms) {
  return ms ? duration_text(static_cast<std::uint64_t>(*ms)) : "(not seen)";
}

std::string partitions_text(const DemoRecords& records, const std::set<std::int32_t>& partitions) {
  std::string text;
  for (const auto partition : partitions) {
    text += (text.empty() ? "" : ", ") + records.topic + "-" + std::to_string(partition);
  }
  return text;
}

void print_kill(const DemoRecords& records, const DemoSpectator& seen) {
  if (seen.victim_pid == 0) {
    std::cout << "  kill -9   did not happen: no worker was busy at the right moment\n";
    return;
  }
  std::cout << "  kill -9   worker " << seen.victim_slot << ", pid " << seen.victim_pid
            << ", after " << grouped(seen.done_at_kill) << " records, with " << seen.slices_at_kill
            << " slices in its hands";
  if (seen.interrupted) {
    std::cout << ";\n            it was at slice " << seen.interrupted->id << ": "
              << seen.interrupted->topic << '-' << seen.interrupted->partition << " ["
              << seen.interrupted->start << ", " << seen.interrupted->end << ")";
  }
  std::cout << "\n  noticed   after " << ms_text(seen.lost_ms) << " (dead, reaped); its partitions "
            << partitions_text(records, seen.victim_partitions)
            << "\n            had a slice done by another worker after "
            << ms_text(seen.elsewhere_ms) << "\n  respawned ";
  if (seen.respawned_ms) {
    std::cout << "worker " << seen.victim_slot << " as pid " << seen.respawned_pid << " after "
              << ms_text(seen.respawned_ms) << '\n';
  } else {
    std::cout << "not needed: the job was done before\n";
  }
}

void print_poison(const DemoRecords& records, const DemoResult& result, const DemoSpectator& seen) {
  const auto& letter = result.dead_letter;
  std::cout << "  poison    " << records.topic << '-' << kPoisonPartition << " offset "
            << kPoisonOffset << " crashes the plugin every time: " << seen.crashes
            << " crashes,\n            " << seen.crash_text << ";\n            set aside after "
            << ms_text(seen.set_aside_ms) << ", " << seen.partitions_meanwhile.size()
            << " other partitions had slices done meanwhile;\n            dead letter in "
            << records.dead_letter_topic << ": stage " << letter.stage << ", signal "
            << letter.signal << ", offset " << letter.offset << '\n';
}

void print_story(const DemoRecords& records, const DemoResult& result, const DemoSpectator& seen) {
  const auto& totals = result.job.slices.totals;
  std::cout << "Sluice demo\n  broker    " << result.broker << ", embedded; "
            << grouped(records.count) << " records in " << records.partitions
            << " partitions written in " << ms_text(result.produced_ms) << "\n  job       "
            << "orders -> filter -> a plugin with a bug -> files, 2 workers:";
  for (const auto& [slot, pid] : seen.first_pids) std::cout << " pid " << pid;
  std::cout << "; first slice done " << ms_text(seen.first_slice_ms) << " after the start\n";
  print_kill(records, seen);
  print_poison(records, result, seen);
  std::cout << "  result    " << job::job_state_name(result.job.state) << " in "
            << duration_text(result.job.elapsed_ms) << ": " << grouped(totals.in) << " read, "
            << grouped(totals.out) << " kept, " << grouped(result.audit.delivered) << " delivered, "
            << grouped(result.audit.twice) << " twice, " << grouped(result.audit.lost) << " lost\n"
            << "  memory    host " << seen.host_rss_max / kMebibyte << " MiB, a worker at most "
            << seen.worker_rss_max / kMebibyte << " MiB\n"
            << "  output    " << (result.folder / "out").string() << "/*.jsonl, "
            << grouped(result.audit.lines) << " lines, each compared with what was written\n"
            << "  next      the job: " << (result.folder / "demo-orders.toml").string()
            << "\n            with your Kafka: sluice run JOB.toml --bootstrap-servers HOST:PORT\n"
            << "            a plugin of your own: sdk/README.md\n";
}

std::string story_json(const DemoRecords& records, const DemoResult& result,
                       const DemoSpectator& seen) {
  const auto number = [](const std::optional<std::int64_t>& ms) {
    return ms ? boost::json::value(*ms) : boost::json::value(nullptr);
  };
  return boost::json::serialize(
      boost::json::object{{"state", job::job_state_name(result.job.state)},
                          {"records", records.count},
                          {"records_read", result.job.slices.totals.in},
                          {"kept", result.job.slices.totals.out},
                          {"delivered", result.audit.delivered},
                          {"twice", result.audit.twice},
                          {"lost", result.audit.lost},
                          {"wrong", result.audit.wrong},
                          {"killed_pid", seen.victim_pid},
                          {"slices_in_flight_at_kill", seen.slices_at_kill},
                          {"noticed_ms", number(seen.lost_ms)},
                          {"elsewhere_ms", number(seen.elsewhere_ms)},
                          {"respawned_ms", number(seen.respawned_ms)},
                          {"crashes", seen.crashes},
                          {"crash", seen.crash_text},
                          {"set_aside_ms", number(seen.set_aside_ms)},
                          {"dead_letters", result.dead_letter.letters},
                          {"dead_letter_stage", result.dead_letter.stage},
                          {"dead_letter_signal", result.dead_letter.signal},
                          {"host_rss_bytes", seen.host_rss_max},
                          {"worker_rss_bytes", seen.worker_rss_max},
                          {"elapsed_ms", result.job.elapsed_ms},
                          {"folder", result.folder.string()}});
}

Result<std::filesystem::path> make_folder(const std::string& wanted) {
  if (wanted.empty()) {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-demo-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return io_error("make folder", name, errno);
    return std::filesystem::path{name};
  }
  std::error_code error;
  const auto folder = std::filesystem::absolute(wanted, error);
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_empty(folder, error)) {
    return Error{ErrorCode::AlreadyExists,
                 "demo folder: " + folder.string() + ": is not empty; name another one"};
  }
  std::filesystem::create_directories(folder, error);
  if (error)
    return Error{ErrorCode::Io, "demo folder: " + folder.string() + ": " + error.message()};
  return folder;
}

Result<job::JobPlan> plan_demo(const DemoRecords& records, const std::filesystem::path& folder,
                               const std::filesystem::path& worker) {
  const auto job_file = folder / "demo-orders.toml";
  std::ofstream{job_file} << job_text(records, folder);
  auto loaded = config::load_job(job_file, load_options());
  if (!loaded) return loaded.error().to_error();
  catalog::PluginCatalog catalog{{demo_plugin_folders(), worker, folder / "state"}};
  return job::plan_job(*std::move(loaded), catalog);
}

Result<DemoResult> play(const DemoRecords& records, const std::filesystem::path& folder,
                        DemoSpectator& spectator, const Clock& clock, log::Level level) {
  DemoResult result;
  result.folder = folder;
  const auto worker = job::find_worker_executable();
  if (!worker) return worker.error();
  auto plan = plan_demo(records, folder, *worker);
  if (!plan) return plan.error();
  auto broker = MockBrokerProcess::start();
  if (!broker) return broker.error();
  result.broker = broker->bootstrap_servers();
  SLUICE_TRY(broker->command("create " + records.topic + " " + std::to_string(records.partitions)));
  SLUICE_TRY(broker->command("create " + records.dead_letter_topic + " 1"));
  const auto before = clock.monotonic();
  SLUICE_TRY(produce_demo_records(records, result.broker));
  result.produced_ms = (clock.monotonic() - before).count();

  job::HostOptions options;
  options.kafka = {{"bootstrap.servers", result.broker}};
  options.state_dir = folder / "state";
  options.worker_executable = *worker;
  auto host = job::Host::open(options, clock, log::Logger::to_stderr(clock, level));
  if (!host) return host.error();
  spectator.attend(**host, plan->config.name);
  (*host)->add_job(*std::move(plan), &spectator);
  const auto memory =
      (*host)->loop().every(kMemorySamplePeriod, [&] { spectator.sample_memory(); });
  (*host)->run(job::Host::Until::JobsEnded);
  result.job = (*host)->status().front();
  auto audit = audit_demo_output(records, folder / "out");
  if (!audit) return audit.error();
  result.audit = *audit;
  auto dead_letter = read_dead_letter(records, result.broker);
  if (!dead_letter) return dead_letter.error();
  result.dead_letter = *std::move(dead_letter);
  return result;
}

int judge(const DemoResult& result, const DemoSpectator& seen) {
  const auto& audit = result.audit;
  const bool good = result.job.state == job::JobState::Completed && audit.lost == 0 &&
                    audit.wrong == 0 && audit.delivered == audit.expected &&
                    seen.elsewhere_ms.has_value() && result.dead_letter.letters == 1 &&
                    result.dead_letter.is_the_poison;
  if (good) return kExitOk;
  std::cerr << "sluice: error: demo: the run is not what it should be: "
            << job::job_state_name(result.job.state) << ", " << audit.lost << " lost, "
            << audit.wrong << " wrong lines, " << result.dead_letter.letters << " dead letters"
            << (seen.elsewhere_ms ? "" : ", the killed worker's partitions were not seen elsewhere")
            << (result.job.reason.empty() ? "" : "; " + result.job.reason)
            << "; run it again with --verbose\n";
  return kExitFailed;
}

}  // namespace

int run_demo(const std::vector<std::string>& arguments) {
  po::options_description options{"Options"};
  options.add_options()("help,h", "this text")(
      "dir", po::value<std::string>(),
      "folder for job, state and output (default: a new one in /tmp)")(
      "json", "print the figures as one JSON object")("verbose,v", "the host's log as well");
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(options).run(), values);
  } catch (const po::error& error) {
    return fail_with({ErrorCode::Usage, std::string{error.what()} + "; see `sluice demo --help`"});
  }
  if (values.contains("help")) {
    std::cout << "Usage: sluice demo [OPTIONS]\n\nStarts an embedded Kafka, runs a job of two "
                 "workers over 200,000 records,\nkills one worker in the middle, lets one "
                 "record crash a plugin, and proves that\nnothing else was lost.\n\n"
              << options << "\nExample: sluice demo --dir /tmp/demo\n";
    return kExitOk;
  }
  const auto folder =
      make_folder(values.contains("dir") ? values["dir"].as<std::string>() : std::string{});
  if (!folder) return fail_with(folder.error());
  const SystemClock clock;
  const DemoRecords records;
  DemoSpectator spectator{records, clock};
  const auto level = values.contains("verbose") ? log::Level::Info : log::Level::Error;
  const auto result = play(records, *folder, spectator, clock, level);
  if (!result) return fail_with(result.error());
  if (values.contains("json")) {
    std::cout << story_json(records, *result, spectator) << '\n';
  } else {
    print_story(records, *result, spectator);
  }
  return judge(*result, spectator);
}

}  // namespace sluice::cli
