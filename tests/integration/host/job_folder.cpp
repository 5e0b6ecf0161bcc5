#include "integration/host/job_folder.hpp"

#include <fstream>

namespace sluice::test {
namespace {

constexpr int kExitTryAgain = 75;

}  // namespace

std::filesystem::path JobFolder::job(const std::string& name, const std::string& lines) {
  const auto file = folder_.path() / (name + ".toml");
  std::ofstream{file} << "name = \"" << name << "\"\nfile = \"" << ledger_file().string() << "\"\n"
                      << lines;
  return file;
}

std::vector<std::string> JobFolder::run_command(const std::filesystem::path& job,
                                                std::vector<std::string> more) const {
  std::vector<std::string> command{SLUICE_BIN_DIR "/sluice",
                                   "run",
                                   job.string(),
                                   "--bootstrap-servers",
                                   bootstrap_servers_,
                                   "--state-dir",
                                   state_dir().string(),
                                   "--json",
                                   "--verbose"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

std::unique_ptr<Program> JobFolder::run(const std::filesystem::path& job,
                                        std::vector<std::string> more) {
  return std::make_unique<Program>(run_command(job, std::move(more)),
                                   folder_.path() / ("run" + std::to_string(++runs_)));
}

std::unique_ptr<Program> JobFolder::host(const std::string& lines) {
  const auto file = host_file();
  std::filesystem::create_directories(jobs_dir());
  std::ofstream{file} << "state.dir = \"" << state_dir().string() << "\"\njobs.dir = \""
                      << jobs_dir().string() << "\"\nrest.listen = [\"unix:" << socket().string()
                      << "\"]\n"
                      << lines << "\n[kafka]\n\"bootstrap.servers\" = \"" << bootstrap_servers_
                      << "\"\n";
  return std::make_unique<Program>(
      std::vector<std::string>{SLUICE_BIN_DIR "/sluice", "host", "--config", file.string()},
      folder_.path() / ("host" + std::to_string(++runs_)));
}

JobFolder::Printed JobFolder::sluice_job(std::vector<std::string> arguments) const {
  std::vector<std::string> command{SLUICE_BIN_DIR "/sluice", "job"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.insert(command.end(), {"--url", "unix:" + socket().string()});
  Printed printed;
  // What is asked is carried out at once, and answered when it is durable: a disk may take longer
  // for that than REST has. Everything may be asked twice.
  eventually([&] {
    Program program{command, folder_.path() / "job"};
    printed.exit = program.wait();
    printed.out = program.out();
    printed.err = program.err();
    return printed.exit != kExitTryAgain || printed.err.find("; try again") == std::string::npos;
  });
  return printed;
}

std::vector<LedgerLine> JobFolder::ledger() const {
  return read_ledger(ledger_file());
}

Deliveries JobFolder::deliveries() const {
  return count_deliveries(ledger());
}

}  // namespace sluice::test
