// The host's own file, /etc/sluice/sluice.toml: where Kafka is, where state, jobs and plugins live,
// how to log. Read once at start and at reload. Placeholders in [kafka] are already resolved here
// (interfaces.md: in the host for [kafka]), so `kafka` may hold secrets: it goes into the start
// parameters and librdkafka, never into a log, a status or a store; `shown` is for people.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/config/job_config.hpp"
#include "host/config/position.hpp"

namespace sluice::config {

enum class LogLevel { Debug, Info, Warning, Error };
enum class LogFormat { Auto, Text, Journald };

struct HostConfig {
  std::string origin;

  Properties kafka;  ///< librdkafka's names, placeholders resolved; has bootstrap.servers
  std::string state_dir;
  std::vector<std::string> plugin_path;  ///< searched before the built-in folders
  std::string jobs_dir;
  std::vector<std::string> rest_listen;
  LogLevel log_level = LogLevel::Info;
  LogFormat log_format = LogFormat::Auto;
  std::int64_t slices_per_second_max = 0;

  /// What holds, as text, placeholders as written.
  std::vector<std::pair<std::string, std::string>> shown;
};

}  // namespace sluice::config
