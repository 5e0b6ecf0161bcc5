#include "host/worker/plugin_module.hpp"

#include <dlfcn.h>

#include <cstring>
#include <utility>

#include "host/worker/sha256.hpp"

namespace sluice::worker {

namespace {

constexpr std::uint32_t kPluginsMax = 256;
constexpr std::uint32_t kKeysMax = 4096;
constexpr std::uint32_t kAliasesMax = 256;

std::string version_text(std::uint32_t major, std::uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string host_abi() {
  return version_text(SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR);
}

Error broken(const std::string& file, const std::string& why) {
  return Error{ErrorCode::Plugin, "plugin file: " + file + ": " + why};
}

/// The elements of an array whose stride is its first element's `size`.
template <typename T>
Result<std::vector<const T*>> elements(const T* first, std::uint32_t count, std::uint32_t count_max,
                                       const std::string& file, const char* what) {
  std::vector<const T*> pointers;
  if (count == 0) return pointers;
  if (first == nullptr || count > count_max) {
    return broken(file, std::string{what} + ": the count does not fit the array");
  }
  const std::uint32_t stride = first->size;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto* element =
        reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + std::size_t{i} * stride);
    if (element->size != stride || stride < sizeof(T)) {
      return broken(file, std::string{what} + ": a struct is smaller than ABI " +
                              version_text(SLUICE_ABI_MAJOR, 0) + " says");
    }
    pointers.push_back(element);
  }
  return pointers;
}

bool is_name(const char* text) {
  return text != nullptr && *text != '\0' &&
         text[std::strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0';
}

bool fits_kind(const sluice_descriptor& descriptor) {
  return descriptor.kind == SLUICE_KIND_SINK || descriptor.kind == SLUICE_KIND_PROCESSOR;
}

Result<> check_key(const sluice_config_key& key, const std::string& plugin,
                   const std::string& file) {
  if (!is_name(key.name)) return broken(file, plugin + ": a configuration key has no valid name");
  const auto wrong = [&](const char* why) {
    return broken(file, plugin + ": key " + key.name + ": " + why);
  };
  if (key.doc == nullptr || *key.doc == '\0') return wrong("has no documentation");
  if (key.type < SLUICE_TYPE_STRING || key.type > SLUICE_TYPE_SECRET) {
    return wrong("has a type that this host does not know");
  }
  if (key.choice_count > 0 && key.choices == nullptr) return wrong("its choices are missing");
  if (key.type == SLUICE_TYPE_ENUM && key.choice_count == 0) return wrong("has no choices");
  for (std::uint32_t i = 0; i < key.choice_count; ++i) {
    if (key.choices[i] == nullptr) return wrong("one of its choices is null");
  }
  if (key.dependent_count > 0 && key.dependents == nullptr)
    return wrong("its dependents are missing");
  for (std::uint32_t i = 0; i < key.dependent_count; ++i) {
    if (key.dependents[i] == nullptr) return wrong("one of its dependents is null");
  }
  return {};
}

Result<> check_alias(const sluice_alias& alias, const std::string& plugin,
                     const std::string& file) {
  if (alias.name == nullptr || *alias.name == '\0') {
    return broken(file, plugin + ": an alias has no name");
  }
  if (alias.preset_count > 0 && alias.presets == nullptr) {
    return broken(file, plugin + ": alias " + alias.name + ": its presets are missing");
  }
  for (std::uint32_t i = 0; i < alias.preset_count; ++i) {
    if (alias.presets[i].key == nullptr || alias.presets[i].value == nullptr) {
      return broken(file, plugin + ": alias " + alias.name + ": one of its presets is null");
    }
  }
  return {};
}

Result<PluginModule::Plugin> check_plugin(const sluice_descriptor* descriptor,
                                          const std::string& file) {
  if (descriptor == nullptr || descriptor->size < sizeof(sluice_descriptor)) {
    return broken(file, "a plugin's descriptor is null or too small");
  }
  if (!is_name(descriptor->name)) return broken(file, "a plugin has no valid name");
  const std::string name = descriptor->name;
  if (!fits_kind(*descriptor)) return broken(file, name + ": is neither a sink nor a processor");
  if (descriptor->version == nullptr || *descriptor->version == '\0') {
    return broken(file, name + ": has no version");
  }
  if (descriptor->create == nullptr) return broken(file, name + ": has no create function");
  auto keys = elements(descriptor->keys, descriptor->key_count, kKeysMax, file, "keys");
  if (!keys) return keys.error();
  for (const sluice_config_key* key : *keys) SLUICE_TRY(check_key(*key, name, file));
  auto aliases =
      elements(descriptor->aliases, descriptor->alias_count, kAliasesMax, file, "aliases");
  if (!aliases) return aliases.error();
  for (const sluice_alias* alias : *aliases) SLUICE_TRY(check_alias(*alias, name, file));
  return PluginModule::Plugin{descriptor, std::move(*keys), std::move(*aliases)};
}

}  // namespace

Result<PluginModule> PluginModule::check(const sluice_module* module, const std::string& file) {
  if (module == nullptr || module->size < sizeof(sluice_module) || module->magic != SLUICE_MAGIC) {
    return broken(file, std::string{SLUICE_MODULE_SYMBOL} +
                            " answers no Sluice module: the file is damaged, or no plugin");
  }
  const std::string made_for = version_text(module->abi_major, module->abi_minor);
  if (module->abi_major != SLUICE_ABI_MAJOR) {
    return Error{ErrorCode::Incompatible, "plugin file: " + file + ": made for plugin ABI " +
                                              made_for + ", this host speaks " + host_abi() +
                                              "; install a build of the plugin for major " +
                                              std::to_string(SLUICE_ABI_MAJOR)};
  }
  if (module->needs_minor > SLUICE_ABI_MINOR) {
    return Error{ErrorCode::Incompatible,
                 "plugin file: " + file + ": made for plugin ABI " + made_for +
                     ", needs at least " + version_text(module->abi_major, module->needs_minor) +
                     ", this host speaks " + host_abi() + "; update Sluice"};
  }
  if (module->plugin_count == 0 || module->plugin_count > kPluginsMax ||
      module->plugins == nullptr) {
    return broken(file, "holds no plugin");
  }
  PluginModule checked{module};
  for (std::uint32_t i = 0; i < module->plugin_count; ++i) {
    auto plugin = check_plugin(module->plugins[i], file);
    if (!plugin) return plugin.error();
    checked.plugins_.push_back(std::move(*plugin));
  }
  return checked;
}

Result<PluginModule> load_module(const std::string& file) {
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return broken(file, std::string{"cannot be loaded: "} + (why == nullptr ? "no reason" : why));
  }
  // The cast that POSIX requires to work for dlsym.
  const auto module_v1 =
      reinterpret_cast<sluice_module_function>(::dlsym(handle, SLUICE_MODULE_SYMBOL));
  if (module_v1 == nullptr) {
    return broken(file, std::string{"does not export "} + SLUICE_MODULE_SYMBOL +
                            ": it is no Sluice plugin, or made for another major of the plugin ABI"
                            " (this host speaks " +
                            host_abi() + ")");
  }
  return PluginModule::check(module_v1(), file);
}

Result<PluginModule> load_pinned_module(const std::string& file, std::string_view sha256) {
  const auto digest = sha256_of_file(file);
  if (!digest) return digest.error();
  if (*digest != sha256) {
    return broken(file, "its SHA-256 is " + *digest + ", the job is pinned to " +
                            std::string{sha256} +
                            ": the file was changed; restore it, or swap the job to it");
  }
  return load_module(file);
}

Result<PluginChoice> find_plugin(const PluginModule& module, std::string_view type,
                                 sluice_kind kind, const std::string& file) {
  for (const PluginModule::Plugin& plugin : module.plugins()) {
    if (plugin.descriptor->kind != kind) continue;
    if (type == plugin.descriptor->name) return PluginChoice{&plugin, nullptr};
    for (const sluice_alias* alias : plugin.aliases) {
      if (type == alias->name) return PluginChoice{&plugin, alias};
    }
  }
  return broken(file, "holds no " + std::string{kind_name(kind)} + " named " + std::string{type});
}

std::string_view kind_name(sluice_kind kind) {
  return kind == SLUICE_KIND_SINK ? "sink" : "processor";
}

}  // namespace sluice::worker
