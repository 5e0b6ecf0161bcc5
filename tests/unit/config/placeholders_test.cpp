#include "host/config/placeholders.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "unit/temporary_folder.hpp"

namespace sluice::config {
namespace {

Environment fixed(std::map<std::string, std::string> variables,
                  std::map<std::string, std::string> files) {
  const auto look = [](const auto& map, std::string_view key) -> std::optional<std::string> {
    const auto found = map.find(std::string{key});
    return found == map.end() ? std::nullopt : std::optional{found->second};
  };
  return Environment{
      [=](std::string_view name) { return look(variables, name); },
      [=](std::string_view path) -> Result<std::string> {
        if (auto text = look(files, path)) return *std::move(text);
        return Error{ErrorCode::Io, "open: " + std::string{path} + ": No such file or directory"};
      }};
}

const Environment kNone = fixed({}, {});

}  // namespace

TEST_CASE("a text without a placeholder comes back as it is", "[config]") {
  for (const std::string text :
       {"", "plain", "$x", "${", "${topic}", "a ${topic} b}", "{env:X}", "${:x}", "${ env:X}"}) {
    CAPTURE(text);
    CHECK_FALSE(has_placeholder(text));
    CHECK(resolve_placeholders(text, kNone).value() == text);
  }
}

TEST_CASE("placeholders are replaced inside their text, and not once more", "[config]") {
  const Environment environment =
      fixed({{"A", "${env:B}"}, {"B", "b"}, {"CREDENTIALS_DIRECTORY", "/c"}},
            {{"/c/db", "s3cret\n"}, {"/p:q", "# x\nuser = u\npass=p = q \n"}});
  CHECK(resolve_placeholders("<${env:B}|${env:A}>", environment).value() == "<b|${env:B}>");
  CHECK(resolve_placeholders("${credential:db}", environment).value() == "s3cret");
  CHECK(resolve_placeholders("${file:/p:q:pass}", environment).value() == "p = q");
  CHECK(resolve_placeholders("${topic}-${env:B}", environment).value() == "${topic}-b");
}

TEST_CASE("a placeholder that leads nowhere is an error that names it", "[config]") {
  const Environment environment =
      fixed({{"CREDENTIALS_DIRECTORY", "/c"}}, {{"/p", "user=s3cret\n"}});
  const auto error = [&](const char* text) {
    return resolve_placeholders(text, environment).error().message();
  };
  CHECK(error("${env:A}") == "${env:A}: the environment has no such variable");
  CHECK(error("${file:/p:x}") == "${file:/p:x}: the file has no such key");
  CHECK(error("${file:/p}") == "${file:/p}: write ${file:/path:key}");
  CHECK(error("${file:/q:x}") == "${file:/q:x}: open: /q: No such file or directory");
  CHECK(error("${credential:a}") == "${credential:a}: open: /c/a: No such file or directory");
  CHECK(error("${credential:../a}") == "${credential:../a}: a credential's name has no / in it");
  CHECK(error("${vault:a}") == "${vault:a}: unknown kind; known are env, file and credential");
  CHECK(resolve_placeholders("${credential:a}", kNone).error().message() ==
        "${credential:a}: CREDENTIALS_DIRECTORY is not set; add LoadCredential= to the service");
}

TEST_CASE("the process's environment reads variables and files", "[config]") {
  const TemporaryFolder folder;
  const auto file = folder.write("secrets.properties", "password=geheim\n");
  const Environment environment = Environment::of_process();
  CHECK(resolve_placeholders("${file:" + file.string() + ":password}", environment).value() ==
        "geheim");
  CHECK(environment.variable("PATH").has_value());
  CHECK_FALSE(environment.variable("SLUICE_NO_SUCH_VARIABLE"));
  const auto big = folder.write("big", std::string((1U << 20) + 1, 'x'));
  CHECK_FALSE(environment.file(big.string()).has_value());
}

}  // namespace sluice::config
