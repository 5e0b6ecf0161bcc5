#include "host/config/plugin_keys.hpp"

#include <algorithm>

#include "host/base/nearest_name.hpp"
#include "host/config/job_keys.hpp"
#include "host/config/values.hpp"

namespace sluice::config {
namespace {

constexpr std::string_view kTransforms = "transforms.";

bool is_transform_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  return !name.empty() && name.size() <= 100 &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

/// One PluginConfig per name in `transforms`, still without its keys.
void make_processors(const Entries& entries, JobConfig& config, Problems& problems) {
  const Entry* const list = entries.find("transforms");
  if (list == nullptr) return;
  for (const std::string& name : config.transforms) {
    const auto refuse = [&](std::string what) {
      problems.add(list->position, list->key, std::move(what));
    };
    if (!is_transform_name(name)) {
      refuse(in_quotes(name) + " is not a name; write A-Z a-z 0-9 _ -");
      continue;
    }
    const bool repeated =
        std::any_of(config.processors.begin(), config.processors.end(),
                    [&](const PluginConfig& processor) { return processor.name == name; });
    if (repeated) {
      refuse("names " + name + " twice; give each transform a name of its own");
      continue;
    }
    PluginConfig processor;
    processor.kind = PluginConfig::Kind::Processor;
    processor.name = name;
    processor.prefix = std::string{kTransforms} + name + ".";
    processor.type_position = list->position;
    config.processors.push_back(std::move(processor));
  }
}

/// `key` is the part behind transforms.NAME.
void take_processor_key(const Entry& entry, const std::string& key, PluginConfig& processor,
                        Problems& problems) {
  if (key == "type") {
    processor.type = trim(entry.value);
    processor.type_position = entry.position;
  } else if (key == "plugin.version") {
    check_version(entry, problems);
    processor.version = trim(entry.value);
  } else if (key == "predicate" || key == "negate") {
    problems.add(entry.position, entry.key, "not supported yet; take the key out");
  } else {
    processor.keys.emplace(key, PluginValue{entry.value, entry.position});
  }
}

void take_transform_entry(const Entry& entry, JobConfig& config, Problems& problems) {
  const std::string_view rest = std::string_view{entry.key}.substr(kTransforms.size());
  const std::size_t dot = rest.find('.');
  const std::string_view name = rest.substr(0, dot);
  const auto processor =
      std::find_if(config.processors.begin(), config.processors.end(),
                   [&](const PluginConfig& candidate) { return candidate.name == name; });
  if (processor != config.processors.end() && dot != std::string_view::npos) {
    return take_processor_key(entry, std::string{rest.substr(dot + 1)}, *processor, problems);
  }
  std::vector<std::string_view> names{config.transforms.begin(), config.transforms.end()};
  const std::string_view nearest = nearest_name(name, names);
  problems.add(entry.position, printable(entry.key),
               "`transforms` lists no " + printable(name) +
                   (nearest.empty() ? "; add it there, or take the key out"
                                    : "; did you mean " + std::string{nearest} + "?"));
}

}  // namespace

void check_version(const Entry& entry, Problems& problems) {
  if (entry.value.find_first_of("[](),") != std::string::npos) {
    problems.add(entry.position, entry.key,
                 "version ranges are not supported yet; write one version, or take the key out");
  } else if (trim(entry.value).empty()) {
    problems.add(entry.position, entry.key, "must not be empty");
  }
}

void take_plugin_keys(const Entries& entries, JobConfig& config, Problems& problems) {
  make_processors(entries, config, problems);
  config.sink.type = config.connector_class;
  config.sink.version = config.connector_plugin_version;
  for (const Entry& entry : entries.list()) {
    if (entry.key.starts_with(kTransforms)) {
      take_transform_entry(entry, config, problems);
    } else if (entry.key == "connector.class") {
      config.sink.type_position = entry.position;
    } else if (entry.key == "connector.plugin.version") {
      check_version(entry, problems);
    } else if (!is_host_key(entry.key)) {
      config.sink.keys.emplace(entry.key, PluginValue{entry.value, entry.position});
    }
  }
  for (const PluginConfig& processor : config.processors) {
    if (!processor.type.empty()) continue;
    problems.add(processor.type_position, processor.prefix + "type",
                 "missing; name the processor, for example filter");
  }
}

}  // namespace sluice::config
