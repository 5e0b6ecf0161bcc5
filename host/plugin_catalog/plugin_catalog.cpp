#include "host/plugin_catalog/plugin_catalog.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "host/base/nearest_name.hpp"
#include "host/worker/sha256.hpp"
#include "ipc/owned_fd.hpp"

namespace sluice::catalog {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::string_view kind_name(PluginKind kind) {
  return kind == PluginKind::Sink ? "sink" : "processor";
}

std::string read_text(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Durable under its final name or not there at all.
Result<> write_durably(const fs::path& file, std::string_view bytes, mode_t mode) {
  const auto temporary = file.string() + ".new";
  ipc::OwnedFd out{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)};
  if (!out) return io_error("create", temporary, errno);
  while (!bytes.empty()) {
    const auto size = ::write(out.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error("write", temporary, errno);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::fsync(out.get()) != 0) return io_error("fsync", temporary, errno);
  if (::rename(temporary.c_str(), file.c_str()) != 0) return io_error("rename", temporary, errno);
  const auto parent = file.parent_path();
  const ipc::OwnedFd folder{::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!folder || ::fsync(folder.get()) != 0) return io_error("fsync", parent.string(), errno);
  return {};
}

Result<> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return Error{ErrorCode::Io, "create folder: " + folder.string() + ": " + error.message()};
}

/// A fifo named x.so would hold up whoever opens it. A link to nowhere is kept, to be listed
/// broken.
bool may_be_plugin(const fs::directory_entry& entry) {
  std::error_code error;
  if (entry.path().extension() != ".so") return false;
  return entry.is_regular_file(error) || (entry.is_symlink(error) && !entry.exists(error));
}

std::vector<fs::path> plugin_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  // By hand: ++ of a range-for throws when a folder goes away meanwhile.
  fs::recursive_directory_iterator entry{folder, fs::directory_options::skip_permission_denied,
                                         error};
  for (; !error && entry != fs::recursive_directory_iterator{}; entry.increment(error)) {
    if (may_be_plugin(*entry)) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// "1.10.0" after "1.9.2": by numbers, where both have them.
bool is_newer(std::string_view left, std::string_view right) {
  std::istringstream a{std::string{left}};
  std::istringstream b{std::string{right}};
  for (std::string x, y; std::getline(a, x, '.') && std::getline(b, y, '.');) {
    if (x == y) continue;
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  }
  return left.size() > right.size();
}

}  // namespace

Result<PluginFile> PluginCatalog::describe(const fs::path& path) {
  const auto digest = worker::sha256_of_file(path.string());
  if (!digest) return digest.error();
  const auto cache = options_.state_dir / "plugins" / "described";
  if (auto file = parse_description(read_text(cache / (*digest + ".json")), path)) return file;
  if (const auto known = broken_.find(*digest); known != broken_.end()) return known->second;
  auto answer = call_worker(options_.worker_executable, {"--describe", path.string()}, {},
                            options_.call_limit);
  if (!answer) return broken_.emplace(*digest, answer.error()).first->second;
  auto file = parse_description(*answer, path);
  if (file && file->sha256 != *digest) {
    return Error{ErrorCode::Plugin, "it changed while it was looked at; try again"};
  }
  // The cache saves a process start next time; without it everything works.
  if (file && make_folder(cache)) {
    static_cast<void>(write_durably(cache / (file->sha256 + ".json"), *answer, 0600));
  }
  return file;
}

Listing PluginCatalog::list() {
  Listing listing;
  for (const auto& folder : options_.folders) {
    for (const auto& path : plugin_files_in(folder)) {
      auto file = describe(path);
      if (file) {
        listing.files.push_back(*std::move(file));
      } else {
        listing.broken.push_back({path, file.error().message()});
      }
    }
  }
  return listing;
}

Result<FoundPlugin> PluginCatalog::find(PluginKind kind, std::string_view type,
                                        std::string_view version) {
  const auto listing = list();
  const DescribedPlugin* best = nullptr;
  const PluginFile* best_file = nullptr;
  for (const auto& file : listing.files) {
    for (const auto& plugin : file.plugins) {
      if (plugin.kind != kind || !plugin.answers_to(type)) continue;
      if (!version.empty() && plugin.version != version) continue;
      if (best != nullptr && !is_newer(plugin.version, best->version)) continue;
      best = &plugin;
      best_file = &file;
    }
  }
  if (best == nullptr) return not_found(kind, type, version, listing);
  return FoundPlugin{*best_file, *best};
}

Error PluginCatalog::not_found(PluginKind kind, std::string_view type, std::string_view version,
                               const Listing& listing) const {
  std::string why = std::string{kind_name(kind)} + " " + std::string{type} +
                    (version.empty() ? "" : " " + std::string{version}) + ": no such plugin";
  std::vector<std::string_view> names;
  for (const auto& file : listing.files) {
    for (const auto& plugin : file.plugins) {
      if (plugin.answers_to(type) && plugin.kind == kind) {
        why += "; version " + plugin.version + " is there";
      } else if (plugin.answers_to(type)) {
        why += "; it is a " + std::string{kind_name(plugin.kind)};
      }
      if (plugin.kind == kind) names.push_back(plugin.name);
    }
  }
  if (const auto nearest = nearest_name(type, names); !nearest.empty() && nearest != type) {
    why += "; did you mean " + std::string{nearest} + "?";
  }
  for (const auto& broken : listing.broken) {
    why += "; " + broken.path.string() + " is broken: " + broken.reason;
  }
  if (options_.folders.empty()) {
    why +=
        "; there is no folder of plugins; name one with plugin.path, or sluice run --plugin-path";
  } else {
    why += "; folders:";
    for (const auto& folder : options_.folders) why += " " + folder.string();
  }
  return Error{ErrorCode::Configuration, std::move(why)};
}

Result<std::vector<PluginProblem>> PluginCatalog::validate(
    const std::vector<PluginToCheck>& plugins) {
  json::array list;
  for (const auto& plugin : plugins) {
    json::object config;
    for (const auto& [key, value] : plugin.config) config[key] = value;
    list.push_back({{"type", plugin.type},
                    {"alias", plugin.alias},
                    {"kind", kind_name(plugin.kind)},
                    {"file", plugin.file.string()},
                    {"config", std::move(config)}});
  }
  const auto request = json::serialize(json::object{{"plugins", std::move(list)}});
  const auto answer =
      call_worker(options_.worker_executable, {"--validate"}, request, options_.call_limit);
  if (!answer) return answer.error().with_context("check of the plugins' keys");
  std::vector<PluginProblem> problems;
  try {
    const auto document = json::parse(*answer);
    for (const auto& error : document.at("errors").as_array()) {
      problems.push_back({json::value_to<std::string>(error.at("plugin")),
                          json::value_to<std::string>(error.at("key")),
                          json::value_to<std::string>(error.at("message"))});
    }
  } catch (const std::exception& error) {
    return Error{ErrorCode::Plugin, "check of the plugins' keys: the answer cannot be read: " +
                                        std::string{error.what()}};
  }
  return problems;
}

Result<fs::path> PluginCatalog::pin(const PluginFile& file) {
  // Workers take no name that depends on where a process stands.
  std::error_code error;
  const auto state_dir = fs::absolute(options_.state_dir, error);
  if (error)
    return Error{ErrorCode::Io, "pin: " + options_.state_dir.string() + ": " + error.message()};
  const auto folder = state_dir / "plugins" / file.sha256;
  auto pinned = folder / file.path.filename();
  const auto digest = worker::sha256_of_file(pinned.string());
  if (digest && *digest == file.sha256) return pinned;
  SLUICE_TRY(make_folder(folder));
  const auto staged = folder / (file.path.filename().string() + ".staged");
  SLUICE_TRY(write_durably(staged, read_text(file.path), 0500));
  const auto copied = worker::sha256_of_file(staged.string());
  if (!copied) return copied.error();
  if (*copied != file.sha256) {
    fs::remove(staged, error);
    return Error{ErrorCode::Plugin, "pin: " + file.path.string() +
                                        ": the file changed while it was looked at; try again"};
  }
  fs::rename(staged, pinned, error);
  if (error) return Error{ErrorCode::Io, "pin: " + pinned.string() + ": " + error.message()};
  return pinned;
}

}  // namespace sluice::catalog
