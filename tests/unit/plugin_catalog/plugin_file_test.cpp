// A description comes from a process that ran foreign code: it is read as bytes from outside.
#include "host/plugin_catalog/plugin_file.hpp"

#include <catch2/catch.hpp>

namespace sluice::catalog {
namespace {

const std::string kDigest(64, 'a');

std::string description(const std::string& sha256, const std::string& plugins) {
  return R"({"sha256":")" + sha256 + R"(","plugins":[)" + plugins + "]}";
}

const std::string kPlugin = R"({"name":"file","kind":"sink","version":"1.2.0","summary":"Lines",)"
                            R"("capabilities":["idempotent"],)"
                            R"("aliases":[{"name":"FileStreamSink","presets":{"format":"raw"}}],)"
                            R"("keys":[{"name":"file"},{"name":"format"}]})";

bool refused(const std::string& text) {
  return !parse_description(text, "/p.so").has_value();
}

}  // namespace

TEST_CASE("a description gives names, aliases with their presets, keys and digest",
          "[plugin_catalog]") {
  const auto file = parse_description(description(kDigest, kPlugin), "/p.so").value();
  CHECK(file.path == "/p.so");
  CHECK(file.sha256 == kDigest);
  REQUIRE(file.plugins.size() == 1);
  const DescribedPlugin& plugin = file.plugins[0];
  CHECK(plugin.kind == PluginKind::Sink);
  CHECK(plugin.version == "1.2.0");
  CHECK(plugin.keys == std::vector<std::string>{"file", "format"});
  CHECK(plugin.capabilities == std::vector<std::string>{"idempotent"});
  CHECK(plugin.answers_to("file"));
  CHECK(plugin.answers_to("FileStreamSink"));
  CHECK_FALSE(plugin.answers_to("File"));
  CHECK(plugin.aliases[0].presets.at("format") == "raw");
}

TEST_CASE("a description that lacks what a pin needs is refused", "[plugin_catalog]") {
  CHECK(refused(""));
  CHECK(refused("[]"));
  CHECK(refused("{}"));
  CHECK(refused(description(kDigest, "")));
  CHECK(refused(description("abc", kPlugin)));
  CHECK(refused(description(kDigest, R"({"name":"file","kind":"source"})")));
  CHECK(refused(description(kDigest, R"({"kind":"sink"})")));
  CHECK(refused(description(kDigest, R"({"name":7,"kind":"sink"})")));
  CHECK(refused(description(kDigest, kPlugin).substr(0, 100)));
}

TEST_CASE("a digest that could leave the state directory as a path is refused",
          "[plugin_catalog]") {
  std::string traversal = "../../../../";
  traversal.resize(64, 'a');
  CHECK(refused(description(traversal, kPlugin)));
  CHECK(refused(description(std::string(64, 'A'), kPlugin)));
}

}  // namespace sluice::catalog
