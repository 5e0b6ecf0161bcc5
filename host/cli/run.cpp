#include <unistd.h>

#include <boost/program_options.hpp>
#include <iostream>
#include <memory>

#include "host/cli/command.hpp"
#include "host/cli/progress.hpp"
#include "host/cli/setup.hpp"
#include "host/config/load.hpp"
#include "host/job/job_plan.hpp"
#include "host/rest/control_socket.hpp"

namespace sluice::cli {
namespace {

namespace po = boost::program_options;

struct RunOptions {
  std::string job_file;
  std::string host_file;
  std::string bootstrap_servers;
  std::string state_dir;
  std::vector<std::string> plugin_path;
  std::optional<job::StartFrom> from;
  bool once = false;
  bool json = false;
  bool dry_run = false;
  bool verbose = false;
};

po::options_description described() {
  po::options_description options{"Options"};
  options.add_options()                                                                 //
      ("help,h", "this text")                                                           //
      ("once", "run to the end offsets of now, whatever the job's mode, and end")       //
      ("bootstrap-servers", po::value<std::string>(), "Kafka, host:port,...")           //
      ("config", po::value<std::string>(), "host file with [kafka], as `sluice host`")  //
      ("plugin-path", po::value<std::vector<std::string>>()->composing(),
       "folder with plugins, searched first; may be repeated")  //
      ("state-dir", po::value<std::string>(),
       "where the job's state lives (default: state.dir of --config, else "
       "$XDG_STATE_HOME/sluice, else ~/.local/state/sluice)")  //
      ("from", po::value<std::string>(),
       "start at frontier|group|earliest|latest|TIME instead of where the job stood")  //
      ("dry-run", "check the job, print what would run, and end")                      //
      ("json", "print one JSON object at the end")                                     //
      ("verbose,v", "log lines of level info as well");
  return options;
}

constexpr char kHelp[] =
    "Usage: sluice run JOB [OPTIONS]\n\n"
    "Runs the job of the file JOB (.toml, .json or .properties) in this process, with its worker\n"
    "processes, until it completes (mode once) or is stopped by Ctrl-C or SIGTERM, which drains.\n"
    "A job goes on where it stood: its state is kept in the state directory.\n\n";
constexpr char kExample[] =
    "\nExample: sluice run orders.toml --once --bootstrap-servers localhost:9092\n"
    "Exit codes: 0 completed or drained, 1 failed or completed with gaps, 2 usage,\n"
    "75 try again, 78 configuration.\n";

Result<RunOptions> parse(const po::variables_map& values) {
  RunOptions options;
  const auto text = [&](const char* name) {
    return values.contains(name) ? values[name].as<std::string>() : std::string{};
  };
  options.job_file = text("job");
  if (options.job_file.empty()) {
    return Error{ErrorCode::Usage, "run: no job file given; see `sluice run --help`"};
  }
  options.host_file = text("config");
  options.bootstrap_servers = text("bootstrap-servers");
  options.state_dir = text("state-dir");
  if (values.contains("plugin-path")) {
    options.plugin_path = values["plugin-path"].as<std::vector<std::string>>();
  }
  if (values.contains("from")) {
    const auto from = job::parse_start_from(text("from"));
    if (!from) return from.error();
    options.from = *from;
  }
  options.once = values.contains("once");
  options.json = values.contains("json");
  options.dry_run = values.contains("dry-run");
  options.verbose = values.contains("verbose");
  return options;
}

Result<config::HostConfig> host_config(const RunOptions& options) {
  config::HostConfig host;
  if (!options.host_file.empty()) {
    auto loaded = config::load_host(options.host_file, load_options());
    if (!loaded) return loaded.error().to_error();
    host = *std::move(loaded);
  }
  if (!options.bootstrap_servers.empty()) {
    host.kafka.emplace_back("bootstrap.servers", options.bootstrap_servers);
  }
  if (kafka::find_property(host.kafka, "bootstrap.servers").empty()) {
    return Error{ErrorCode::Usage,
                 "run: Kafka is not named; give --bootstrap-servers HOST:PORT or --config FILE"};
  }
  if (!options.state_dir.empty()) {
    host.state_dir = options.state_dir;
  } else if (options.host_file.empty()) {
    auto state_dir = default_state_dir();
    if (!state_dir) return state_dir.error();
    host.state_dir = state_dir->string();
  }
  return host;
}

void print_plan(const job::JobPlan& plan) {
  for (const auto& [key, value] : plan.config.effective) std::cout << key << " = " << value << '\n';
  for (const auto& plugin : plan.plugins) {
    std::cout << "# " << plugin.type << ": " << plugin.file << " sha256 " << plugin.sha256 << '\n';
  }
}

int exit_code_of(const job::JobStatus& status) {
  switch (status.state) {
    case job::JobState::Completed:
    case job::JobState::Stopped:
      return kExitOk;
    case job::JobState::Failed:
      return status.reason.empty() ? kExitFailed : exit_code_for(status.failure);
    default:
      return kExitFailed;
  }
}

// A job runs also where no socket can be made: only `sluice job` misses it.
std::unique_ptr<rest::ControlSocket> open_control(job::Host& host, const config::HostConfig& config,
                                                  const log::Logger& log) {
  auto addresses = config.rest_listen;
  if (addresses.empty()) addresses = {"unix:" + socket_in(config.state_dir).string()};
  auto control = rest::ControlSocket::open(host, addresses, log);
  if (control) return *std::move(control);
  log.warning(control.error().message() + "; `sluice job` will not reach this run");
  return nullptr;
}

int run_plan(job::Host& host, job::JobPlan plan, const RunOptions& options, const Clock& clock) {
  host.add_job(std::move(plan));
  Progress progress{
      std::cerr, ::isatty(STDERR_FILENO) != 0 ? Progress::Look::Terminal : Progress::Look::Lines};
  const auto look = host.loop().every(Progress::kPeriod, [&] {
    if (progress.is_due(clock.monotonic())) {
      progress.show(host.status().front(), clock.monotonic());
    }
  });
  host.run(job::Host::Until::JobsEnded);
  progress.finish();
  const auto status = host.status().front();
  print_summary(std::cerr, status);
  if (options.json) std::cout << summary_json(status) << std::endl;
  return exit_code_of(status);
}

int run_with(const RunOptions& options) {
  const auto config = host_config(options);
  if (!config) return fail_with(config.error());
  auto loaded = config::load_job(options.job_file, load_options());
  if (!loaded) return fail_with(loaded.error().to_error());
  for (const auto& warning : loaded->warnings) std::cerr << "sluice: warning: " << warning << '\n';
  if (options.once) loaded->mode = config::Mode::Once;
  const auto worker = job::find_worker_executable();
  if (!worker) return fail_with(worker.error());
  catalog::PluginCatalog catalog{
      {plugin_folders(options.plugin_path, *config), *worker, config->state_dir}};
  auto plan = job::plan_job(*std::move(loaded), catalog);
  if (!plan) return fail_with(plan.error());
  plan->from = options.from;
  if (options.dry_run) {
    print_plan(*plan);
    return kExitOk;
  }
  const SystemClock clock;
  const auto log =
      log::Logger::to_stderr(clock, options.verbose ? log::Level::Info : log::Level::Warning);
  auto host = job::Host::open(host_options(*config, *worker), clock, log);
  if (!host) return fail_with(host.error());
  const auto control = open_control(**host, *config, log);
  return run_plan(**host, *std::move(plan), options, clock);
}

}  // namespace

int run_job(const std::vector<std::string>& arguments) {
  auto options = described();
  auto all = options;
  all.add_options()("job", po::value<std::string>());
  po::positional_options_description positional;
  positional.add("job", 1);
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(positional).run(), values);
  } catch (const po::error& error) {
    return fail_with({ErrorCode::Usage, std::string{error.what()} + "; see `sluice run --help`"});
  }
  if (values.contains("help")) {
    std::cout << kHelp << options << kExample;
    return kExitOk;
  }
  const auto parsed = parse(values);
  if (!parsed) return fail_with(parsed.error());
  return run_with(*parsed);
}

}  // namespace sluice::cli
