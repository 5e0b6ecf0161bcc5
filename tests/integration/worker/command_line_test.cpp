// sluice-worker on the command line: what --describe and --validate print, and their exit codes.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "unit/temporary_folder.hpp"

namespace sluice::integration {

namespace {

struct Ran {
  int status = 0;
  std::string output;
  std::string errors;

  bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
};

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

Ran run_worker(std::vector<std::string> arguments, const std::string& input = {}) {
  const TemporaryFolder folder;
  const auto in = folder.write("in", input);
  const auto out = folder.path() / "out", errors = folder.path() / "errors";
  arguments.insert(arguments.begin(), SLUICE_BIN_DIR "/sluice-worker");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  ::posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t pid = 0;
  REQUIRE(::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  Ran ran;
  REQUIRE(::waitpid(pid, &ran.status, 0) == pid);
  ran.output = text_of(out);
  ran.errors = text_of(errors);
  return ran;
}

std::string plugin(const char* name) {
  return SLUICE_PLUGIN_DIR "/" + std::string{name};
}
std::string broken_plugin(const char* name) {
  return SLUICE_BROKEN_PLUGIN_DIR "/" + std::string{name};
}

}  // namespace

TEST_CASE("describe prints one JSON object for each bundled plugin", "[mock]") {
  for (const char* file : {"file_sink.so", "filter_processor.so", "null_sink.so"}) {
    const Ran ran = run_worker({"--describe", plugin(file)});
    INFO(ran.errors);
    REQUIRE(ran.exited_with(0));
    const auto document = boost::json::parse(ran.output);
    CHECK(document.at("plugins").as_array().size() == 1);
    CHECK(document.at("sha256").as_string().size() == 64);
  }
}

TEST_CASE("what a plugin prints while it is loaded does not end up in its description", "[mock]") {
  const Ran ran = run_worker({"--describe", broken_plugin("printing_plugin.so")});
  REQUIRE(ran.exited_with(0));
  CHECK(boost::json::parse(ran.output).at("plugins").at(0).at("name") == "silent");
  CHECK(ran.errors == "loading!\n");
}

TEST_CASE("a file that crashes while it is loaded shows as the signal", "[mock]") {
  const Ran ran = run_worker({"--describe", broken_plugin("crashing_plugin.so")});
  CHECK(WIFSIGNALED(ran.status));
  CHECK(WTERMSIG(ran.status) == SIGABRT);
  CHECK(ran.output.empty());
}

TEST_CASE("a file that is no plugin is one sentence and exit 1", "[mock]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("text.so", "no shared object");
  const Ran ran = run_worker({"--describe", file});
  CHECK(ran.exited_with(1));
  CHECK(ran.output.empty());
  CHECK_THAT(ran.errors,
             Catch::StartsWith("sluice-worker: plugin file: " + file + ": cannot be loaded: "));
  CHECK(std::count(ran.errors.begin(), ran.errors.end(), '\n') == 1);
}

TEST_CASE("validate answers every problem of every plugin, and nothing for a good one", "[mock]") {
  const std::string request =
      R"({"plugins":[{"type":"filter","alias":"big","kind":"processor","file":")" +
      plugin("filter_processor.so") +
      R"(","config":{"value.size.min":"many","invret":"true"}},)"
      R"({"type":"file","alias":"out","kind":"sink","file":")" +
      plugin("file_sink.so") + R"(","config":{"file":"/x"}}]})";
  const Ran ran = run_worker({"--validate"}, request);
  INFO(ran.errors);
  REQUIRE(ran.exited_with(0));
  const auto answer = boost::json::parse(ran.output);
  const auto& errors = answer.at("errors").as_array();
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].at("plugin") == "big");
  CHECK(errors[0].at("key") == "invret");
  CHECK(errors[0].at("message") == "is not known to filter; did you mean invert?");
  CHECK(errors[1].at("key") == "value.size.min");
}

TEST_CASE("validate asks the plugin's own rules, and leaves placeholders alone", "[mock]") {
  const auto ask = [](const std::string& config) {
    const std::string request =
        R"({"plugins":[{"type":"filter","alias":"big","kind":"processor","file":")" +
        plugin("filter_processor.so") + R"(","config":)" + config + "}]}";
    const Ran ran = run_worker({"--validate"}, request);
    REQUIRE(ran.exited_with(0));
    return boost::json::parse(ran.output).at("errors").as_array().size();
  };
  CHECK(ask("{}") >= 1);  // none of its conditions is given
  CHECK(ask(R"({"value.regex":"${env:NOT_SET_HERE}"})") == 0);
}

TEST_CASE("the help shows how to ask, nonsense exits 2, and a worker is not started by hand",
          "[mock]") {
  const Ran help = run_worker({"--help"});
  CHECK(help.exited_with(0));
  CHECK_THAT(help.output, Catch::Contains("--describe FILE"));
  CHECK(run_worker({"--version"}).output.starts_with("sluice-worker "));
  CHECK(run_worker({"--descrbe", "x"}).exited_with(2));
  const Ran by_hand = run_worker({});
  CHECK(by_hand.exited_with(2));
  CHECK_THAT(by_hand.errors, Catch::Contains("a worker is started by sluice"));
}

}  // namespace sluice::integration
