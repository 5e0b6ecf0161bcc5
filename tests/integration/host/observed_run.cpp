#include "integration/host/observed_run.hpp"

#include <catch2/catch.hpp>
#include <fstream>

namespace sluice::test {
namespace {

std::vector<std::string> command_of(const ObservedOptions& options) {
  std::vector<std::string> command{SLUICE_BIN_DIR "/observed_host",    "--bootstrap-servers",
                                   options.bootstrap_servers,          "--state-dir",
                                   options.state_dir.string(),         "--events",
                                   options.output.string() + ".events"};
  if (!options.kill_at.empty()) {
    command.insert(command.end(), {"--kill-at", options.kill_at, "--after-reports",
                                   std::to_string(options.after_reports)});
  }
  for (const auto& job : options.jobs) {
    command.push_back("--job");
    command.push_back(job.string());
  }
  return command;
}

}  // namespace

ObservedRun::ObservedRun(const ObservedOptions& options)
    : events_{options.output.string() + ".events"}, program_{command_of(options), options.output} {}

std::vector<boost::json::object> ObservedRun::events(std::string_view kind) const {
  std::vector<boost::json::object> found;
  const auto wanted = "{\"event\":\"" + std::string{kind} + "\"";
  std::ifstream in{events_};
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // no LF yet: the line is still being written
    if (line.starts_with(wanted)) found.push_back(boost::json::parse(line).as_object());
  }
  return found;
}

Census ObservedRun::census() {
  const auto before = events("census").size();
  program_.signal(SIGUSR1);
  if (!eventually([&] { return events("census").size() > before; })) {
    FAIL("no census; it printed:\n" << program_.err());
  }
  const auto said = events("census").back();
  return {number_of(said, "descriptors"), number_of(said, "threads"), number_of(said, "mappings"),
          number_of(said, "segments"), number_of(said, "plugins")};
}

std::int64_t number_of(const boost::json::object& event, std::string_view field) {
  return event.at(field).to_number<std::int64_t>();
}

}  // namespace sluice::test
