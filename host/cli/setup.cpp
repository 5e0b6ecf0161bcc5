#include "host/cli/setup.hpp"

#include <cstdlib>

#include "host/kafka/property_check.hpp"

namespace sluice::cli {

Result<std::filesystem::path> default_state_dir() {
  if (const char* const state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::filesystem::path{state} / "sluice";
  }
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::filesystem::path{home} / ".local" / "state" / "sluice";
  }
  return Error{ErrorCode::Configuration,
               "state directory: neither XDG_STATE_HOME nor HOME is set; give --state-dir"};
}

std::vector<std::filesystem::path> plugin_folders(const std::vector<std::string>& first,
                                                  const config::HostConfig& host) {
  std::vector<std::filesystem::path> folders(first.begin(), first.end());
  folders.insert(folders.end(), host.plugin_path.begin(), host.plugin_path.end());
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto build_plugins = self.parent_path().parent_path() / "plugins";
  if (!error && std::filesystem::is_directory(build_plugins, error)) {
    folders.push_back(build_plugins);
  }
  for (const char* installed : {"/usr/local/lib/sluice/plugins", "/usr/lib/sluice/plugins"}) {
    if (std::filesystem::is_directory(installed, error)) folders.emplace_back(installed);
  }
  return folders;
}

config::LoadOptions load_options() {
  config::LoadOptions options;
  options.kafka_property = kafka::property_refusal;
  return options;
}

log::Level log_level(const config::HostConfig& host) {
  switch (host.log_level) {
    case config::LogLevel::Debug:
      return log::Level::Debug;
    case config::LogLevel::Info:
      return log::Level::Info;
    case config::LogLevel::Warning:
      return log::Level::Warning;
    case config::LogLevel::Error:
      return log::Level::Error;
  }
  return log::Level::Info;
}

std::optional<log::Format> log_format(const config::HostConfig& host) {
  switch (host.log_format) {
    case config::LogFormat::Text:
      return log::Format::Text;
    case config::LogFormat::Journald:
      return log::Format::Journald;
    case config::LogFormat::Auto:
      break;
  }
  return std::nullopt;
}

std::filesystem::path socket_in(const std::filesystem::path& state_dir) {
  return std::filesystem::absolute(state_dir).lexically_normal() / "sluice.sock";
}

job::HostOptions host_options(const config::HostConfig& host,
                              const std::filesystem::path& worker_executable) {
  job::HostOptions options;
  options.kafka = host.kafka;
  options.state_dir = host.state_dir;
  options.worker_executable = worker_executable;
  if (host.slices_per_second_max > 0) {  // 0: `sluice run` without a host file
    options.slices_per_second_max = static_cast<std::uint32_t>(host.slices_per_second_max);
  }
  return options;
}

}  // namespace sluice::cli
