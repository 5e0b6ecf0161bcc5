#include <sluice/sink.hpp>

#include <catch2/catch.hpp>

#include "unit/sdk/plugin_harness.hpp"

using sluice::test::PluginHarness;

namespace {

enum class Format { Json, Text };

struct Settings {
  std::string path = "out";
  std::int64_t count = 7;
  std::uint16_t port = 80;
  std::uint64_t big = 1;
  double ratio = 0.5;
  bool verbose = true;
  std::chrono::milliseconds wait{1500};
  sluice::ByteSize buffer{64 << 20};
  std::vector<std::string> names{"a", "b"};
  std::map<std::string, std::string> header;
  std::optional<std::int64_t> limit;
  Format format = Format::Text;
  std::string password;
  std::string url;
};

auto all_keys() {
  return sluice::Schema<Settings>{}
      .field("path", &Settings::path)
      .doc("Path.")
      .pattern("[a-z/]+")
      .field("count", &Settings::count)
      .doc("Count.")
      .min("1")
      .max("9")
      .field("port", &Settings::port)
      .doc("Port.")
      .field("big", &Settings::big)
      .doc("Big.")
      .field("ratio", &Settings::ratio)
      .doc("Ratio.")
      .field("verbose", &Settings::verbose)
      .doc("Verbose.")
      .field("wait", &Settings::wait)
      .doc("Wait.")
      .field("buffer", &Settings::buffer)
      .doc("Buffer.")
      .field("names", &Settings::names)
      .doc("Names.")
      .field("header", &Settings::header)
      .doc("Headers.")
      .field("limit", &Settings::limit)
      .doc("Limit.")
      .field("format", &Settings::format, {{"json", Format::Json}, {"text", Format::Text}})
      .doc("Format.")
      .field("password", &Settings::password)
      .secret()
      .doc("Password.")
      .field("url", &Settings::url)
      .required()
      .doc("Where to.")
      .group("Connection", 2)
      .importance(sluice::Importance::High)
      .since("1.2.0")
      .deprecated("use path")
      .example("http://x")
      .dependents({"password", "wait"});
}

struct Keyed final : sluice::Sink {
  static auto schema() { return all_keys(); }
  static void validate(const Settings& settings, sluice::Problems& problems) {
    if (settings.count > 5 && settings.port != 80) {
      problems.add("port", "must be 80 when count is above 5");
    }
    if (settings.url == "throw") throw sluice::ConfigError{"url", "thrown"};
    if (settings.url == "unknown") throw std::runtime_error{"lost"};
  }
  static const char* summary() { return "All keys."; }
  static constexpr sluice::Capabilities capabilities() {
    return sluice::Capability::Idempotent | sluice::Capability::StableSlices;
  }
  static std::vector<sluice::Alias> aliases() {
    return {{"OldName", {{"format", "json"}, {"count", "9"}}}};
  }
  explicit Keyed(const Settings& settings) { seen() = settings; }
  void put(const sluice::Batch&) override {}

  static Settings& seen() {
    static Settings settings;
    return settings;
  }
};

sluice::worker::PluginChoice choice() {
  return PluginHarness::of_class(sluice::sink<Keyed>("keyed", "1.0.0"));
}

const sluice_config_key& key(const std::string& name) {
  static const auto keyed = choice();
  for (const sluice_config_key* key : keyed.plugin->keys) {
    if (key->name == name) return *key;
  }
  FAIL("no key " << name);
  return *keyed.plugin->keys[0];
}

Settings started(const PluginHarness::Config& config) {
  PluginHarness sink{choice(), config};
  REQUIRE(sink.start() == SLUICE_OK);
  return Keyed::seen();
}

}  // namespace

TEST_CASE("a key has its member's type", "[sdk]") {
  REQUIRE(key("path").type == SLUICE_TYPE_STRING);
  REQUIRE(key("count").type == SLUICE_TYPE_INT);
  REQUIRE(key("port").type == SLUICE_TYPE_INT);
  REQUIRE(key("ratio").type == SLUICE_TYPE_FLOAT);
  REQUIRE(key("verbose").type == SLUICE_TYPE_BOOL);
  REQUIRE(key("wait").type == SLUICE_TYPE_DURATION);
  REQUIRE(key("buffer").type == SLUICE_TYPE_BYTES);
  REQUIRE(key("names").type == SLUICE_TYPE_LIST);
  REQUIRE(key("header").type == SLUICE_TYPE_MAP);
  REQUIRE(key("limit").type == SLUICE_TYPE_INT);
  REQUIRE(key("format").type == SLUICE_TYPE_ENUM);
  REQUIRE(key("password").type == SLUICE_TYPE_SECRET);
}

TEST_CASE("a key's default is its member's initial value, as a user would write it", "[sdk]") {
  const auto text = [](const char* name) { return std::string{key(name).default_value}; };
  REQUIRE(text("path") == "out");
  REQUIRE(text("count") == "7");
  REQUIRE(text("ratio") == "0.5");
  REQUIRE(text("verbose") == "true");
  REQUIRE(text("wait") == "1500ms");
  REQUIRE(text("buffer") == "64MiB");
  REQUIRE(text("names") == "a,b");
  REQUIRE(text("format") == "text");
  for (const char* without : {"header", "limit", "password", "url"}) {
    REQUIRE(key(without).default_value == nullptr);
  }
}

TEST_CASE("an integer's type bounds its key", "[sdk]") {
  REQUIRE(std::string{key("port").min} == "0");
  REQUIRE(std::string{key("port").max} == "65535");
  REQUIRE(std::string{key("big").min} == "0");
  REQUIRE(key("big").max == nullptr);
  REQUIRE(std::string{key("count").min} == "1");
  REQUIRE(std::string{key("count").max} == "9");
}

TEST_CASE("attributes belong to the field before them", "[sdk]") {
  const sluice_config_key& url = key("url");
  REQUIRE(url.flags == SLUICE_KEY_REQUIRED);
  REQUIRE(std::string{url.doc} == "Where to.");
  REQUIRE(std::string{url.group} == "Connection");
  REQUIRE(url.order == 2);
  REQUIRE(url.importance == SLUICE_IMPORTANCE_HIGH);
  REQUIRE(std::string{url.since} == "1.2.0");
  REQUIRE(std::string{url.deprecated} == "use path");
  REQUIRE(std::string{url.example} == "http://x");
  REQUIRE(url.dependent_count == 2);
  REQUIRE(std::string{url.dependents[1]} == "wait");
  REQUIRE(std::string{key("path").pattern} == "[a-z/]+");
  REQUIRE(key("path").flags == 0);
  REQUIRE(key("format").choice_count == 2);
  REQUIRE(std::string{key("format").choices[0]} == "json");
}

TEST_CASE("values reach their members", "[sdk]") {
  const Settings settings = started({{"url", "u"},
                                     {"count", "3"},
                                     {"port", "65535"},
                                     {"ratio", "1.25"},
                                     {"verbose", "false"},
                                     {"wait", "2m"},
                                     {"buffer", "3KiB"},
                                     {"names", "x,y,z"},
                                     {"header.a", "1"},
                                     {"header.b.c", "2"},
                                     {"limit", "0"},
                                     {"format", "json"},
                                     {"password", "hush"}});
  REQUIRE(settings.url == "u");
  REQUIRE(settings.count == 3);
  REQUIRE(settings.port == 65535);
  REQUIRE(settings.ratio == 1.25);
  REQUIRE_FALSE(settings.verbose);
  REQUIRE(settings.wait == std::chrono::minutes{2});
  REQUIRE(settings.buffer == 3072);
  REQUIRE(settings.names == std::vector<std::string>{"x", "y", "z"});
  REQUIRE(settings.header == std::map<std::string, std::string>{{"a", "1"}, {"b.c", "2"}});
  REQUIRE(settings.limit == 0);
  REQUIRE(settings.format == Format::Json);
  REQUIRE(settings.password == "hush");
}

TEST_CASE("what the job does not say keeps its member's initial value", "[sdk]") {
  const Settings settings = started({{"url", "u"}});
  REQUIRE(settings.path == "out");
  REQUIRE(settings.format == Format::Text);
  REQUIRE(settings.names == std::vector<std::string>{"a", "b"});
  REQUIRE(settings.header.empty());
  REQUIRE_FALSE(settings.limit.has_value());
}

TEST_CASE("an alias presets what it declares", "[sdk]") {
  const auto plain = choice();
  const sluice::worker::PluginChoice old{plain.plugin, plain.plugin->aliases.at(0)};
  REQUIRE(std::string{old.alias->name} == "OldName");
  PluginHarness sink{old, {{"url", "u"}}};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(Keyed::seen().format == Format::Json);
  REQUIRE(Keyed::seen().count == 9);
}

TEST_CASE("rules over several keys name the key, and what validate throws is a problem too",
          "[sdk]") {
  REQUIRE(PluginHarness::problems(choice(), {{"url", "u"}}).empty());
  REQUIRE(PluginHarness::problems(choice(), {{"url", "u"}, {"count", "6"}, {"port", "81"}}) ==
          "port: must be 80 when count is above 5");
  REQUIRE(PluginHarness::problems(choice(), {{"url", "throw"}}) == "url: thrown");
  REQUIRE(PluginHarness::problems(choice(), {{"url", "unknown"}}) == ": lost");
}

TEST_CASE("the descriptor says what the class says", "[sdk]") {
  const sluice_descriptor& descriptor = *choice().plugin->descriptor;
  REQUIRE(std::string{descriptor.name} == "keyed");
  REQUIRE(std::string{descriptor.version} == "1.0.0");
  REQUIRE(std::string{descriptor.summary} == "All keys.");
  REQUIRE(descriptor.capabilities == (SLUICE_CAP_IDEMPOTENT | SLUICE_CAP_STABLE_SLICES));
  REQUIRE(descriptor.kind == SLUICE_KIND_SINK);
  REQUIRE(descriptor.validate != nullptr);
}
