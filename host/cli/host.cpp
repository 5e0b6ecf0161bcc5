#include <algorithm>
#include <boost/program_options.hpp>
#include <iostream>
#include <map>
#include <sstream>

#include "host/cli/command.hpp"
#include "host/cli/setup.hpp"
#include "host/config/load.hpp"
#include "host/job/job_plan.hpp"
#include "host/rest/control_socket.hpp"
#include "host/rest/unix_listener.hpp"

namespace sluice::cli {
namespace {

namespace po = boost::program_options;

constexpr char kDefaultConfig[] = "/etc/sluice/sluice.toml";

struct JobFiles {
  std::vector<job::JobPlan> plans;
  std::vector<Error> errors;
};

Result<std::vector<std::filesystem::path>> job_files_in(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{folder, error}) {
    const auto extension = entry.path().extension();
    if (extension == ".toml" || extension == ".json" || extension == ".properties") {
      files.push_back(entry.path());
    }
  }
  if (error) {
    return Error{ErrorCode::Configuration, "jobs.dir: " + folder.string() + ": " + error.message()};
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A file that is wrong costs its own job only: the others are not to blame. All of it is told.
JobFiles load_jobs(const std::vector<std::filesystem::path>& files,
                   catalog::PluginCatalog& catalog) {
  JobFiles jobs;
  std::map<std::string, std::filesystem::path> names;
  for (const auto& file : files) {
    auto loaded = config::load_job(file, load_options());
    if (!loaded) {
      jobs.errors.push_back(loaded.error().to_error());
      continue;
    }
    const auto [first, fresh] = names.emplace(loaded->name, file);
    if (!fresh) {
      jobs.errors.emplace_back(ErrorCode::Configuration,
                               file.string() + ": job " + loaded->name + " is also in " +
                                   first->second.string() + "; rename one of them");
      continue;
    }
    auto plan = job::plan_job(*std::move(loaded), catalog);
    if (plan) {
      jobs.plans.push_back(*std::move(plan));
    } else {
      jobs.errors.push_back(plan.error());
    }
  }
  return jobs;
}

/// A line for each problem: a line feed in a line of the log would be written as \n.
void log_problems(const log::Logger& log, const std::vector<Error>& errors) {
  for (const auto& error : errors) {
    std::istringstream lines{error.message()};
    for (std::string line; std::getline(lines, line);) log.error(line);
  }
}

int check(const JobFiles& jobs) {
  for (const auto& plan : jobs.plans) std::cout << plan.config.name << ": ok\n";
  for (const auto& error : jobs.errors) std::cerr << "sluice: error: " << error.message() << '\n';
  return jobs.errors.empty() ? kExitOk : kExitConfiguration;
}

std::vector<std::string> listen_addresses(const config::HostConfig& config) {
  if (!config.rest_listen.empty()) return config.rest_listen;
  return {std::string{"unix:"} + kServiceSocket};
}

int run_with(const std::string& config_file, bool only_check) {
  const auto config = config::load_host(config_file, load_options());
  if (!config) return fail_with(config.error().to_error());
  for (const auto& address : listen_addresses(*config)) {
    if (const auto path = rest::unix_path_of(address); !path) return fail_with(path.error());
  }
  const auto worker = job::find_worker_executable();
  if (!worker) return fail_with(worker.error());
  const auto files = job_files_in(config->jobs_dir);
  if (!files) return fail_with(files.error());
  catalog::PluginCatalog catalog{{plugin_folders({}, *config), *worker, config->state_dir}};
  auto jobs = load_jobs(*files, catalog);
  if (only_check) return check(jobs);

  const SystemClock clock;
  const auto log = log::Logger::to_stderr(clock, log_level(*config), log_format(*config));
  auto host = job::Host::open(host_options(*config, *worker), clock, log);
  if (!host) return fail_with(host.error());
  auto control = rest::ControlSocket::open(**host, listen_addresses(*config), log);
  if (!control) return fail_with(control.error());
  log_problems(log, jobs.errors);
  for (auto& plan : jobs.plans) (*host)->add_job(std::move(plan), nullptr, job::StartBy::Host);
  log.info("host is up: " + std::to_string(jobs.plans.size()) + " jobs of " + config->jobs_dir);
  (*host)->run(job::Host::Until::Stopped);
  log.info("host has drained");
  return kExitOk;
}

}  // namespace

int run_host(const std::vector<std::string>& arguments) {
  po::options_description options{"Options"};
  options.add_options()("help,h", "this text")(
      "config", po::value<std::string>()->default_value(kDefaultConfig), "the host's file")(
      "check", "check the host's file and every job file, and end");
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(options).run(), values);
  } catch (const po::error& error) {
    return fail_with({ErrorCode::Usage, std::string{error.what()} + "; see `sluice host --help`"});
  }
  if (values.contains("help")) {
    std::cout << "Usage: sluice host [OPTIONS]\n\nRuns the jobs of jobs.dir until SIGTERM or "
                 "SIGINT, drains them, and exits 0.\nA job file that is wrong is told and left "
                 "out; the other jobs run.\n\n"
              << options
              << "\nExample: sluice host --config /etc/sluice/sluice.toml --check\n"
                 "Exit codes: 0 drained or checked, 1 failed, 2 usage, 78 configuration.\n";
    return kExitOk;
  }
  return run_with(values["config"].as<std::string>(), values.contains("check"));
}

}  // namespace sluice::cli
