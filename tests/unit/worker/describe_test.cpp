#include "host/worker/describe.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

#include "unit/worker/fixture_module.hpp"

namespace sluice::worker {
namespace {

namespace json = boost::json;

Result<std::optional<std::string>> literally(std::string_view text) {
  return std::optional<std::string>{std::string{text}};
}

}  // namespace

TEST_CASE("a description has every attribute of every key, and null for what is not said",
          "[worker]") {
  const fixture::Module fixture;
  const auto module = PluginModule::check(&fixture.module, "/p/x.so");
  const json::value document = json::parse(describe_module(*module, "/p/x.so", "ab12"));
  CHECK(document.at("file") == "/p/x.so");
  CHECK(document.at("sha256") == "ab12");
  CHECK(json::serialize(document.at("abi")) == R"({"major":1,"minor":0,"needs_minor":0})");
  const json::value& sink = document.at("plugins").at(0);
  CHECK(sink.at("name") == "file");
  CHECK(sink.at("kind") == "sink");
  CHECK(json::serialize(sink.at("capabilities")) == R"(["stable-slices","idempotent"])");
  CHECK(json::serialize(sink.at("aliases")) ==
        R"([{"name":"FileStreamSink","presets":{"format":"raw"}}])");
  CHECK(json::serialize(sink.at("keys").at(2)) ==
        R"({"name":"timeout","type":"duration","doc":"What it is for.","required":false,)"
        R"("default":"30s","min":"1s","max":"1h","pattern":null,"choices":[],"group":null,)"
        R"("order":0,"importance":"low","since":null,"deprecated":null,"example":null,)"
        R"("dependents":[]})");
  CHECK(json::serialize(sink.at("keys").at(8).at("dependents")) == R"(["format"])");
  CHECK(document.at("plugins").at(1).at("kind") == "processor");
}

TEST_CASE("describing a file that is not there, or no plugin, is an error that names it",
          "[worker]") {
  CHECK(describe_file("/nowhere.so").error().message() ==
        "plugin file: cannot be opened: /nowhere.so: No such file or directory");
  CHECK(describe_file("/proc/self/cmdline").has_error());
}

TEST_CASE("validating answers a file that cannot be loaded as a problem of that plugin",
          "[worker]") {
  const auto answer = validate_request(
      R"({"plugins":[{"type":"file","alias":"out","kind":"sink","file":"/nowhere.so",)"
      R"("config":{}}]})",
      literally);
  REQUIRE(answer.has_value());
  const json::value document = json::parse(*answer);
  REQUIRE(document.at("errors").as_array().size() == 1);
  CHECK(document.at("errors").at(0).at("plugin") == "out");
  CHECK(document.at("errors").at(0).at("key") == "");
}

TEST_CASE("a validate request that is not understood is an error, not an empty answer",
          "[worker]") {
  CHECK(validate_request("", literally).has_error());
  CHECK(validate_request("{}", literally).has_error());
  CHECK(validate_request(R"({"plugins":[{"type":"file"}]})", literally).error().message() ==
        "validate request: plugins[0].alias: is missing");
}

}  // namespace sluice::worker
