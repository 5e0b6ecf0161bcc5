// A plugin's configuration, said once: each key is bound to a member of the plugin's Settings
// struct.
//
//   struct Settings { std::string url; std::chrono::milliseconds timeout{30'000}; };
//   static auto schema() {
//     return sluice::Schema<Settings>{}
//         .field("url", &Settings::url).required().doc("Where to send the records.")
//         .field("timeout.ms", &Settings::timeout).min("1s").doc("Longest wait for an answer.");
//   }
//
// The member's type is the key's type, its initial value the default, std::optional means "may be
// unset". From this come validation (by the host, before the plugin is made), documentation and
// lint. Built once per module; reading it never allocates behind the plugin's back.
#pragma once

#include <sluice/error.hpp>
#include <sluice/record.hpp>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <type_traits>

namespace sluice {

/// A size that users write as 64MiB.
struct ByteSize {
  std::uint64_t bytes = 0;
  constexpr operator std::uint64_t() const { return bytes; }
};

enum class Importance : std::int32_t {
  Low = SLUICE_IMPORTANCE_LOW,
  Medium = SLUICE_IMPORTANCE_MEDIUM,
  High = SLUICE_IMPORTANCE_HIGH,
};

/// What validate() reports: rules that span keys.
class Problems {
 public:
  explicit Problems(const sluice_problems* raw) : raw_{raw} {}
  /// key may be null: not one key, but all of them together.
  void add(const char* key, std::string_view message) {
    raw_->add(raw_, key, {message.data(), message.size()});
  }

 private:
  const sluice_problems* raw_;
};

namespace detail {

/// One key with the texts that its C struct points to.
struct SchemaKey {
  sluice_config_key raw{};
  std::optional<std::string> default_text, min_text, max_text;
  std::vector<const char*> choices, dependents;

  void publish(sluice_config_key& out) const {
    const auto text = [](const auto& from) { return from ? from->c_str() : nullptr; };
    out = raw;
    out.default_value = text(default_text);
    out.min = text(min_text);
    out.max = text(max_text);
    out.choices = choices.data();
    out.choice_count = static_cast<std::uint32_t>(choices.size());
    out.dependents = dependents.data();
    out.dependent_count = static_cast<std::uint32_t>(dependents.size());
  }
};

template <typename T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <typename>
inline constexpr bool kUnsupported = false;

/// How a member type is declared, defaulted and read. 1, 0 and -1 as in sluice_config.
template <typename T>
struct ConfigValue {
  static_assert(
      kUnsupported<T>,
      "a setting is a std::string, integer, double, bool, std::chrono::milliseconds, "
      "sluice::ByteSize, std::vector<std::string>, std::map<std::string, std::string>, an "
      "enum with choices, or a std::optional of these");
};

template <>
struct ConfigValue<std::string> {
  static constexpr sluice_config_type kType = SLUICE_TYPE_STRING;
  static std::optional<std::string> text(const std::string& value) { return value; }
  static int read(const sluice_config& config, const char* key, std::string& value) {
    sluice_bytes raw;
    const int found = config.get_string(&config, key, &raw);
    if (found == 1) {
      value = Bytes{raw};
    }
    return found;
  }
};

template <Integer T>
struct ConfigValue<T> {
  static constexpr sluice_config_type kType = SLUICE_TYPE_INT;
  static std::optional<std::string> text(T value) { return std::to_string(value); }
  static int read(const sluice_config& config, const char* key, T& value) {
    std::int64_t raw = 0;
    const int found = config.get_int(&config, key, &raw);
    if (found == 1) {
      if (!std::in_range<T>(raw)) {
        throw ConfigError{key, "is out of range: " + std::to_string(raw)};
      }
      value = static_cast<T>(raw);
    }
    return found;
  }
};

template <>
struct ConfigValue<double> {
  static constexpr sluice_config_type kType = SLUICE_TYPE_FLOAT;
  static std::optional<std::string> text(double value) {
    std::string digits = std::to_string(value);
    digits.erase(digits.find_last_not_of('0') + 1);
    return digits.back() == '.' ? digits + '0' : digits;
  }
  static int read(const sluice_config& config, const char* key, double& value) {
    return config.get_float(&config, key, &value);
  }
};

template <>
struct ConfigValue<bool> {
  static constexpr sluice_config_type kType = SLUICE_TYPE_BOOL;
  static std::optional<std::string> text(bool value) { return value ? "true" : "false"; }
  static int read(const sluice_config& config, const char* key, bool& value) {
    std::int32_t raw = 0;
    const int found = config.get_bool(&config, key, &raw);
    if (found == 1) {
      value = raw != 0;
    }
    return found;
  }
};

template <>
struct ConfigValue<std::chrono::milliseconds> {
  static constexpr sluice_config_type kType = SLUICE_TYPE_DURATION;
  static std::optional<std::string> text(std::chrono::milliseconds value) {
    return std::to_string(value.count()) + "ms";
  }
  static int read(const sluice_config& config, const char* key, std::chrono::milliseconds& value) {
    std::int64_t raw = 0;
    const int found = config.get_int(&config, key, &raw);
    if (found == 1) {
      value = std::chrono::milliseconds{raw};
    }
    return found;
  }
};

template <>
struct ConfigValue<ByteSize> {
  static constexpr sluice_config_type kType = SLUICE_TYPE_BYTES;
  static std::optional<std::string> text(ByteSize value) {
    std::uint64_t number = value.bytes;
    const char* const names[] = {"", "KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    while (unit < 3 && number != 0 && number % 1024 == 0) {
      number /= 1024;
      ++unit;
    }
    return std::to_string(number) + names[unit];
  }
  static int read(const sluice_config& config, const char* key, ByteSize& value) {
    std::int64_t raw = 0;
    const int found = config.get_int(&config, key, &raw);
    if (found == 1) {
      value.bytes = static_cast<std::uint64_t>(raw);
    }
    return found;
  }
};

template <>
struct ConfigValue<std::vector<std::string>> {
  static constexpr sluice_config_type kType = SLUICE_TYPE_LIST;
  static std::optional<std::string> text(const std::vector<std::string>& value) {
    std::string joined;
    for (const std::string& element : value) {
      joined += (joined.empty() ? "" : ",") + element;
    }
    return joined;
  }
  static int read(const sluice_config& config, const char* key, std::vector<std::string>& value) {
    const sluice_bytes* raw = nullptr;
    std::uint32_t count = 0;
    const int found = config.get_list(&config, key, &raw, &count);
    if (found == 1) {
      value.clear();
      for (std::uint32_t index = 0; index < count; ++index) {
        value.emplace_back(Bytes{raw[index]});
      }
    }
    return found;
  }
};

template <>
struct ConfigValue<std::map<std::string, std::string>> {
  static constexpr sluice_config_type kType = SLUICE_TYPE_MAP;
  /// A map is the job's NAME.* keys: one without entries is empty, there is no text for a default.
  static std::optional<std::string> text(const std::map<std::string, std::string>&) { return {}; }
  static int read(const sluice_config& config, const char* key,
                  std::map<std::string, std::string>& value) {
    const sluice_pair* raw = nullptr;
    std::uint32_t count = 0;
    const int found = config.get_map(&config, key, &raw, &count);
    if (found == 1) {
      value.clear();
      for (std::uint32_t index = 0; index < count; ++index) {
        value.emplace(Bytes{raw[index].key}, Bytes{raw[index].value});
      }
    }
    return found;
  }
};

template <typename T>
struct ConfigValue<std::optional<T>> {
  static constexpr sluice_config_type kType = ConfigValue<T>::kType;
  static std::optional<std::string> text(const std::optional<T>& value) {
    return value ? ConfigValue<T>::text(*value) : std::nullopt;
  }
  static int read(const sluice_config& config, const char* key, std::optional<T>& value) {
    T inner{};
    const int found = ConfigValue<T>::read(config, key, inner);
    if (found == 1) {
      value = std::move(inner);
    }
    return found;
  }
};

}  // namespace detail

template <typename Settings>
class Schema {
 public:
  using SettingsType = Settings;

  /// A key of the type of its member. The attributes that follow belong to it.
  template <typename Member>
  Schema& field(const char* name, Member Settings::*member) {
    using Value = detail::ConfigValue<Member>;
    Key& key = add(name, Value::kType, Value::text(Settings{}.*member));
    if constexpr (detail::Integer<Member>) {
      bound_to_type<Member>(key);
    }
    key.read = [name, member](const sluice_config& config, Settings& settings) {
      return Value::read(config, name, settings.*member);
    };
    return *this;
  }

  /// A key that takes one of some words, each standing for a value of the member.
  template <typename Member>
  Schema& field(
      const char* name, Member Settings::*member,
      std::initializer_list<std::pair<const char*, std::type_identity_t<Member>>> choices) {
    Key& key = add(name, SLUICE_TYPE_ENUM, std::nullopt);
    const Member initial = Settings{}.*member;
    for (const auto& [word, value] : choices) {
      key.choices.push_back(word);
      if (value == initial) {
        key.default_text = word;
      }
    }
    key.read = [name, member, words = std::vector(choices)](const sluice_config& config,
                                                            Settings& settings) {
      sluice_bytes raw;
      const int found = config.get_string(&config, name, &raw);
      for (const auto& [word, value] : words) {
        if (found == 1 && Bytes{raw} == word) {
          settings.*member = value;
        }
      }
      return found;
    };
    return *this;
  }

  /// One sentence or more. Every key has one.
  Schema& doc(const char* text) {
    return set([&](Key& key) { key.raw.doc = text; });
  }
  /// The job must say it; the member's initial value is no default then.
  Schema& required() {
    return set([](Key& key) {
      key.raw.flags |= SLUICE_KEY_REQUIRED;
      key.default_text.reset();
    });
  }
  /// Never shown: in no status, log or command line.
  Schema& secret() {
    return set([](Key& key) {
      key.raw.type = SLUICE_TYPE_SECRET;
      key.default_text.reset();
    });
  }
  /// Bounds as a user would write them: "0", "1s", "64KiB".
  Schema& min(const char* text) {
    return set([&](Key& key) { key.min_text = text; });
  }
  Schema& max(const char* text) {
    return set([&](Key& key) { key.max_text = text; });
  }
  /// An ECMAScript expression for the whole text.
  Schema& pattern(const char* text) {
    return set([&](Key& key) { key.raw.pattern = text; });
  }
  Schema& group(const char* name, std::uint32_t order = 0) {
    return set([&](Key& key) {
      key.raw.group = name;
      key.raw.order = order;
    });
  }
  Schema& importance(Importance importance) {
    return set([&](Key& key) { key.raw.importance = static_cast<sluice_importance>(importance); });
  }
  Schema& since(const char* version) {
    return set([&](Key& key) { key.raw.since = version; });
  }
  /// What to use instead.
  Schema& deprecated(const char* text) {
    return set([&](Key& key) { key.raw.deprecated = text; });
  }
  Schema& example(const char* text) {
    return set([&](Key& key) { key.raw.example = text; });
  }
  /// Keys that mean something only together with this one.
  Schema& dependents(std::initializer_list<const char*> names) {
    return set([&](Key& key) { key.dependents = names; });
  }

  /// For the adapter: the C table, which points into this schema.
  std::vector<sluice_config_key> table() const {
    std::vector<sluice_config_key> table(keys_.size());
    for (std::size_t index = 0; index < keys_.size(); ++index) {
      keys_[index].publish(table[index]);
    }
    return table;
  }

  /// For the adapter: the validated values in a Settings. Throws ConfigError.
  Settings read(const sluice_config& config) const {
    Settings settings{};
    for (const Key& key : keys_) {
      const int found = key.read(config, settings);
      if (found < 0) {
        throw ConfigError{key.raw.name, "is not known to the host with this type"};
      }
      if (found == 0 && (key.raw.flags & SLUICE_KEY_REQUIRED) != 0) {
        throw ConfigError{key.raw.name, "is required"};
      }
    }
    return settings;
  }

 private:
  struct Key : detail::SchemaKey {
    std::function<int(const sluice_config&, Settings&)> read;
  };

  Key& add(const char* name, sluice_config_type type, std::optional<std::string> default_text) {
    Key& key = keys_.emplace_back();
    key.raw.size = sizeof(sluice_config_key);
    key.raw.type = type;
    key.raw.name = name;
    key.raw.importance = SLUICE_IMPORTANCE_MEDIUM;
    key.default_text = std::move(default_text);
    return key;
  }

  /// A uint16_t key takes 0 to 65535 without saying so. Above int64_t the host's type is the bound.
  template <detail::Integer Member>
  static void bound_to_type(Key& key) {
    if constexpr (std::in_range<std::int64_t>(std::numeric_limits<Member>::max()) &&
                  sizeof(Member) < sizeof(std::int64_t)) {
      key.max_text = std::to_string(std::numeric_limits<Member>::max());
    }
    if constexpr (std::unsigned_integral<Member> || sizeof(Member) < sizeof(std::int64_t)) {
      key.min_text = std::to_string(std::numeric_limits<Member>::min());
    }
  }

  /// Requires: a field. An attribute before the first one is a mistake of the author's.
  template <typename Change>
  Schema& set(Change&& change) {
    change(keys_.at(keys_.size() - 1));
    return *this;
  }

  std::vector<Key> keys_;
};

}  // namespace sluice
