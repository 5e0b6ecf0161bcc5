// Case B24, without real plugins: broken files are listed with their reasons and disturb no other;
// what a job runs does not change when its file does.
#include "host/plugin_catalog/plugin_catalog.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "fake_worker.hpp"

namespace sluice::catalog {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

TEST_CASE("a broken file is listed with its reason, and the good one is usable",
          "[plugin_catalog]") {
  const FakeHost host;
  host.plugin("a_crash.so", "kill -SEGV $$");
  host.plugin("b_symbol.so", "echo 'undefined symbol: f' >&2; exit 1");
  host.plugin("c_text.so", "echo 'not JSON'");
  host.plugin("good.so", describes("good", "1.0.0"));
  host.plugin("readme.txt", "exit 1");
  PluginCatalog catalog = host.catalog();
  const Listing listing = catalog.list();
  REQUIRE(listing.files.size() == 1);
  CHECK(listing.files[0].path.filename() == "good.so");
  REQUIRE(listing.broken.size() == 3);
  CHECK(listing.broken[0].reason == "it crashed while it was loaded: Segmentation fault");
  CHECK(listing.broken[1].reason == "undefined symbol: f");
  CHECK(listing.broken[2].reason.find("its description cannot be read: ") == 0);
  CHECK(catalog.find(PluginKind::Sink, "good", "").has_value());
}

TEST_CASE("a file that hangs while it is loaded is waited for once, however many jobs start",
          "[plugin_catalog]") {
  const FakeHost host;
  host.plugin("a_crash.so", "kill -SEGV $$");
  host.plugin("good.so", describes("good", "1.0.0"));
  PluginCatalog catalog = host.catalog();
  for (int job = 0; job < 5; ++job) CHECK(catalog.find(PluginKind::Sink, "good", "").has_value());
  CHECK(host.describes_asked() == 2);
  REQUIRE(catalog.list().broken.size() == 1);
  CHECK(catalog.list().broken[0].reason == "it crashed while it was loaded: Segmentation fault");
  // Mended, it is another file.
  host.plugin("a_crash.so", describes("other", "1.0.0"));
  CHECK(catalog.find(PluginKind::Sink, "other", "").has_value());
}

TEST_CASE("what is no regular file is not waited for", "[plugin_catalog]") {
  const FakeHost host;
  REQUIRE(::mkfifo((host.plugins() / "pipe.so").c_str(), 0600) == 0);
  fs::create_directory(host.plugins() / "folder.so");
  fs::create_symlink("/nowhere/x.so", host.plugins() / "dangling.so");
  host.plugin("good.so", describes("good", "1.0.0"));
  PluginCatalog catalog = host.catalog();
  const Listing listing = catalog.list();
  CHECK(listing.files.size() == 1);
  REQUIRE(listing.broken.size() == 1);
  CHECK(listing.broken[0].path.filename() == "dangling.so");
}

TEST_CASE("a plugin is found by name and by alias, the newest version first", "[plugin_catalog]") {
  const FakeHost host;
  host.plugin("a.so", describes("file", "1.9.2"));
  host.plugin("b.so", describes("file", "1.10.0"));
  host.plugin("c.so", describes("filter", "1.0.0", "processor"));
  PluginCatalog catalog = host.catalog();
  CHECK(catalog.find(PluginKind::Sink, "file", "").value().plugin.version == "1.10.0");
  CHECK(catalog.find(PluginKind::Sink, "Aliasfile", "").value().plugin.name == "file");
  CHECK(catalog.find(PluginKind::Sink, "file", "1.9.2").value().file.path.filename() == "a.so");
  CHECK(catalog.find(PluginKind::Processor, "filter", "").has_value());
}

TEST_CASE("of equal versions the folder that is searched first wins", "[plugin_catalog]") {
  const FakeHost host;
  fs::create_directories(host.plugins() / "z" / "1.0.0");
  host.plugin("z/1.0.0/file.so", describes("file", "1.0.0"));
  host.plugin("a.so", describes("file", "1.0.0"));
  PluginCatalog catalog = host.catalog_of({host.plugins() / "z", host.plugins()});
  CHECK(catalog.find(PluginKind::Sink, "file", "").value().file.path ==
        host.plugins() / "z/1.0.0/file.so");
}

TEST_CASE("a plugin that is not found is answered with the nearest, the versions and the reasons",
          "[plugin_catalog]") {
  const FakeHost host;
  host.plugin("file.so", describes("file", "1.0.0"));
  PluginCatalog catalog = host.catalog();
  const std::string folders = "; folders: " + host.plugins().string();
  const auto why = [&](PluginKind kind, const char* type, const char* version) {
    const auto found = catalog.find(kind, type, version);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().code() == ErrorCode::Configuration);
    return found.error().message();
  };
  CHECK(why(PluginKind::Sink, "fiel", "") ==
        "sink fiel: no such plugin; did you mean file?" + folders);
  CHECK(why(PluginKind::Sink, "file", "2.0.0") ==
        "sink file 2.0.0: no such plugin; version 1.0.0 is there" + folders);
  CHECK(why(PluginKind::Processor, "file", "") ==
        "processor file: no such plugin; it is a sink" + folders);
  host.plugin("bad.so", "exit 3");
  CHECK(why(PluginKind::Sink, "bad", "") == "sink bad: no such plugin; " +
                                                (host.plugins() / "bad.so").string() +
                                                " is broken: exit code 3" + folders);
}

TEST_CASE("where there is no folder of plugins, the refusal says how to name one",
          "[plugin_catalog]") {
  const FakeHost host;
  const auto found = host.catalog_of({}).find(PluginKind::Sink, "file", "");
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().message() ==
        "sink file: no such plugin; there is no folder of plugins; name one with plugin.path, or "
        "sluice run --plugin-path");
}

TEST_CASE("a folder that is not there has no plugins", "[plugin_catalog]") {
  const FakeHost host;
  PluginCatalog catalog = host.catalog_of({"/nowhere"});
  CHECK(catalog.list().files.empty());
  CHECK(catalog.list().broken.empty());
}

TEST_CASE("a file is described once for its digest, and again when it has changed",
          "[plugin_catalog]") {
  const FakeHost host;
  host.plugin("file.so", describes("file", "1.0.0"));
  CHECK(host.catalog().list().files.size() == 1);
  CHECK(host.catalog().list().files.size() == 1);
  CHECK(host.describes_asked() == 1);
  host.plugin("file.so", describes("file", "2.0.0"));
  CHECK(host.catalog().find(PluginKind::Sink, "file", "").value().plugin.version == "2.0.0");
  CHECK(host.describes_asked() == 2);
}

TEST_CASE("a cached description that is torn is asked for again", "[plugin_catalog]") {
  const FakeHost host;
  host.plugin("file.so", describes("file", "1.0.0"));
  CHECK(host.catalog().list().files.size() == 1);
  for (const auto& entry : fs::directory_iterator{host.state() / "plugins" / "described"}) {
    std::ofstream{entry.path()} << "{\"sha";
  }
  CHECK(host.catalog().list().files.size() == 1);
  CHECK(host.describes_asked() == 2);
}

TEST_CASE("a description of other bytes than the file's is refused", "[plugin_catalog]") {
  const FakeHost host;
  // Its answer names the digest of another file, as if it had been replaced meanwhile.
  host.plugin("liar.so", "set -- --describe /bin/sh\n" + describes("liar", "1.0.0"));
  const Listing listing = host.catalog().list();
  CHECK(listing.files.empty());
  REQUIRE(listing.broken.size() == 1);
  CHECK(listing.broken[0].reason == "it changed while it was looked at; try again");
}

TEST_CASE("a pin is a copy by digest that outlives its file", "[plugin_catalog]") {
  const FakeHost host;
  const std::string text = describes("file", "1.0.0");
  const fs::path original = host.plugin("file.so", text);
  PluginCatalog catalog = host.catalog();
  const auto found = catalog.find(PluginKind::Sink, "file", "").value();
  const fs::path pinned = catalog.pin(found.file).value();
  CHECK(pinned == host.state() / "plugins" / found.file.sha256 / "file.so");
  fs::remove(original);
  CHECK(text_of(pinned) == text);
  // Nothing to copy any more, and nothing needed.
  CHECK(catalog.pin(found.file).value() == pinned);
}

TEST_CASE("a file that changed between describe and pin is not pinned", "[plugin_catalog]") {
  const FakeHost host;
  const fs::path original = host.plugin("file.so", describes("file", "1.0.0"));
  PluginCatalog catalog = host.catalog();
  const auto found = catalog.find(PluginKind::Sink, "file", "").value();
  host.plugin("file.so", describes("file", "6.6.6"));
  const auto pinned = catalog.pin(found.file);
  REQUIRE_FALSE(pinned.has_value());
  CHECK(pinned.error().message() ==
        "pin: " + original.string() + ": the file changed while it was looked at; try again");
  CHECK_FALSE(fs::exists(host.state() / "plugins" / found.file.sha256 / "file.so"));
}

TEST_CASE("a pinned copy that was damaged is copied again", "[plugin_catalog]") {
  const FakeHost host;
  const std::string text = describes("file", "1.0.0");
  host.plugin("file.so", text);
  PluginCatalog catalog = host.catalog();
  const auto found = catalog.find(PluginKind::Sink, "file", "").value();
  const fs::path pinned = catalog.pin(found.file).value();
  fs::permissions(pinned, fs::perms::owner_all);
  std::ofstream{pinned} << "damaged";
  CHECK(catalog.pin(found.file).value() == pinned);
  CHECK(text_of(pinned) == text);
}

TEST_CASE("validate hands every plugin's keys over and brings its problems back",
          "[plugin_catalog]") {
  const FakeHost host;
  host.answer_validate_with(
      R"({"errors":[{"plugin":"big","key":"value.size.min","message":"must be an integer"}]})");
  PluginToCheck plugin;
  plugin.kind = PluginKind::Processor;
  plugin.type = "filter";
  plugin.alias = "big";
  plugin.file = "/pinned/filter.so";
  plugin.config = {{"value.size.min", "x"}};
  PluginCatalog catalog = host.catalog();
  const auto problems = catalog.validate({plugin}).value();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].alias == "big");
  CHECK(problems[0].key == "value.size.min");
  CHECK(problems[0].message == "must be an integer");
  CHECK(host.request() == R"({"plugins":[{"type":"filter","alias":"big","kind":"processor",)"
                          R"("file":"/pinned/filter.so","config":{"value.size.min":"x"}}]})");
}

TEST_CASE("an answer to validate that makes no sense is an error, not a valid job",
          "[plugin_catalog]") {
  const FakeHost host;
  PluginCatalog catalog = host.catalog();
  for (const char* const text : {"", "{}", "{\"errors\":[7]}", "[]"}) {
    CAPTURE(text);
    host.answer_validate_with(text);
    CHECK_FALSE(catalog.validate({}).has_value());
  }
}

}  // namespace sluice::catalog
