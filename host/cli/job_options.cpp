#include "host/cli/job_options.hpp"

#include <iostream>

#include "host/cli/command.hpp"
#include "host/cli/host_client.hpp"
#include "host/cli/setup.hpp"
#include "host/config/load.hpp"
#include "host/rest/unix_listener.hpp"

namespace sluice::cli {
namespace po = boost::program_options;

namespace {

po::options_description options_of(const JobCommand& command) {
  po::options_description options{"Options"};
  command.add_options(options);
  options.add_options()                                                                   //
      ("json", "print the host's answer as JSON")                                         //
      ("url", po::value<std::string>(), "the host's control socket, unix:/path")          //
      ("state-dir", po::value<std::string>(), "of `sluice run`: its socket is in there")  //
      ("config", po::value<std::string>(), "of `sluice host`: its rest.listen")           //
      ("help,h", "this text");
  return options;
}

void print_help(const JobCommand& command, const po::options_description& options) {
  const bool with_job = command.needs == JobCommand::Needs::Job;
  std::cout << "Usage: sluice job " << command.name << (with_job ? " JOB" : "") << " [OPTIONS]\n\n"
            << command.summary << "\n\n"
            << options << "\nExample: sluice job " << command.example
            << "\nExit codes: 0 ok, 1 no, 2 usage, 75 no host answers.\n";
}

Error usage(const JobCommand& command, const std::string& why) {
  return Error{ErrorCode::Usage,
               why + "; see `sluice job " + std::string{command.name} + " --help`"};
}

}  // namespace

std::string JobCall::text(const char* option) const {
  return has(option) ? values[option].as<std::string>() : std::string{};
}

std::string JobCall::target(const std::string& rest) const {
  return "/sluice/v1/jobs/" + percent_encoded(job) + rest;
}

Result<std::filesystem::path> socket_of(const po::variables_map& values) {
  if (values.contains("url")) {
    const auto url = values["url"].as<std::string>();
    const auto path = rest::unix_path_of(url);
    if (path) return *path;
    return Error{ErrorCode::Usage, "--url: " + url + ": only unix:/PATH is supported yet"};
  }
  if (values.contains("state-dir")) return socket_in(values["state-dir"].as<std::string>());
  if (values.contains("config")) {
    const auto host = config::load_host(values["config"].as<std::string>(), load_options());
    if (!host) return host.error().to_error();
    if (host->rest_listen.empty()) return std::filesystem::path{kServiceSocket};
    return rest::unix_path_of(host->rest_listen.front());
  }
  std::error_code error;
  const auto state = default_state_dir();
  if (std::filesystem::exists(kServiceSocket, error) || !state) {
    return std::filesystem::path{kServiceSocket};
  }
  const auto of_run = socket_in(*state);
  return std::filesystem::exists(of_run, error) ? of_run : std::filesystem::path{kServiceSocket};
}

JobCallResult parse_job_call(const JobCommand& command, const std::vector<std::string>& arguments) {
  const auto options = options_of(command);
  auto all = options;
  all.add_options()("job", po::value<std::string>());
  po::positional_options_description positional;
  if (command.needs == JobCommand::Needs::Job) positional.add("job", 1);
  JobCallResult result;
  auto& values = result.call.values;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(positional).run(), values);
  } catch (const po::error& error) {
    result.exit = fail_with(usage(command, error.what()));
    return result;
  }
  if (values.contains("help")) {
    print_help(command, options);
    return result;
  }
  result.call.command = &command;
  result.call.json = values.contains("json");
  result.call.job = result.call.text("job");
  if (command.needs == JobCommand::Needs::Job && result.call.job.empty()) {
    result.exit = fail_with(usage(command, "no job named"));
    return result;
  }
  auto socket = socket_of(values);
  if (!socket) {
    result.exit = fail_with(socket.error());
    return result;
  }
  result.call.socket = *std::move(socket);
  result.go_on = true;
  return result;
}

}  // namespace sluice::cli
