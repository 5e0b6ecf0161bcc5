// What a plugin file says about itself, read from `sluice-worker --describe` (the document:
// host/worker/README.md). The document comes from a process that ran foreign code: it is checked,
// never believed to be well-formed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::catalog {

enum class PluginKind { Sink, Processor };

/// Another name of a plugin, with configuration that it presets.
struct PluginAlias {
  std::string name;
  std::map<std::string, std::string> presets;
};

struct DescribedPlugin {
  std::string name;
  PluginKind kind = PluginKind::Sink;
  std::string version;
  std::string summary;
  std::vector<std::string> capabilities;
  std::vector<PluginAlias> aliases;
  std::vector<std::string> keys;

  bool answers_to(std::string_view name_or_alias) const;
};

struct PluginFile {
  std::filesystem::path path;
  std::string sha256;  ///< of the bytes that were described
  std::vector<DescribedPlugin> plugins;
};

Result<PluginFile> parse_description(std::string_view json, const std::filesystem::path& path);

}  // namespace sluice::catalog
