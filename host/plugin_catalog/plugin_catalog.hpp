// Which plugins there are: the .so files of the plugin folders, described by a worker process,
// found by name, alias or Connect's class, checked against a job's keys, and pinned: copied by
// digest into the state directory, so that neither `cp new.so old.so` nor a removed package changes
// what a job runs (sdk.md, "Hot swap semantics"). Descriptions are cached by digest in the state
// directory.
//
// A file that cannot be loaded is listed with its reason and disturbs no other. Folders are looked
// at when somebody asks, so a file that was dropped in is seen without a restart.
// Blocks for process starts; one thread; not for the loop.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"
#include "host/plugin_catalog/plugin_file.hpp"
#include "host/plugin_catalog/worker_call.hpp"

namespace sluice::catalog {

struct CatalogOptions {
  std::vector<std::filesystem::path> folders;  ///< searched in order; the first file of a name wins
  std::filesystem::path worker_executable;
  std::filesystem::path state_dir;
  std::chrono::milliseconds call_limit = kWorkerCallLimit;  ///< for one question to a worker
};

struct BrokenFile {
  std::filesystem::path path;
  std::string reason;
};

struct Listing {
  std::vector<PluginFile> files;
  std::vector<BrokenFile> broken;
};

struct FoundPlugin {
  PluginFile file;
  DescribedPlugin plugin;
};

/// A plugin with the keys that a job gives it; `type` as the job wrote it (a name or an alias).
struct PluginToCheck {
  PluginKind kind = PluginKind::Sink;
  std::string type;
  std::string alias;
  std::filesystem::path file;
  std::map<std::string, std::string> config;
};

struct PluginProblem {
  std::string alias;  ///< of the PluginToCheck
  std::string key;    ///< empty: the plugin as a whole
  std::string message;
};

class PluginCatalog {
 public:
  explicit PluginCatalog(CatalogOptions options) : options_{std::move(options)} {}

  Listing list();
  /// `version` empty: the newest. The Error names the nearest name, or why the file is broken.
  Result<FoundPlugin> find(PluginKind kind, std::string_view type, std::string_view version);
  /// Empty when every plugin accepts its keys.
  Result<std::vector<PluginProblem>> validate(const std::vector<PluginToCheck>& plugins);
  /// Copies the described bytes to STATE/plugins/SHA256/NAME and returns that path.
  Result<std::filesystem::path> pin(const PluginFile& file);

 private:
  Result<PluginFile> describe(const std::filesystem::path& path);
  Error not_found(PluginKind kind, std::string_view type, std::string_view version,
                  const Listing& listing) const;

  CatalogOptions options_;
  /// By digest, why: every job's start looks at every file, and one that hangs costs call_limit.
  std::map<std::string, Error> broken_;
};

}  // namespace sluice::catalog
