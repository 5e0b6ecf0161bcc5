// The commands of `sluice`: a table of name, one line of summary and function. Each command parses
// its own options (Boost.Program_options), answers --help with an example, and returns one of the
// exit codes below. What a command prints for programs (--json) goes to stdout; progress and errors
// go to stderr.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::cli {

/// interfaces.md, "Command line". 70, 71, 75 and 78 are sysexits.h's numbers, so that systemd's
/// RestartPreventExitStatus=78 and people who know them read them right.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,  ///< failed, or completed with gaps
  kExitUsage = 2,
  kExitInternal = 70,
  kExitOsError = 71,
  kExitTryAgain = 75,
  kExitConfiguration = 78,
};

/// The exit code for an error that ends a command.
ExitCode exit_code_for(ErrorCode code);

struct Command {
  enum class Shown { InHelp, Hidden };
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& arguments);
  Shown shown = Shown::InHelp;
};

int run_job(const std::vector<std::string>& arguments);
int run_host(const std::vector<std::string>& arguments);
int run_job_command(const std::vector<std::string>& arguments);
int run_demo(const std::vector<std::string>& arguments);
int show_version(const std::vector<std::string>& arguments);
int run_mock_broker_command(const std::vector<std::string>& arguments);

/// Finds the command in argv[1] and runs it; help and version where asked for.
int run_command_line(int argc, char** argv);

/// Prints `sluice: error: message` to stderr and returns the error's exit code.
int fail_with(const Error& error);

}  // namespace sluice::cli
