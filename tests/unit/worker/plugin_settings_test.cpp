#include "host/worker/plugin_settings.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "unit/worker/fixture_module.hpp"

namespace sluice::worker {
namespace {

Result<std::optional<std::string>> literally(std::string_view text) {
  return std::optional<std::string>{std::string{text}};
}

using Given = std::map<std::string, std::string>;

/// The settings of the fixture's sink; `file` is given unless the test gives it.
struct Checked {
  explicit Checked(Given given, const char* type = "file", const ResolveText& resolve = literally)
      : module{PluginModule::check(&fixture.module, "/p/x.so").value()},
        choice{find_plugin(module, type, SLUICE_KIND_SINK, "/p/x.so").value()} {
    given.try_emplace("file", "/out");
    checked = PluginSettings::check(choice, given, resolve);
  }
  const sluice_config* view() const {
    REQUIRE(checked.problems.empty());
    return checked.settings->view();
  }
  std::string problem() const {
    REQUIRE(checked.problems.size() == 1);
    return checked.problems[0].key + ": " + checked.problems[0].message;
  }

  fixture::Module fixture;
  PluginModule module;
  PluginChoice choice;
  CheckedSettings checked;
};

std::string text(const sluice_bytes& bytes) {
  return {static_cast<const char*>(bytes.data), bytes.size};
}

}  // namespace

TEST_CASE("a plugin reads its settings as values of the declared types", "[worker]") {
  const Checked settings{{{"file", "/var/out"},
                          {"timeout", "2m"},
                          {"buffer", "64KiB"},
                          {"ratio", "0.25"},
                          {"sync", "true"},
                          {"hosts", "a, b,c"},
                          {"header.x.y", "1"},
                          {"header.z", ""},
                          {"password", "secret"},
                          {"retries", "-3"}}};
  const sluice_config* view = settings.view();
  sluice_bytes bytes{};
  std::int64_t integer = 0;
  double number = 0;
  std::int32_t flag = 0;
  CHECK(view->get_string(view, "file", &bytes) == 1);
  CHECK(text(bytes) == "/var/out");
  CHECK(view->get_string(view, "format", &bytes) == 1);
  CHECK(text(bytes) == "json");
  CHECK(view->get_string(view, "password", &bytes) == 1);
  CHECK(text(bytes) == "secret");
  CHECK(view->get_int(view, "timeout", &integer) == 1);
  CHECK(integer == 120'000);
  CHECK(view->get_int(view, "buffer", &integer) == 1);
  CHECK(integer == 65'536);
  CHECK(view->get_int(view, "retries", &integer) == 1);
  CHECK(integer == -3);
  CHECK(view->get_float(view, "ratio", &number) == 1);
  CHECK(number == 0.25);
  CHECK(view->get_bool(view, "sync", &flag) == 1);
  CHECK(flag == 1);
  const sluice_bytes* elements = nullptr;
  const sluice_pair* pairs = nullptr;
  std::uint32_t count = 0;
  REQUIRE(view->get_list(view, "hosts", &elements, &count) == 1);
  REQUIRE(count == 3);
  CHECK(text(elements[1]) == "b");
  REQUIRE(view->get_map(view, "header", &pairs, &count) == 1);
  REQUIRE(count == 2);
  CHECK(text(pairs[0].key) == "x.y");
  CHECK(text(pairs[0].value) == "1");
  CHECK(text(pairs[1].value).empty());
}

TEST_CASE("unset, undeclared and wrongly typed keys are told apart and leave the value alone",
          "[worker]") {
  const Checked settings{{}};
  const sluice_config* view = settings.view();
  std::int64_t integer = 42;
  CHECK(view->get_int(view, "buffer", &integer) == 0);
  CHECK(view->get_int(view, "surplus", &integer) == -1);
  CHECK(view->get_int(view, "file", &integer) == -1);
  CHECK(view->get_int(view, nullptr, &integer) == -1);
  CHECK(integer == 42);
  const sluice_pair* pairs = nullptr;
  std::uint32_t count = 7;
  CHECK(view->get_map(view, "header", &pairs, &count) == 1);
  CHECK(count == 0);
}

TEST_CASE("an unknown key is refused, naming the nearest known one and no value", "[worker]") {
  CHECK(Checked{{{"fromat", "hunter2"}}}.problem() ==
        "fromat: is not known to file; did you mean format?");
  CHECK(Checked{{{"zookeeper.connect", "hunter2"}}}.problem() ==
        "zookeeper.connect: is not known to file");
  CHECK(Checked{{{"header", "x"}}}.problem() ==
        "header: is a map: write header.NAME for each entry");
}

TEST_CASE("a value of the wrong type, range, choice or pattern is refused", "[worker]") {
  CHECK(Checked{{{"file", "relative"}}}.problem() == "file: must match /.*");
  CHECK(Checked{{{"format", "xml"}}}.problem() == "format: must be one of json, raw");
  CHECK(Checked{{{"timeout", "999ms"}}}.problem() == "timeout: must be at least 1s");
  CHECK(Checked{{{"timeout", "2h"}}}.problem() == "timeout: must be at most 1h");
  CHECK(Checked{{{"ratio", "1.5"}}}.problem() == "ratio: must be at most 1");
  CHECK(Checked{{{"retries", "many"}}}.problem() == "retries: must be an integer");
  CHECK(Checked{{{"sync", "yes"}}}.problem() == "sync: must be true or false");
  CHECK(Checked{{{"hosts", "a,,b"}}}.problem() == "hosts: has an empty element");
  CHECK(Checked{{{"hosts", "a,"}}}.problem() == "hosts: has an empty element");
  CHECK(Checked{{{"hosts", "a,B"}}}.problem() == "hosts: must match [a-z]+");
}

TEST_CASE("all problems are found at once, a required key that is missing among them", "[worker]") {
  Checked settings{{{"timeout", "x"}, {"sync", "x"}}};
  CHECK(settings.checked.problems.size() == 2);
  const auto missing = PluginSettings::check(settings.choice, {}, literally);
  REQUIRE(missing.problems.size() == 1);
  CHECK(missing.problems[0] == KeyProblem{"file", "is required: What it is for."});
}

TEST_CASE("an alias presets keys, which a job may then not set", "[worker]") {
  const Checked settings{{}, "FileStreamSink"};
  const sluice_config* view = settings.view();
  sluice_bytes bytes{};
  CHECK(view->get_string(view, "format", &bytes) == 1);
  CHECK(text(bytes) == "raw");
  CHECK(Checked{{{"format", "json"}}, "FileStreamSink"}.problem() ==
        "format: is fixed by FileStreamSink and cannot be set; use file instead to set it");
}

TEST_CASE("a value that cannot be resolved is a problem of its key, one left open is none",
          "[worker]") {
  const ResolveText resolve = [](std::string_view value) -> Result<std::optional<std::string>> {
    if (value == "${env:GONE}") return Error{ErrorCode::Configuration, "${env:GONE}: is not set"};
    if (value == "${later}") return std::optional<std::string>{};
    return std::optional<std::string>{std::string{value}};
  };
  CHECK(Checked{{{"password", "${env:GONE}"}}, "file", resolve}.problem() ==
        "password: ${env:GONE}: is not set");
  const Checked open{{{"file", "${later}"}}, "file", resolve};
  CHECK(open.checked.problems.empty());
  CHECK_FALSE(open.checked.complete);
}

TEST_CASE("a plugin's own rules answer per key", "[worker]") {
  Checked settings{{}};
  settings.fixture.sink.validate = [](const sluice_config* config,
                                      const sluice_problems* problems) noexcept {
    std::int64_t buffer = 0;
    if (config->get_int(config, "buffer", &buffer) == 0) {
      problems->add(problems, "buffer", fixture::bytes("is needed with format json"));
    }
  };
  const auto problems = validate_settings(settings.choice, *settings.checked.settings);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0] == KeyProblem{"buffer", "is needed with format json"});
}

}  // namespace sluice::worker
