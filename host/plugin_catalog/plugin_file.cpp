#include "host/plugin_catalog/plugin_file.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <stdexcept>

namespace sluice::catalog {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, const char* name) {
  const auto* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? json::value_to<std::string>(*value)
                                                : std::string{};
}

std::vector<PluginAlias> aliases_of(const json::object& plugin) {
  std::vector<PluginAlias> aliases;
  for (const auto& entry : plugin.at("aliases").as_array()) {
    PluginAlias alias;
    alias.name = text_of(entry.as_object(), "name");
    for (const auto& preset : entry.at("presets").as_object()) {
      alias.presets.emplace(preset.key(), json::value_to<std::string>(preset.value()));
    }
    aliases.push_back(std::move(alias));
  }
  return aliases;
}

DescribedPlugin plugin_of(const json::object& object) {
  DescribedPlugin plugin;
  plugin.name = text_of(object, "name");
  const auto kind = text_of(object, "kind");
  if (plugin.name.empty() || (kind != "sink" && kind != "processor")) {
    throw std::runtime_error{"a plugin without name or kind"};
  }
  plugin.kind = kind == "sink" ? PluginKind::Sink : PluginKind::Processor;
  plugin.version = text_of(object, "version");
  plugin.summary = text_of(object, "summary");
  for (const auto& capability : object.at("capabilities").as_array()) {
    plugin.capabilities.push_back(json::value_to<std::string>(capability));
  }
  plugin.aliases = aliases_of(object);
  for (const auto& key : object.at("keys").as_array()) {
    plugin.keys.push_back(text_of(key.as_object(), "name"));
  }
  return plugin;
}

}  // namespace

bool DescribedPlugin::answers_to(std::string_view name_or_alias) const {
  return name == name_or_alias ||
         std::any_of(aliases.begin(), aliases.end(),
                     [&](const PluginAlias& alias) { return alias.name == name_or_alias; });
}

Result<PluginFile> parse_description(std::string_view text, const std::filesystem::path& path) {
  try {
    const auto document = json::parse(text);
    PluginFile file;
    file.path = path;
    file.sha256 = text_of(document.as_object(), "sha256");
    // It becomes a part of paths: nothing but digits may come from foreign code.
    const bool digits = file.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (file.sha256.size() != 64 || !digits) throw std::runtime_error{"no sha256"};
    for (const auto& plugin : document.at("plugins").as_array()) {
      file.plugins.push_back(plugin_of(plugin.as_object()));
    }
    if (file.plugins.empty()) throw std::runtime_error{"no plugin in it"};
    return file;
  } catch (const std::exception& error) {
    return Error{ErrorCode::Plugin, "its description cannot be read: " + std::string{error.what()}};
  }
}

}  // namespace sluice::catalog
