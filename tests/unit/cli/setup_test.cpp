// Which folders are searched for plugins, by where `sluice` itself stands.
#include "host/cli/setup.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "unit/temporary_folder.hpp"

namespace sluice::cli {
namespace {

bool has(const Folders& folders, const std::filesystem::path& folder) {
  return std::find(folders.begin(), folders.end(), folder) != folders.end();
}

}  // namespace

TEST_CASE("plugins are found beside the sluice of any prefix", "[cli]") {
  const TemporaryFolder prefix;
  const auto installed = prefix.path() / "lib/sluice/plugins";
  CHECK_FALSE(has(built_in_plugin_folders(prefix.path() / "bin"), installed));
  std::filesystem::create_directories(installed);
  CHECK(has(built_in_plugin_folders(prefix.path() / "bin"), installed));
}

TEST_CASE("a build's plugins come before installed ones", "[cli]") {
  const TemporaryFolder prefix;
  std::filesystem::create_directories(prefix.path() / "plugins");
  std::filesystem::create_directories(prefix.path() / "lib/sluice/plugins");
  const auto folders = built_in_plugin_folders(prefix.path() / "bin");
  REQUIRE(folders.size() >= 2);
  CHECK(folders[0] == prefix.path() / "plugins");
  CHECK(folders[1] == prefix.path() / "lib/sluice/plugins");
}

TEST_CASE("a folder is searched once, whatever its names", "[cli]") {
  const TemporaryFolder prefix;
  std::filesystem::create_directories(prefix.path() / "lib/sluice/plugins");
  std::filesystem::create_directory_symlink("lib/sluice/plugins", prefix.path() / "plugins");
  const auto folders = built_in_plugin_folders(prefix.path() / "bin");
  CHECK(has(folders, prefix.path() / "plugins"));
  CHECK_FALSE(has(folders, prefix.path() / "lib/sluice/plugins"));
}

}  // namespace sluice::cli
