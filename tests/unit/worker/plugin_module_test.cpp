#include "host/worker/plugin_module.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "unit/worker/fixture_module.hpp"

namespace sluice::worker {
namespace {

std::string refusal(const sluice_module* module) {
  const auto checked = PluginModule::check(module, "/p/x.so");
  REQUIRE(checked.has_error());
  return checked.error().message();
}

}  // namespace

TEST_CASE("a module that keeps the rules is accepted with all its plugins", "[worker]") {
  const fixture::Module fixture;
  const auto checked = PluginModule::check(&fixture.module, "/p/x.so");
  REQUIRE(checked.has_value());
  REQUIRE(checked->plugins().size() == 2);
  CHECK(checked->plugins()[0].keys.size() == fixture.keys.size());
  CHECK(checked->plugins()[0].aliases.size() == 1);
}

TEST_CASE("a module of another major, or that needs a newer minor, is refused with one sentence",
          "[worker]") {
  fixture::Module fixture;
  fixture.module.abi_major = 2;
  CHECK(refusal(&fixture.module) ==
        "plugin file: /p/x.so: made for plugin ABI 2.0, this host speaks 1.0; install a build of "
        "the plugin for major 1");
  fixture.module.abi_major = 1;
  fixture.module.abi_minor = 7;
  CHECK(PluginModule::check(&fixture.module, "/p/x.so").has_value());
  fixture.module.needs_minor = 3;
  CHECK(refusal(&fixture.module) ==
        "plugin file: /p/x.so: made for plugin ABI 1.7, needs at least 1.3, this host speaks 1.0; "
        "update Sluice");
}

TEST_CASE("what is no module at all is refused before anything else of it is read", "[worker]") {
  fixture::Module fixture;
  CHECK_THAT(refusal(nullptr), Catch::Contains("answers no Sluice module"));
  fixture.module.magic = 0;
  CHECK_THAT(refusal(&fixture.module), Catch::Contains("answers no Sluice module"));
  fixture.module.magic = SLUICE_MAGIC;
  fixture.module.size = 8;
  CHECK_THAT(refusal(&fixture.module), Catch::Contains("answers no Sluice module"));
}

TEST_CASE("a descriptor with a hole in it is refused, naming the plugin and the key", "[worker]") {
  const auto broken = [](auto&& damage) {
    fixture::Module fixture;
    damage(fixture);
    return refusal(&fixture.module);
  };
  CHECK(broken([](auto& f) { f.module.plugin_count = 0; }) ==
        "plugin file: /p/x.so: holds no plugin");
  CHECK(broken([](auto& f) { f.plugins[1] = nullptr; }) ==
        "plugin file: /p/x.so: a plugin's descriptor is null or too small");
  CHECK(broken([](auto& f) { f.sink.name = nullptr; }) ==
        "plugin file: /p/x.so: a plugin has no valid name");
  CHECK(broken([](auto& f) { f.sink.name = "My Sink"; }) ==
        "plugin file: /p/x.so: a plugin has no valid name");
  CHECK(broken([](auto& f) { f.sink.kind = 3; }) ==
        "plugin file: /p/x.so: file: is neither a sink nor a processor");
  CHECK(broken([](auto& f) { f.sink.version = ""; }) ==
        "plugin file: /p/x.so: file: has no version");
  CHECK(broken([](auto& f) { f.sink.create = nullptr; }) ==
        "plugin file: /p/x.so: file: has no create function");
  CHECK(broken([](auto& f) { f.sink.keys = nullptr; }) ==
        "plugin file: /p/x.so: keys: the count does not fit the array");
  CHECK(broken([](auto& f) { f.keys[1].size = 16; }) ==
        "plugin file: /p/x.so: keys: a struct is smaller than ABI 1.0 says");
  CHECK(broken([](auto& f) { f.keys[2].doc = nullptr; }) ==
        "plugin file: /p/x.so: file: key timeout: has no documentation");
  CHECK(broken([](auto& f) { f.keys[2].type = 11; }) ==
        "plugin file: /p/x.so: file: key timeout: has a type that this host does not know");
  CHECK(broken([](auto& f) { f.keys[1].choice_count = 0; }) ==
        "plugin file: /p/x.so: file: key format: has no choices");
  CHECK(broken([](auto& f) { f.aliases[0].name = nullptr; }) ==
        "plugin file: /p/x.so: file: an alias has no name");
}

TEST_CASE("keys of a later minor are read with their own stride", "[worker]") {
  struct LaterKey {
    sluice_config_key known;
    std::uint64_t appended = ~std::uint64_t{0};
  };
  LaterKey keys[2];
  keys[0].known = fixture::key("a", SLUICE_TYPE_INT);
  keys[1].known = fixture::key("b", SLUICE_TYPE_INT);
  for (LaterKey& key : keys) key.known.size = sizeof(LaterKey);
  fixture::Module fixture;
  fixture.sink.keys = &keys[0].known;
  fixture.sink.key_count = 2;
  const auto checked = PluginModule::check(&fixture.module, "/p/x.so");
  REQUIRE(checked.has_value());
  CHECK(checked->plugins()[0].keys[1]->name == std::string{"b"});
}

TEST_CASE("a plugin is found by name or alias, and only as the kind that is asked for",
          "[worker]") {
  const fixture::Module fixture;
  const auto module = PluginModule::check(&fixture.module, "/p/x.so");
  REQUIRE(module.has_value());
  CHECK(find_plugin(*module, "file", SLUICE_KIND_SINK, "/p/x.so")->alias == nullptr);
  CHECK(find_plugin(*module, "FileStreamSink", SLUICE_KIND_SINK, "/p/x.so")->alias ==
        fixture.aliases.data());
  const auto wrong_kind = find_plugin(*module, "file", SLUICE_KIND_PROCESSOR, "/p/x.so");
  REQUIRE(wrong_kind.has_error());
  CHECK(wrong_kind.error().message() == "plugin file: /p/x.so: holds no processor named file");
}

TEST_CASE("a file that is no shared object, or no plugin, is refused with its name", "[worker]") {
  const auto no_object = load_module("/proc/self/cmdline");
  REQUIRE(no_object.has_error());
  CHECK_THAT(no_object.error().message(),
             Catch::StartsWith("plugin file: /proc/self/cmdline: cannot be loaded: "));
  const auto no_plugin = load_module("libm.so.6");
  REQUIRE(no_plugin.has_error());
  CHECK_THAT(no_plugin.error().message(), Catch::Contains("does not export sluice_module_v1"));
}

TEST_CASE("a file whose digest is not the pinned one is not loaded", "[worker]") {
  const auto changed = load_pinned_module("/proc/self/cmdline", std::string(64, '0'));
  REQUIRE(changed.has_error());
  CHECK_THAT(changed.error().message(), Catch::Contains("the job is pinned to 0000"));
  CHECK(load_pinned_module("/nowhere.so", std::string(64, '0')).error().message() ==
        "plugin file: cannot be opened: /nowhere.so: No such file or directory");
}

}  // namespace sluice::worker
