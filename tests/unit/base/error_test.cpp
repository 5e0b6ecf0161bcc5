#include "host/base/error.hpp"

#include <catch2/catch.hpp>
#include <cerrno>

namespace sluice {
namespace {

Result<int> fails() { return Error{ErrorCode::NotFound, "job: orders: not known"}; }

Result<> forwards() {
  SLUICE_TRY(fails());
  return {};
}

}  // namespace

TEST_CASE("an error keeps its code when context is added in front of its message", "[base]") {
  const Error error = fails().error().with_context("reload");
  CHECK(error.code() == ErrorCode::NotFound);
  CHECK(error.message() == "reload: job: orders: not known");
}

TEST_CASE("SLUICE_TRY hands the error of a Result of another type to the caller", "[base]") {
  const Result<> result = forwards();
  REQUIRE_FALSE(result);
  CHECK(result.error().code() == ErrorCode::NotFound);
}

TEST_CASE("asking a failed Result for its value throws instead of inventing one", "[base]") {
  CHECK_THROWS_AS(fails().value(), std::logic_error);
}

TEST_CASE("an Io error names what, which and errno's text", "[base]") {
  CHECK(io_error("open", "/nowhere", ENOENT).message() ==
        "open: /nowhere: No such file or directory");
}

}  // namespace sluice
