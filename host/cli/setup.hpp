// What `run`, `host` and `demo` do before there is a host: where things are by default, the host's
// configuration, the plugin catalog, a job file turned into a plan.
// Looks at the environment and the file system; starts nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.hpp"
#include "host/config/host_config.hpp"
#include "host/config/job_config.hpp"
#include "host/config/load.hpp"
#include "host/job/host.hpp"
#include "host/job/job_runtime.hpp"
#include "host/log/logger.hpp"
#include "host/plugin_catalog/plugin_catalog.hpp"

namespace sluice::cli {

/// $XDG_STATE_HOME/sluice, else ~/.local/state/sluice (interfaces.md).
Result<std::filesystem::path> default_state_dir();

using Folders = std::vector<std::filesystem::path>;

/// Those that are there, for a `sluice` in the folder `bin`: of its build (../plugins), of its
/// installation (../lib/sluice/plugins, also by the build's name of lib, such as
/// lib/x86_64-linux-gnu), /usr/local/lib/sluice/plugins, /usr/lib/sluice/plugins.
Folders built_in_plugin_folders(const std::filesystem::path& bin);

/// `first`, then the configuration's plugin.path, then the built-in ones.
Folders plugin_folders(const std::vector<std::string>& first, const config::HostConfig& host);

/// Where an installation keeps what no job of a user finds by name, then the built-in ones.
Folders demo_plugin_folders();

/// What every loader of a file is given: librdkafka itself judges the overrides.
config::LoadOptions load_options();

log::Level log_level(const config::HostConfig& host);
/// Nothing: by what stderr is (Logger::to_stderr).
std::optional<log::Format> log_format(const config::HostConfig& host);

/// rest.listen, or the one address of before: beside `sluice run`'s state, or the service's.
inline constexpr char kServiceSocket[] = "/run/sluice/sluice.sock";
std::filesystem::path socket_in(const std::filesystem::path& state_dir);

job::HostOptions host_options(const config::HostConfig& host,
                              const std::filesystem::path& worker_executable);

}  // namespace sluice::cli
