#include "host/worker/plugin_settings.hpp"

#include <algorithm>
#include <array>
#include <regex>

#include "host/base/nearest_name.hpp"
#include "host/base/value_syntax.hpp"

namespace sluice::worker {

namespace {

std::string_view text_of(const sluice_bytes& bytes) {
  if (bytes.data == nullptr) return {};
  return {static_cast<const char*>(bytes.data), bytes.size};
}

sluice_bytes bytes_of(const std::string& text) {
  return {text.data(), text.size()};
}

bool is_integral(sluice_config_type type) {
  return type == SLUICE_TYPE_INT || type == SLUICE_TYPE_DURATION || type == SLUICE_TYPE_BYTES;
}

Result<std::int64_t> parse_integral(sluice_config_type type, std::string_view text) {
  if (type == SLUICE_TYPE_DURATION) return parse_duration_ms(text);
  if (type == SLUICE_TYPE_BYTES) return parse_size_bytes(text);
  return parse_integer(text);
}

Error wrong(std::string why) {
  return Error{ErrorCode::Configuration, std::move(why)};
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Result<> check_choice(const sluice_config_key& key, std::string_view text) {
  if (key.choice_count == 0) return {};
  std::string all;
  for (std::uint32_t i = 0; i < key.choice_count; ++i) {
    if (text == key.choices[i]) return {};
    all.append(all.empty() ? "" : ", ").append(key.choices[i]);
  }
  return wrong("must be one of " + all);
}

/// A std::regex of configuration size; it may throw for a pattern that is none, and for exhaustion.
Result<> check_pattern(const sluice_config_key& key, std::string_view text) {
  if (key.pattern == nullptr) return {};
  try {
    const std::regex pattern{key.pattern, std::regex::ECMAScript};
    if (std::regex_match(text.begin(), text.end(), pattern)) return {};
  } catch (const std::regex_error&) {
    return wrong("cannot be matched with the plugin's pattern " + std::string{key.pattern});
  }
  return wrong("must match " + std::string{key.pattern});
}

template <typename T, typename Parse>
Result<> check_range(const sluice_config_key& key, T value, const Parse& parse) {
  if (key.min != nullptr) {
    const auto min = parse(key.min);
    if (!min || value < *min) return wrong("must be at least " + std::string{key.min});
  }
  if (key.max != nullptr) {
    const auto max = parse(key.max);
    if (!max || value > *max) return wrong("must be at most " + std::string{key.max});
  }
  return {};
}

}  // namespace

/// Fills the values of one plugin and collects what is wrong.
class PluginSettings::Checker {
 public:
  Checker(const PluginChoice& choice, const ResolveText& resolve)
      : choice_{choice}, resolve_{resolve} {
    checked_.settings.reset(new PluginSettings{*choice.plugin});
  }

  CheckedSettings run(const std::map<std::string, std::string>& given) {
    for (const auto& [name, text] : given) take(name, text);
    apply_presets();
    for (Value& value : checked_.settings->values_) finish(value);
    return std::move(checked_);
  }

 private:
  void problem(std::string_view key, std::string message) {
    checked_.problems.push_back({std::string{key}, std::move(message)});
  }

  void take(const std::string& name, const std::string& text) {
    std::string_view entry;
    Value* value = find_taker(name, entry);
    if (value == nullptr) return unknown(name);
    if (is_preset(name)) {
      return problem(name, "is fixed by " + std::string{choice_.alias->name} +
                               " and cannot be set; use " + choice_.plugin->descriptor->name +
                               " instead to set it");
    }
    const auto resolved = resolve_(text);
    value->is_set = true;
    if (!resolved) return problem(name, resolved.error().message());
    if (!resolved->has_value()) {
      checked_.complete = false;
      return;
    }
    store(*value, name, entry, **resolved);
  }

  /// The key that `name` belongs to; of a map also its entry.
  Value* find_taker(const std::string& name, std::string_view& entry) {
    for (Value& value : checked_.settings->values_) {
      const std::string_view key = value.key->name;
      if (value.key->type != SLUICE_TYPE_MAP) {
        if (name == key) return &value;
      } else if (name.size() > key.size() + 1 && name.starts_with(key) && name[key.size()] == '.') {
        entry = std::string_view{name}.substr(key.size() + 1);
        return &value;
      }
    }
    return nullptr;
  }

  void unknown(const std::string& name) {
    std::vector<std::string_view> names;
    for (const Value& value : checked_.settings->values_) names.push_back(value.key->name);
    std::string message = "is not known to " + std::string{choice_.plugin->descriptor->name};
    const std::string_view nearest = nearest_name(name, names);
    const Value* map = checked_.settings->find(name);
    if (map != nullptr) {
      message = "is a map: write " + name + ".NAME for each entry";
    } else if (!nearest.empty()) {
      message.append("; did you mean ").append(nearest).append("?");
    }
    problem(name, std::move(message));
  }

  bool is_preset(std::string_view name) const {
    if (choice_.alias == nullptr) return false;
    for (std::uint32_t i = 0; i < choice_.alias->preset_count; ++i) {
      if (name == choice_.alias->presets[i].key) return true;
    }
    return false;
  }

  void apply_presets() {
    if (choice_.alias == nullptr) return;
    for (std::uint32_t i = 0; i < choice_.alias->preset_count; ++i) {
      const sluice_preset& preset = choice_.alias->presets[i];
      const std::string name = preset.key;
      std::string_view entry;
      Value* value = find_taker(name, entry);
      if (value == nullptr) {
        problem(name, "is preset by " + std::string{choice_.alias->name} + " but not declared");
        continue;
      }
      value->is_set = true;
      store(*value, name, entry, preset.value);
    }
  }

  void finish(Value& value) {
    const sluice_config_key& key = *value.key;
    if (!value.is_set && key.default_value != nullptr && key.type != SLUICE_TYPE_MAP) {
      value.is_set = true;
      store(value, key.name, {}, key.default_value);
    }
    if (!value.is_set && (key.flags & SLUICE_KEY_REQUIRED) != 0) {
      problem(key.name, "is required: " + std::string{key.doc});
    }
    for (const std::string& element : value.elements) {
      value.element_views.push_back(bytes_of(element));
    }
    for (const auto& [entry, text] : value.entries) {
      value.entry_views.push_back({bytes_of(entry), bytes_of(text)});
    }
  }

  void store(Value& value, std::string_view name, std::string_view entry, std::string_view text) {
    const auto stored = value.key->type == SLUICE_TYPE_MAP ? store_entry(value, entry, text)
                                                           : store_typed(value, text);
    if (!stored) problem(name, stored.error().message());
  }

  static Result<> store_entry(Value& value, std::string_view entry, std::string_view text) {
    value.entries.emplace_back(entry, text);
    return {};
  }

  static Result<> store_typed(Value& value, std::string_view text) {
    const sluice_config_key& key = *value.key;
    if (is_integral(key.type)) return store_integral(value, text);
    if (key.type == SLUICE_TYPE_FLOAT) {
      const auto number = parse_float(text);
      if (!number) return number.error();
      value.number = *number;
      return check_range(key, value.number, parse_float);
    }
    if (key.type == SLUICE_TYPE_BOOL) {
      const auto flag = parse_bool(text);
      if (!flag) return flag.error();
      value.integer = *flag ? 1 : 0;
      return {};
    }
    if (key.type == SLUICE_TYPE_LIST) return store_list(value, text);
    value.text = text;
    SLUICE_TRY(check_choice(key, text));
    return check_pattern(key, text);
  }

  static Result<> store_integral(Value& value, std::string_view text) {
    const sluice_config_type type = value.key->type;
    const auto integer = parse_integral(type, text);
    if (!integer) return integer.error();
    value.integer = *integer;
    return check_range(*value.key, value.integer,
                       [type](const char* bound) { return parse_integral(type, bound); });
  }

  static Result<> store_list(Value& value, std::string_view text) {
    while (!text.empty()) {
      const auto comma = std::min(text.find(','), text.size());
      const std::string_view element = trimmed(text.substr(0, comma));
      if (element.empty()) return wrong("has an empty element");
      SLUICE_TRY(check_choice(*value.key, element));
      SLUICE_TRY(check_pattern(*value.key, element));
      value.elements.emplace_back(element);
      if (comma == text.size()) break;
      text.remove_prefix(comma + 1);
      if (text.empty()) return wrong("has an empty element");
    }
    return {};
  }

  const PluginChoice& choice_;
  const ResolveText& resolve_;
  CheckedSettings checked_;
};

PluginSettings::PluginSettings(const PluginModule::Plugin& plugin) {
  values_.reserve(plugin.keys.size());
  for (const sluice_config_key* key : plugin.keys) {
    values_.emplace_back();
    values_.back().key = key;
  }
  view_ = {sizeof(sluice_config),
           0,
           this,
           &get_string,
           &get_int,
           &get_float,
           &get_bool,
           &get_list,
           &get_map};
}

CheckedSettings PluginSettings::check(const PluginChoice& choice,
                                      const std::map<std::string, std::string>& given,
                                      const ResolveText& resolve) {
  return Checker{choice, resolve}.run(given);
}

PluginSettings::Value* PluginSettings::find(std::string_view name) {
  for (Value& value : values_) {
    if (name == value.key->name) return &value;
  }
  return nullptr;
}

const PluginSettings::Value* PluginSettings::value_of(
    const sluice_config* config, const char* key, std::initializer_list<sluice_config_type> types,
    std::int32_t& answer) {
  answer = -1;
  if (key == nullptr) return nullptr;
  auto* settings = static_cast<PluginSettings*>(const_cast<void*>(config->context));
  const Value* value = settings->find(key);
  if (value == nullptr) return nullptr;
  if (std::find(types.begin(), types.end(), value->key->type) == types.end()) return nullptr;
  answer = value->is_set || value->key->type == SLUICE_TYPE_MAP ? 1 : 0;
  return answer == 1 ? value : nullptr;
}

std::int32_t PluginSettings::get_string(const sluice_config* config, const char* key,
                                        sluice_bytes* value) noexcept {
  std::int32_t answer = 0;
  const auto* found =
      value_of(config, key, {SLUICE_TYPE_STRING, SLUICE_TYPE_ENUM, SLUICE_TYPE_SECRET}, answer);
  if (found != nullptr) *value = bytes_of(found->text);
  return answer;
}

std::int32_t PluginSettings::get_int(const sluice_config* config, const char* key,
                                     std::int64_t* value) noexcept {
  std::int32_t answer = 0;
  const auto* found =
      value_of(config, key, {SLUICE_TYPE_INT, SLUICE_TYPE_DURATION, SLUICE_TYPE_BYTES}, answer);
  if (found != nullptr) *value = found->integer;
  return answer;
}

std::int32_t PluginSettings::get_float(const sluice_config* config, const char* key,
                                       double* value) noexcept {
  std::int32_t answer = 0;
  const auto* found = value_of(config, key, {SLUICE_TYPE_FLOAT}, answer);
  if (found != nullptr) *value = found->number;
  return answer;
}

std::int32_t PluginSettings::get_bool(const sluice_config* config, const char* key,
                                      std::int32_t* value) noexcept {
  std::int32_t answer = 0;
  const auto* found = value_of(config, key, {SLUICE_TYPE_BOOL}, answer);
  if (found != nullptr) *value = static_cast<std::int32_t>(found->integer);
  return answer;
}

std::int32_t PluginSettings::get_list(const sluice_config* config, const char* key,
                                      const sluice_bytes** values, std::uint32_t* count) noexcept {
  std::int32_t answer = 0;
  const auto* found = value_of(config, key, {SLUICE_TYPE_LIST}, answer);
  if (found != nullptr) {
    *values = found->element_views.data();
    *count = static_cast<std::uint32_t>(found->element_views.size());
  }
  return answer;
}

std::int32_t PluginSettings::get_map(const sluice_config* config, const char* key,
                                     const sluice_pair** pairs, std::uint32_t* count) noexcept {
  std::int32_t answer = 0;
  const auto* found = value_of(config, key, {SLUICE_TYPE_MAP}, answer);
  if (found != nullptr) {
    *pairs = found->entry_views.data();
    *count = static_cast<std::uint32_t>(found->entry_views.size());
  }
  return answer;
}

std::vector<KeyProblem> validate_settings(const PluginChoice& choice,
                                          const PluginSettings& settings) {
  std::vector<KeyProblem> problems;
  if (choice.plugin->descriptor->validate == nullptr) return problems;
  sluice_problems collector{};
  collector.size = sizeof(collector);
  collector.context = &problems;
  collector.add = [](const sluice_problems* to, const char* key, sluice_bytes message) noexcept {
    static_cast<std::vector<KeyProblem>*>(to->context)
        ->push_back({key == nullptr ? "" : key, std::string{text_of(message)}});
  };
  choice.plugin->descriptor->validate(settings.view(), &collector);
  return problems;
}

}  // namespace sluice::worker
