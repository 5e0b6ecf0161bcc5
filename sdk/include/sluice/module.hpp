// The adapter between a plugin class and the C ABI. Nothing here is for authors but SLUICE_MODULE.
//
// Instance<T> is the sluice_plugin: create() makes it empty, start() reads the settings and
// constructs the T, stop() destroys the T, destroy() the Instance. Every function catches
// everything: whether an exception could cross to the host depends on how both were linked.
// Descriptor<T> is T's static description, made from T's static functions, each optional.
#pragma once

#include <sluice/plugin.hpp>

#include <new>
#include <system_error>

namespace sluice::detail {

/// ConfigError means CONFIG only while a plugin starts; later no user can mend it by a key.
enum class During { Start, OtherCalls };

/// The running catch block's exception, told to the host. Requires: inside a catch block.
inline sluice_status report_exception(const sluice_host* host, During during) noexcept {
  const auto told = [host](sluice_status status, std::string_view message,
                           std::string_view key = {}, std::int32_t code = 0,
                           std::int64_t retry_after_ms = -1) {
    const sluice_error error{sizeof(sluice_error),
                             code,
                             {message.data(), message.size()},
                             {key.data(), key.size()},
                             retry_after_ms};
    host->set_error(host, &error);
    return status;
  };
  try {
    throw;
  } catch (const RetriableError& error) {
    const auto wait = error.retry_after();
    return told(SLUICE_RETRY, error.what(), {}, 0, wait ? wait->count() : -1);
  } catch (const NotConnected& error) {
    return told(SLUICE_NOT_CONNECTED, error.what());
  } catch (const ConfigError& error) {
    return told(during == During::Start ? SLUICE_CONFIG : SLUICE_FAIL, error.what(), error.key());
  } catch (const std::system_error& error) {
    return told(SLUICE_FAIL, error.what(), {}, error.code().value());
  } catch (const std::exception& error) {
    return told(SLUICE_FAIL, error.what());
  } catch (...) {
    return told(SLUICE_FAIL, "threw something that is not a std::exception");
  }
}

template <typename Call>
sluice_status guarded(const sluice_host* host, During during, Call&& call) noexcept {
  try {
    call();
    return SLUICE_OK;
  } catch (...) {
    return report_exception(host, during);
  }
}

template <typename T>
concept HasSchema = requires {
  T::schema();
};

struct NoSettings {};

template <typename T>
struct SettingsOf {
  using Type = NoSettings;
};
template <HasSchema T>
struct SettingsOf<T> {
  using Type = typename decltype(T::schema())::SettingsType;
};

/// A hook is offered to the host only if T has its own; Plugin's empty one has Plugin's type. (One
/// that is overloaded or not accessible is T's own too.)
template <typename T>
inline constexpr bool kHasFlush = !requires {
  requires std::same_as<decltype(&T::flush), void (Plugin::*)()>;
};
template <typename T>
inline constexpr bool kHasRollback = !requires {
  requires std::same_as<decltype(&T::rollback), void (Plugin::*)()>;
};
using PartitionsHook = void (Plugin::*)(std::span<const Partition>, Reason);
template <typename T>
inline constexpr bool kHasOpen = !requires {
  requires std::same_as<decltype(&T::open), PartitionsHook>;
};
template <typename T>
inline constexpr bool kHasClose = !requires {
  requires std::same_as<decltype(&T::close), PartitionsHook>;
};

/// The sluice_plugin of a T. Stage is what differs between kinds: its kKind, and run(), which hands
/// a batch to the T.
template <typename T, typename Stage>
class Instance {
 public:
  using Settings = typename SettingsOf<T>::Type;

  static sluice_plugin* create(const sluice_host* host) noexcept {
    auto* instance = new (std::nothrow) Instance{host};
    return instance == nullptr ? nullptr : &instance->raw_;
  }

 private:
  explicit Instance(const sluice_host* host) noexcept : host_{host} {
    raw_.size = sizeof(sluice_plugin);
    raw_.context = this;
    raw_.start = start;
    (Stage::kKind == SLUICE_KIND_SINK ? raw_.put : raw_.process) = run;
    raw_.flush = kHasFlush<T> ? flush : nullptr;
    raw_.rollback = kHasRollback<T> ? rollback : nullptr;
    raw_.open = kHasOpen<T> ? open : nullptr;
    raw_.close = kHasClose<T> ? close : nullptr;
    raw_.stop = stop;
    raw_.destroy = destroy;
  }

  static Instance& of(sluice_plugin* plugin) noexcept {
    return *static_cast<Instance*>(plugin->context);
  }

  template <typename Call>
  static sluice_status call(sluice_plugin* plugin, Call&& call) noexcept {
    Instance& instance = of(plugin);
    return guarded(instance.host_, During::OtherCalls, [&] { call(instance); });
  }

  static sluice_status start(sluice_plugin* plugin, const sluice_start* raw) noexcept {
    Instance& instance = of(plugin);
    return guarded(instance.host_, During::Start, [&] { instance.construct(*raw); });
  }

  void construct(const sluice_start& raw) {
    const Start start{Host{host_}, Bytes{raw.job}, raw.worker_slot};
    if constexpr (HasSchema<T>) {
      const Settings settings = T::schema().read(*raw.config);
      if constexpr (std::is_constructible_v<T, const Settings&, const Start&>) {
        plugin_ = std::make_unique<T>(settings, start);
      } else {
        plugin_ = std::make_unique<T>(settings);
      }
    } else if constexpr (std::is_constructible_v<T, const Start&>) {
      plugin_ = std::make_unique<T>(start);
    } else {
      plugin_ = std::make_unique<T>();
    }
    base().host_ = start.host;
  }

  /// Hooks are called through the base: an author may override them as private functions.
  Plugin& base() { return *plugin_; }

  static sluice_status run(sluice_plugin* plugin, const sluice_batch* batch) noexcept {
    return call(plugin, [&](Instance& instance) {
      instance.stage_.run(*instance.plugin_, *batch, Host{instance.host_});
    });
  }

  static sluice_status flush(sluice_plugin* plugin) noexcept {
    return call(plugin, [](Instance& instance) { instance.base().flush(); });
  }

  static sluice_status rollback(sluice_plugin* plugin) noexcept {
    return call(plugin, [](Instance& instance) { instance.base().rollback(); });
  }

  static sluice_status open(sluice_plugin* plugin, const sluice_partition* partitions,
                            uint32_t count, sluice_reason reason) noexcept {
    return call(plugin, [&](Instance& instance) {
      const auto views = instance.views(partitions, count);
      instance.base().open(views, static_cast<Reason>(reason));
    });
  }

  static sluice_status close(sluice_plugin* plugin, const sluice_partition* partitions,
                             uint32_t count, sluice_reason reason) noexcept {
    return call(plugin, [&](Instance& instance) {
      const auto views = instance.views(partitions, count);
      instance.base().close(views, static_cast<Reason>(reason));
    });
  }

  static void stop(sluice_plugin* plugin) noexcept { of(plugin).plugin_.reset(); }
  static void destroy(sluice_plugin* plugin) noexcept { delete &of(plugin); }

  std::vector<Partition> views(const sluice_partition* partitions, std::uint32_t count) const {
    std::vector<Partition> views;
    views.reserve(count);
    for (std::uint32_t index = 0; index < count; ++index) {
      const auto* at = reinterpret_cast<const sluice_partition*>(
          reinterpret_cast<const char*>(partitions) + std::size_t{index} * partitions->size);
      views.push_back({Host{host_}.topic(at->topic_index), at->topic_index, at->topic_incarnation,
                       at->partition});
    }
    return views;
  }

  sluice_plugin raw_{};
  const sluice_host* host_;
  std::unique_ptr<T> plugin_;
  [[no_unique_address]] Stage stage_;
};

/// T's static description. The C tables point into this object, which lives as long as the module.
template <typename T, typename Stage>
class Descriptor {
 public:
  Descriptor(const char* name, const char* version) {
    describe_keys();
    describe_aliases();
    raw_.size = sizeof(sluice_descriptor);
    raw_.kind = Stage::kKind;
    raw_.name = name;
    raw_.version = version;
    if constexpr (requires { T::summary(); }) {
      raw_.summary = T::summary();
    }
    if constexpr (requires { T::capabilities(); }) {
      raw_.capabilities = T::capabilities();
    }
    raw_.create = Instance<T, Stage>::create;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const sluice_descriptor* raw() const { return &raw_; }

 private:
  using Settings = typename SettingsOf<T>::Type;

  void describe_keys() {
    if constexpr (HasSchema<T>) {
      schema_.emplace(T::schema());
      keys_ = schema_->table();
      raw_.keys = keys_.data();
      raw_.key_count = static_cast<std::uint32_t>(keys_.size());
      if constexpr (requires(const Settings& settings, Problems& problems) {
                      T::validate(settings, problems);
                    }) {
        raw_.validate = validate;
      }
    }
  }

  void describe_aliases() {
    if constexpr (requires { T::aliases(); }) {
      aliases_ = T::aliases();
      for (const Alias& alias : aliases_) {
        raw_aliases_.push_back({sizeof(sluice_alias),
                                static_cast<std::uint32_t>(alias.presets.size()), alias.name,
                                alias.presets.data()});
      }
      raw_.aliases = raw_aliases_.data();
      raw_.alias_count = static_cast<std::uint32_t>(raw_aliases_.size());
    }
  }

  static void validate(const sluice_config* config, const sluice_problems* raw) noexcept {
    const auto problem = [raw](const char* key, const char* text) {
      raw->add(raw, key, {text, std::char_traits<char>::length(text)});
    };
    try {
      Problems problems{raw};
      T::validate(T::schema().read(*config), problems);
    } catch (const ConfigError& error) {
      problem(error.key().c_str(), error.what());
    } catch (const std::exception& error) {
      problem(nullptr, error.what());
    } catch (...) {
      problem(nullptr, "validate threw something that is not a std::exception");
    }
  }

  sluice_descriptor raw_{};
  std::optional<Schema<Settings>> schema_;
  std::vector<sluice_config_key> keys_;
  std::vector<Alias> aliases_;
  std::vector<sluice_alias> raw_aliases_;
};

/// For a bug report: what this module was compiled with.
#define SLUICE_DETAIL_TEXT(number) SLUICE_DETAIL_TEXT_OF(number)
#define SLUICE_DETAIL_TEXT_OF(number) #number
inline constexpr const char* kBuild =
    "sluice C++ layer 1.0, compiler " __VERSION__ ", C++ " SLUICE_DETAIL_TEXT(__cplusplus);

}  // namespace sluice::detail

/// What is in this file: one or more of sluice::sink<T>(name, version) and
/// sluice::processor<T>(name, version). Once per file, at namespace scope.
#define SLUICE_MODULE(...)                                                        \
  extern "C" SLUICE_EXPORT const sluice_module* sluice_module_v1(void) noexcept { \
    static const sluice_descriptor* const plugins[] = {__VA_ARGS__};              \
    static const sluice_module module = {sizeof(sluice_module),                   \
                                         SLUICE_MAGIC,                            \
                                         SLUICE_ABI_MAJOR,                        \
                                         SLUICE_ABI_MINOR,                        \
                                         0,                                       \
                                         sizeof(plugins) / sizeof(plugins[0]),    \
                                         plugins,                                 \
                                         ::sluice::detail::kBuild};               \
    return &module;                                                               \
  }
