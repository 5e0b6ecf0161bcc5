#include "host/config/host_keys.hpp"

#include <array>

namespace sluice::config {
namespace {

using enum ValueType;
using Group = KeyGroup;

template <typename Enum, auto kMember>
constexpr ChoiceSetter<HostConfig> kChoice = &set_choice<HostConfig, Enum, kMember>;

constexpr std::array kHostKeys = std::to_array<BoundKey<HostConfig>>({
    {{.name = "kafka.bootstrap.servers",
      .group = Group::Kafka,
      .doc = "The brokers to begin with: host:port, joined with commas. Required.",
      .example = "localhost:9092"},
     std::monostate{}},
    {{.name = "kafka.*",
      .group = Group::Kafka,
      .doc = "Any librdkafka property (TLS, SASL) for every client of the host and its workers. "
             "Values may be ${env:NAME}, ${file:/path:key} or ${credential:ID}."},
     std::monostate{}},

    {{.name = "state.dir",
      .group = Group::Folders,
      .fallback_note = "$STATE_DIRECTORY, else /var/lib/sluice; with `sluice run` and no host file "
                       "$XDG_STATE_HOME/sluice, else ~/.local/state/sluice",
      .doc = "Frontiers, slice records, pinned plugins. One host at a time.",
      .example = "/var/lib/sluice"},
     &HostConfig::state_dir},
    {{.name = "plugin.path",
      .group = Group::Folders,
      .type = List,
      .fallback_note = "none",
      .doc = "Plugin folders that are searched before ../plugins (a build's) and "
             "../lib/sluice/plugins, seen from the folder of `sluice`, "
             "/usr/local/lib/sluice/plugins and /usr/lib/sluice/plugins.",
      .example = "/opt/sluice/plugins"},
     &HostConfig::plugin_path},
    {{.name = "jobs.dir",
      .group = Group::Folders,
      .fallback = "jobs.d",
      .doc = "Every job file here is run. A relative path begins at this file's folder."},
     &HostConfig::jobs_dir},

    {{.name = "rest.listen",
      .group = Group::Rest,
      .type = List,
      .fallback_note = "unix:/run/sluice/sluice.sock; with `sluice run` unix:STATE/sluice.sock",
      .doc = "Where REST and the command line reach the host: unix:PATH; HOST:PORT not yet.",
      .example = "unix:/run/sluice/sluice.sock"},
     &HostConfig::rest_listen},
    {{.name = "rest.auth.*",
      .group = Group::Rest,
      .honoured = kNoValue,
      .doc = "Who may call over TCP."},
     std::monostate{}},
    {{.name = "rest.tls.*",
      .group = Group::Rest,
      .honoured = kNoValue,
      .doc = "The certificate for TCP."},
     std::monostate{}},

    {{.name = "log.level",
      .group = Group::Log,
      .type = Choice,
      .fallback = "info",
      .choices = "debug|info|warning|error",
      .doc = "The least level that `sluice host` writes. `sluice run` writes warnings and errors, "
             "with --verbose info as well."},
     kChoice<LogLevel, &HostConfig::log_level>},
    {{.name = "log.format",
      .group = Group::Log,
      .type = Choice,
      .fallback = "auto",
      .choices = "auto|text|journald",
      .doc = "auto: journald's under systemd, else text with times. `sluice run` has auto."},
     kChoice<LogFormat, &HostConfig::log_format>},

    {{.name = "slices.per.second.max",
      .group = Group::Limits,
      .type = Integer,
      .fallback = "20000",
      .min = 1,
      .max = 1'000'000,
      .doc = "At the tail slices are cut less often so that the host stays below this."},
     &HostConfig::slices_per_second_max},
});

}  // namespace

std::span<const BoundKey<HostConfig>> host_keys() {
  return kHostKeys;
}

}  // namespace sluice::config
