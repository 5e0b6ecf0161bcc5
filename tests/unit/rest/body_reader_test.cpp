#include "host/rest/body_reader.hpp"

#include <catch2/catch.hpp>

namespace sluice::rest {
namespace {

std::string problem_of(const std::string& body) {
  BodyReader reader{body};
  reader.text("slices");
  reader.number("execution", 1, 9);
  reader.yes_or_no("dry_run");
  const auto fine = reader.finish();
  return fine ? std::string{} : fine.error().message();
}

}  // namespace

TEST_CASE("a body is a JSON object of what is asked for, or refused with what is wrong", "[rest]") {
  CHECK(problem_of("").empty());
  CHECK(problem_of(R"({"slices":"all","execution":9,"dry_run":true})").empty());
  CHECK(problem_of(R"({"slices":1})") == "body: slices: must be a string");
  CHECK(problem_of(R"({"execution":10})") == "body: execution: must be a number from 1 to 9");
  CHECK(problem_of(R"({"dry_run":"yes"})") == "body: dry_run: must be true or false");
  CHECK(problem_of(R"({"slice":"all"})") == "body: slice: unknown");
  CHECK(problem_of("[]") == "body: must be a JSON object");
  CHECK(problem_of("{").starts_with("body: no JSON"));
  CHECK(problem_of(std::string(1'000, '[')).starts_with("body: no JSON"));
}

}  // namespace sluice::rest
