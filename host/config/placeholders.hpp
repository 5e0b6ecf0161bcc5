// `${env:NAME}`, `${file:/path:key}`, `${credential:ID}` in values: so that a password stands in no
// job file, status, log, argv, segment or state store. Resolved as late as can be: job keys in the
// worker, [kafka] in the host. A library of its own, since the worker must not carry a TOML parser.
//
// `${word}` without a colon passes as it is: plugins use it for templates (Connect's JDBC sink:
// `kafka_${topic}`). `${other:...}` is an error, never passed on: a literal "${vault:db}" sent as a
// password fails far from its cause. Errors name the placeholder, never what it stands for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/error.hpp"

namespace sluice::config {

/// Where placeholders look; tests give their own.
struct Environment {
  std::function<std::optional<std::string>(std::string_view name)> variable;
  std::function<Result<std::string>(std::string_view path)> file;

  /// getenv and the file system, files up to 1 MiB.
  static Environment of_process();
};

bool has_placeholder(std::string_view text);

/// ${file:/path:key} reads a .properties file (key=value lines), as Kafka's FileConfigProvider;
/// ${credential:ID} reads $CREDENTIALS_DIRECTORY/ID, a last LF cut off (systemd.exec(5)).
Result<std::string> resolve_placeholders(std::string_view text, const Environment& environment);

}  // namespace sluice::config
