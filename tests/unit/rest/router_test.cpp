#include "host/rest/router.hpp"

#include <catch2/catch.hpp>

#include "host/rest/query_reader.hpp"

namespace sluice::rest {
namespace {

std::string answer_of(const Router& router, Method method, const std::string& path) {
  const auto target = parse_target(path);
  REQUIRE(target.has_value());
  const auto found = router.find(method, target->parts);
  if (const auto* refused = std::get_if<Response>(&found)) {
    return std::to_string(refused->status) + " " + refused->allow;
  }
  std::string said;
  const auto& match = std::get<Router::Match>(found);
  (*match.handler)({}, match.parameters, [&](Response response) { said = response.body; });
  return said;
}

Router small_router() {
  Router router;
  const auto says = [](std::string word) {
    return [word](const Request&, const PathParameters& parameters, const Answer& answer) {
      Response response;
      response.body = word;
      for (const auto& [name, value] : parameters) response.body += " " + name + "=" + value;
      answer(response);
    };
  };
  router.add(Method::Get, "/jobs/{name}", says("show"));
  router.add(Method::Delete, "/jobs/{name}", says("delete"));
  router.add(Method::Get, "/jobs/top", says("top"));
  router.add(Method::Post, "/jobs/{name}/tasks/{task}", says("task"));
  return router;
}

}  // namespace

TEST_CASE("a route is found by its method and path, and fixed parts win over braces", "[rest]") {
  const auto router = small_router();
  CHECK(answer_of(router, Method::Get, "/jobs/a%2Fb") == "show name=a/b");
  CHECK(answer_of(router, Method::Get, "/jobs/a/") == "show name=a");
  CHECK(answer_of(router, Method::Get, "/jobs/top") == "top");
  CHECK(answer_of(router, Method::Post, "/jobs/a/tasks/3") == "task name=a task=3");
}

TEST_CASE("an unknown path is 404, a wrong method 405 that names the right ones", "[rest]") {
  const auto router = small_router();
  CHECK(answer_of(router, Method::Get, "/") == "404 ");
  CHECK(answer_of(router, Method::Get, "/jobs") == "404 ");
  CHECK(answer_of(router, Method::Get, "/jobs//tasks/3") == "404 ");
  CHECK(answer_of(router, Method::Get, "/jobs/a/b") == "404 ");
  CHECK(answer_of(router, Method::Put, "/jobs/a") == "405 GET, DELETE");
  CHECK(answer_of(router, Method::Other, "/jobs/a/tasks/3") == "405 POST");
}

TEST_CASE("a target is decoded into parts and query, or refused", "[rest]") {
  const auto target = parse_target("/a%20b/c?x=1%2B1&y=a+b&z&=");
  REQUIRE(target.has_value());
  CHECK(target->parts == std::vector<std::string>{"a b", "c"});
  CHECK(target->query.at("x") == "1+1");
  CHECK(target->query.at("y") == "a b");
  CHECK(target->query.at("z").empty());
  for (const char* bad : {"", "a", "*", "http://x/", "/%", "/%2", "/%zz", "/%00", "/a\x01", "/?a=%",
                          "/?a=1&a=2", "/ "}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_target(bad).has_value());
  }
}

TEST_CASE("a query that nobody understands is refused, not ignored", "[rest]") {
  const auto problem_of = [](const std::string& text) {
    const auto target = parse_target(text);
    QueryReader query{*target};
    query.number("limit", 1, 10);
    query.yes_or_no("dry_run");
    const auto fine = query.finish();
    return fine ? std::string{} : fine.error().message();
  };
  CHECK(problem_of("/?limit=10&dry_run=true").empty());
  CHECK(problem_of("/?limit=11") == "query limit: must be a number from 1 to 10");
  CHECK(problem_of("/?limit=ten") == "query limit: must be a number from 1 to 10");
  CHECK(problem_of("/?dry_run=yes") == "query dry_run: must be true or false");
  CHECK(problem_of("/?limits=1") == "query limits: unknown");
}

TEST_CASE("errors have Connect's body, and a status by their kind", "[rest]") {
  const auto refused = error_response({ErrorCode::Refused, "no \"x\""});
  CHECK(refused.status == 409);
  CHECK(refused.body == R"({"error_code":409,"message":"no \"x\""})");
  CHECK(error_response({ErrorCode::Usage, ""}).status == 400);
  CHECK(error_response({ErrorCode::NotFound, ""}).status == 404);
  CHECK(error_response({ErrorCode::KafkaUnavailable, ""}).status == 503);
  CHECK(error_response({ErrorCode::Internal, ""}).status == 500);
}

}  // namespace sluice::rest
