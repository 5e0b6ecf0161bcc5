// The host asks a process about a plugin and gets a sentence, whatever that process does.
#include "host/plugin_catalog/worker_call.hpp"

#include <catch2/catch.hpp>

namespace sluice::catalog {
namespace {

constexpr std::chrono::milliseconds kShort{300};
/// No busy machine reaches it.
constexpr std::chrono::milliseconds kLong = std::chrono::hours{1};

Result<std::string> shell(const std::string& script, std::string_view input = {},
                          std::chrono::milliseconds limit = kLong) {
  return call_worker("/bin/sh", {"-c", script}, input, limit);
}

std::string complaint(const std::string& script, std::chrono::milliseconds limit = kLong) {
  const auto answer = shell(script, {}, limit);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code() == ErrorCode::Plugin);
  return answer.error().message();
}

}  // namespace

TEST_CASE("what the worker says on stdout is the answer, and stderr is not", "[plugin_catalog]") {
  CHECK(shell("echo noise >&2; echo answer").value() == "answer\n");
}

TEST_CASE("a large input reaches a worker that answers while it reads", "[plugin_catalog]") {
  const std::string input(1'000'000, 'x');
  CHECK(shell("cat", input).value() == input);
}

TEST_CASE("a worker that does not read its input is no trouble", "[plugin_catalog]") {
  CHECK(shell("exec <&-; echo answer", std::string(1'000'000, 'x')).value() == "answer\n");
}

TEST_CASE("an exit code is told with the first line of the complaint", "[plugin_catalog]") {
  CHECK(complaint("echo 'undefined symbol: f' >&2; echo more >&2; exit 1") ==
        "undefined symbol: f");
  CHECK(complaint("exit 7") == "exit code 7");
}

TEST_CASE("a crash while loading is told by its signal", "[plugin_catalog]") {
  CHECK(complaint("kill -SEGV $$") == "it crashed while it was loaded: Segmentation fault");
}

TEST_CASE("a worker that hangs is killed at the limit", "[plugin_catalog]") {
  CHECK(complaint("exec sleep 1000", kShort) == "no answer within 300 ms; it was killed");
}

TEST_CASE("a worker that closes its outputs and then hangs is killed too", "[plugin_catalog]") {
  CHECK(complaint("exec sleep 1000 >&- 2>&-", kShort) == "no answer within 300 ms; it was killed");
}

TEST_CASE("a worker that never stops talking is cut off", "[plugin_catalog]") {
  CHECK_FALSE(shell("exec cat /dev/zero", {}, kShort).has_value());
}

TEST_CASE("a worker that is not there is an error that names it", "[plugin_catalog]") {
  const auto answer = call_worker("/nowhere/sluice-worker", {"--describe", "x"}, {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().message() == "start: /nowhere/sluice-worker: No such file or directory");
}

}  // namespace sluice::catalog
