// From a file, or a text that came by REST, to a checked configuration. The road is the same for
// every format: text -> Entries (one flat map with positions: entries.hpp) -> the key table
// (job_keys.hpp, host_keys.hpp) -> a typed struct. All problems of a file come back at once,
// ordered by position.
//
// toml++ and Boost.JSON are used in this folder's .cpp files only; nothing is thrown out of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "host/config/host_config.hpp"
#include "host/config/job_config.hpp"
#include "host/config/placeholders.hpp"
#include "host/config/position.hpp"

namespace sluice::config {

enum class Format { Toml, Json, JavaProperties };

/// A file above this is refused before it is parsed.
constexpr std::uint64_t kFileBytesMax = 4U << 20;

struct LoadOptions {
  /// Where placeholders of [kafka] look.
  Environment environment = Environment::of_process();
  /// Asks librdkafka (host/kafka) about one of its properties: empty, or why it is refused, without
  /// the value. Not set: any name passes here, and the client that is made with it says no.
  std::function<std::string(const std::string& name, const std::string& value)> kafka_property;
};

/// By the name's end: .toml, .json, .properties; anything else is a Problem that lists these.
Loaded<JobConfig> load_job(const std::filesystem::path& file, const LoadOptions& options = {});

/// `origin` is what messages call the text: a file name, or empty for REST.
Loaded<JobConfig> parse_job(std::string_view text, Format format, std::string_view origin,
                            const LoadOptions& options = {});

Loaded<HostConfig> load_host(const std::filesystem::path& file, const LoadOptions& options = {});
Loaded<HostConfig> parse_host(std::string_view text, std::string_view origin,
                              const LoadOptions& options = {});

}  // namespace sluice::config
