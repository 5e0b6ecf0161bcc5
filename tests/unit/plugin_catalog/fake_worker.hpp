// A sluice-worker of a test's own making: a shell script that, asked to --describe FILE, runs FILE
// as a script. So a "plugin" here is what a real one would make the worker do: answer, complain,
// crash, hang. What it is given for --validate is kept in a file. How the real worker behaves is
// tested in host/worker; here it is what the host makes of any behaviour.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "host/plugin_catalog/plugin_catalog.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::catalog {

/// A description of one plugin, as the worker words it, with the digest of the file asked about.
inline std::string describes(const std::string& name, const std::string& version,
                             const std::string& kind = "sink") {
  return "sha=$(sha256sum \"$2\" | cut -c1-64)\n"
         "echo \"{\\\"sha256\\\":\\\"$sha\\\",\\\"plugins\\\":[{\\\"name\\\":\\\"" +
         name + "\\\",\\\"kind\\\":\\\"" + kind + "\\\",\\\"version\\\":\\\"" + version +
         "\\\",\\\"capabilities\\\":[],\\\"aliases\\\":[{\\\"name\\\":\\\"Alias" + name +
         "\\\",\\\"presets\\\":{\\\"format\\\":\\\"raw\\\"}}],"
         "\\\"keys\\\":[{\\\"name\\\":\\\"path\\\"}]}]}\"\n";
}

class FakeHost {
 public:
  FakeHost() {
    std::filesystem::create_directories(plugins());
    folder_.write("worker",
                  "#!/bin/sh\n"
                  "echo \"$1\" >> " +
                      path("calls") +
                      "\n"
                      "case \"$1\" in\n"
                      "  --describe) . \"$2\" ;;\n"
                      "  --validate) cat > " +
                      path("request") + "; cat " + path("answer") +
                      " ;;\n"
                      "esac\n");
    std::filesystem::permissions(worker(), std::filesystem::perms::owner_all);
  }

  std::filesystem::path plugin(const std::string& name, const std::string& script) const {
    return folder_.write("plugins/" + name, script);
  }
  void answer_validate_with(const std::string& text) const { folder_.write("answer", text); }
  std::string request() const { return text_of("request"); }
  /// How often the worker was started to describe a file.
  std::size_t describes_asked() const {
    const std::string calls = text_of("calls");
    std::size_t count = 0;
    for (std::size_t at = 0; (at = calls.find("--describe\n", at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  }

  std::filesystem::path plugins() const { return folder_.path() / "plugins"; }
  std::filesystem::path worker() const { return folder_.path() / "worker"; }
  std::filesystem::path state() const { return folder_.path() / "state"; }
  PluginCatalog catalog() const { return catalog_of({plugins()}); }
  /// Without a limit that a busy machine could reach.
  PluginCatalog catalog_of(std::vector<std::filesystem::path> folders) const {
    return PluginCatalog{{std::move(folders), worker(), state(), std::chrono::hours{1}}};
  }

 private:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string text_of(const std::string& name) const {
    std::ifstream in{path(name)};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  TemporaryFolder folder_;
};

}  // namespace sluice::catalog
