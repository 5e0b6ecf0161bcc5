// The typed values that a plugin reads through sluice_config: texts of the job, checked against the
// keys that the plugin declares, with its alias's presets and its defaults applied. The same code
// answers `--validate` (all problems at once) and gives values to start(), so what validates
// starts.
//
// Problems name keys and what is expected, never the value that was given: a secret under a
// mistyped key would end up in a log.
#pragma once

#include <sluice/abi.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.hpp"
#include "host/worker/plugin_module.hpp"

namespace sluice::worker {

struct KeyProblem {
  std::string key;
  std::string message;

  friend bool operator==(const KeyProblem&, const KeyProblem&) = default;
};

class PluginSettings;

struct CheckedSettings {
  std::unique_ptr<PluginSettings> settings;  ///< to be used only if there are no problems
  std::vector<KeyProblem> problems;
  bool complete = true;  ///< false: values were left open (ResolveText), nothing is known of them
};

/// What a value stands for: itself, or what its placeholders name. Nothing: it cannot be known here
/// and counts as given.
using ResolveText = std::function<Result<std::optional<std::string>>(std::string_view text)>;

class PluginSettings {
 public:
  /// Requires: `choice` stays valid as long as the settings.
  static CheckedSettings check(const PluginChoice& choice,
                               const std::map<std::string, std::string>& given,
                               const ResolveText& resolve);

  PluginSettings(const PluginSettings&) = delete;
  PluginSettings& operator=(const PluginSettings&) = delete;

  /// Valid as long as the settings.
  const sluice_config* view() const { return &view_; }

 private:
  class Checker;

  struct Value {
    const sluice_config_key* key = nullptr;
    bool is_set = false;
    std::string text;
    std::int64_t integer = 0;  ///< also of booleans
    double number = 0;
    std::vector<std::string> elements;
    std::vector<sluice_bytes> element_views;
    std::vector<std::pair<std::string, std::string>> entries;
    std::vector<sluice_pair> entry_views;
  };

  explicit PluginSettings(const PluginModule::Plugin& plugin);

  Value* find(std::string_view name);
  /// Null and `answer` -1 or 0, if the getter has nothing to hand out.
  static const Value* value_of(const sluice_config* config, const char* key,
                               std::initializer_list<sluice_config_type> types,
                               std::int32_t& answer);

  static std::int32_t get_string(const sluice_config*, const char*, sluice_bytes*) noexcept;
  static std::int32_t get_int(const sluice_config*, const char*, std::int64_t*) noexcept;
  static std::int32_t get_float(const sluice_config*, const char*, double*) noexcept;
  static std::int32_t get_bool(const sluice_config*, const char*, std::int32_t*) noexcept;
  static std::int32_t get_list(const sluice_config*, const char*, const sluice_bytes**,
                               std::uint32_t*) noexcept;
  static std::int32_t get_map(const sluice_config*, const char*, const sluice_pair**,
                              std::uint32_t*) noexcept;

  std::vector<Value> values_;
  sluice_config view_{};
};

/// The plugin's own rules over several keys, as far as it has any.
std::vector<KeyProblem> validate_settings(const PluginChoice& choice,
                                          const PluginSettings& settings);

}  // namespace sluice::worker
