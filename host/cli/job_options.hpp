// What every `sluice job` command has in common on its command line: the job's name, which host is
// meant, and how to answer. Each command adds its own options.
// Looks at the environment and the file system to find the socket; asks nobody.
#pragma once

#include <boost/program_options.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::cli {

struct JobCommand;

/// A parsed command line of `sluice job COMMAND`.
struct JobCall {
  const JobCommand* command = nullptr;
  std::string job;  ///< empty where the command needs none
  std::filesystem::path socket;
  bool json = false;
  boost::program_options::variables_map values;

  bool has(const char* option) const { return values.contains(option); }
  std::string text(const char* option) const;
  /// `/sluice/v1/jobs/JOB` and `rest`.
  std::string target(const std::string& rest = {}) const;
};

struct JobCommand {
  enum class Needs { NoJob, Job };
  std::string_view name;
  std::string_view summary;
  std::string_view example;
  Needs needs;
  void (*add_options)(boost::program_options::options_description& options);
  int (*run)(const JobCall& call);
};

/// Nothing was asked of a host yet: help was printed, or the command line is wrong. `exit` then.
struct JobCallResult {
  bool go_on = false;
  int exit = 0;
  JobCall call;
};
JobCallResult parse_job_call(const JobCommand& command, const std::vector<std::string>& arguments);

/// --url, --state-dir or --config; else the service's socket, else `sluice run`'s default one.
Result<std::filesystem::path> socket_of(const boost::program_options::variables_map& values);

}  // namespace sluice::cli
