#include <array>
#include <iostream>

#include "host/base/nearest_name.hpp"
#include "host/cli/command.hpp"

namespace sluice::cli {
namespace {

constexpr std::array kCommands{
    Command{"demo", "embedded Kafka, sample records, a job, a killed worker; no set-up", run_demo},
    Command{"run", "run one job from a file, in this process", run_job},
    Command{"host", "run the jobs of a folder until SIGTERM, as the service does", run_host},
    Command{"job", "look at and steer the jobs of a running host", run_job_command},
    Command{"version", "versions of Sluice, its plugin ABI and its libraries", show_version},
    Command{"mock-broker", "librdkafka's mock cluster as a process", run_mock_broker_command,
            Command::Shown::Hidden},
};

void print_help(std::ostream& out) {
  out << "sluice: sink and processor plugins over Apache Kafka topics\n\n"
         "Usage: sluice COMMAND [OPTIONS]\n\nCommands:\n";
  for (const auto& command : kCommands) {
    if (command.shown == Command::Shown::Hidden) continue;
    out << "  " << command.name << std::string(12 - command.name.size(), ' ') << command.summary
        << '\n';
  }
  out << "\n`sluice COMMAND --help` shows a command's options and an example.\n"
         "Exit codes: 0 ok, 1 failed or completed with gaps, 2 usage, 70 internal,\n"
         "75 try again, 78 configuration.\n";
}

int unknown_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& command : kCommands) {
    if (command.shown == Command::Shown::InHelp) names.push_back(command.name);
  }
  std::cerr << "sluice: error: " << name << ": no such command";
  if (const auto nearest = nearest_name(name, names); !nearest.empty()) {
    std::cerr << "; did you mean `sluice " << nearest << "`?";
  }
  std::cerr << "\n`sluice --help` lists the commands.\n";
  return kExitUsage;
}

}  // namespace

ExitCode exit_code_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::Configuration:
    case ErrorCode::StoreForeign:
      return kExitConfiguration;
    case ErrorCode::Usage:
      return kExitUsage;
    case ErrorCode::Internal:
      return kExitInternal;
    case ErrorCode::KafkaUnavailable:
      return kExitTryAgain;
    default:
      return kExitFailed;
  }
}

int fail_with(const Error& error) {
  std::cerr << "sluice: error: " << error.message() << '\n';
  return exit_code_for(error.code());
}

int run_command_line(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    print_help(std::cerr);
    return kExitUsage;
  }
  const auto& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(std::cout);
    return kExitOk;
  }
  if (name == "--version") return show_version({});
  for (const auto& command : kCommands) {
    if (command.name == name) return command.run({arguments.begin() + 1, arguments.end()});
  }
  return unknown_command(name);
}

}  // namespace sluice::cli
