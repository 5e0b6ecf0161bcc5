// The verbs of tests that run `sluice` as a user does, whatever Kafka it talks to: job, run,
// delivered. Job files, the state directory, the ledger and what the runs print live in one
// temporary folder, which goes with the object.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "integration/host/ledger.hpp"
#include "integration/host/program.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::test {

class JobFolder {
 public:
  explicit JobFolder(std::string bootstrap_servers)
      : bootstrap_servers_{std::move(bootstrap_servers)} {}

  const TemporaryFolder& folder() const { return folder_; }
  std::filesystem::path state_dir() const { return folder_.path() / "state"; }

  /// Writes NAME.toml: `lines` after name and a sink's file, which is the ledger.
  std::filesystem::path job(const std::string& name, const std::string& lines);
  /// `sluice run JOB` with the options every test needs, and `more`.
  std::vector<std::string> run_command(const std::filesystem::path& job,
                                       std::vector<std::string> more = {}) const;
  std::unique_ptr<Program> run(const std::filesystem::path& job,
                               std::vector<std::string> more = {});

  /// `sluice host --config F`: its jobs are the files of jobs_dir(), `lines` go into F.
  std::filesystem::path jobs_dir() const { return folder_.path() / "jobs.d"; }
  std::unique_ptr<Program> host(const std::string& lines = {});
  std::filesystem::path host_file() const { return folder_.path() / "sluice.toml"; }

  /// The control socket of run() and host().
  std::filesystem::path socket() const { return state_dir() / "sluice.sock"; }
  struct Printed {
    int exit = 0;
    std::string out;
    std::string err;
  };
  /// `sluice job ARGUMENTS` to that socket; again for as long as a host is busy and says so.
  Printed sluice_job(std::vector<std::string> arguments) const;

  std::filesystem::path ledger_file() const { return folder_.path() / "ledger.jsonl"; }
  std::vector<LedgerLine> ledger() const;
  Deliveries deliveries() const;

 private:
  std::string bootstrap_servers_;
  TemporaryFolder folder_;
  int runs_ = 0;
};

}  // namespace sluice::test
