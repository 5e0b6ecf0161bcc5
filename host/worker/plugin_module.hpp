// A plugin file in this process. load_module() is the only dlopen of the product: RTLD_NOW (a
// missing symbol is a message at load, not a crash in the middle of a slice), RTLD_LOCAL (plugins
// of one chain never see each other's symbols), never dlclose (threads, thread-locals and views
// into the image may outlive every instance; sdk-facts 3.1, 3.2).
//
// What a module says about itself is checked here once (sdk.md 5.7), so that the code behind reads
// descriptors without looking at sizes, null texts or strides again.
#pragma once

#include <sluice/abi.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::worker {

/// A checked module, with the arrays of the ABI (whose stride is their first element's size) turned
/// into arrays of pointers. Valid for the life of the process.
class PluginModule {
 public:
  struct Plugin {
    const sluice_descriptor* descriptor = nullptr;
    std::vector<const sluice_config_key*> keys;
    std::vector<const sluice_alias*> aliases;
  };

  /// Checks what a module function returned; `file` only names it in errors.
  static Result<PluginModule> check(const sluice_module* module, const std::string& file);

  const sluice_module& module() const { return *module_; }
  const std::vector<Plugin>& plugins() const { return plugins_; }

 private:
  explicit PluginModule(const sluice_module* module) : module_{module} {}

  const sluice_module* module_;
  std::vector<Plugin> plugins_;
};

/// One plugin of a file, as a job names it: by its name, or by an alias, which presets keys.
struct PluginChoice {
  const PluginModule::Plugin* plugin = nullptr;
  const sluice_alias* alias = nullptr;
};

/// Loads a file. Static initialisers run here: a file that crashes in one takes the process along.
Result<PluginModule> load_module(const std::string& file);

/// As load_module, for a file whose digest must be `sha256`.
Result<PluginModule> load_pinned_module(const std::string& file, std::string_view sha256);

/// The plugin `type` of `kind` in the module. `file` only names it in errors.
Result<PluginChoice> find_plugin(const PluginModule& module, std::string_view type,
                                 sluice_kind kind, const std::string& file);

std::string_view kind_name(sluice_kind kind);

}  // namespace sluice::worker
