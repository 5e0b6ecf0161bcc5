#include "host/cli/setup.hpp"

#include <algorithm>
#include <cstdlib>

#include "host/kafka/property_check.hpp"

namespace sluice::cli {
namespace {

/// A second time under another name it would be listed twice: /usr/lib is beside /usr/bin. Never
/// a relative one: what lies where somebody happens to stand is not to be run.
void add_if_there(const std::filesystem::path& folder, Folders& folders) {
  std::error_code error;
  if (folder.is_relative() || !std::filesystem::is_directory(folder, error)) return;
  const bool known = std::any_of(folders.begin(), folders.end(), [&](const auto& other) {
    return std::filesystem::equivalent(folder, other, error);
  });
  if (!known) folders.push_back(folder);
}

/// Empty where /proc is not to be read: then only folders of a fixed name are found.
std::filesystem::path own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

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

Folders built_in_plugin_folders(const std::filesystem::path& bin) {
  const auto prefix = bin.parent_path();
  Folders folders;
  for (const auto& folder :
       {prefix / "plugins", prefix / "lib/sluice/plugins", prefix / SLUICE_LIBDIR "/sluice/plugins",
        std::filesystem::path{"/usr/local/lib/sluice/plugins"},
        std::filesystem::path{"/usr/lib/sluice/plugins"}}) {
    add_if_there(folder, folders);
  }
  return folders;
}

Folders plugin_folders(const std::vector<std::string>& first, const config::HostConfig& host) {
  Folders folders(first.begin(), first.end());
  folders.insert(folders.end(), host.plugin_path.begin(), host.plugin_path.end());
  const auto built_in = built_in_plugin_folders(own_folder());
  folders.insert(folders.end(), built_in.begin(), built_in.end());
  return folders;
}

Folders demo_plugin_folders() {
  Folders folders;
  add_if_there(own_folder().parent_path() / SLUICE_LIBDIR "/sluice/demo", folders);
  const auto built_in = built_in_plugin_folders(own_folder());
  folders.insert(folders.end(), built_in.begin(), built_in.end());
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
