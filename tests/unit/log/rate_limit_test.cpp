#include "host/log/rate_limit.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace sluice::log {
namespace {

using Verdict = RateLimit::Verdict;
constexpr Milliseconds kStart{1000};
constexpr Milliseconds kOver = kStart + RateLimit::kWindow;

}  // namespace

TEST_CASE("a cause is printed once a minute, and then with the count of the swallowed", "[log]") {
  RateLimit limit;
  CHECK(limit.admit("down", "a", kStart).verdict == Verdict::Print);
  CHECK(limit.admit("down", "b", kStart).verdict == Verdict::Swallow);
  CHECK(limit.admit("down", "c", kOver - Milliseconds{1}).verdict == Verdict::Swallow);
  const auto answer = limit.admit("down", "d", kOver);
  CHECK(answer.verdict == Verdict::Print);
  CHECK(answer.swallowed_before == 2);
  CHECK(limit.admit("down", "e", kOver).verdict == Verdict::Swallow);
}

TEST_CASE("causes do not share a minute", "[log]") {
  RateLimit limit;
  CHECK(limit.admit("down", "a", kStart).verdict == Verdict::Print);
  CHECK(limit.admit("slow", "a", kStart).verdict == Verdict::Print);
}

TEST_CASE("a cause that becomes quiet still tells how much was swallowed, once", "[log]") {
  RateLimit limit;
  limit.admit("down", "first", kStart);
  limit.admit("down", "second", kStart);
  limit.admit("down", "third", kStart);
  CHECK(limit.take_due(kOver - Milliseconds{1}).empty());
  const auto due = limit.take_due(kOver);
  REQUIRE(due.size() == 1);
  CHECK(due[0].line == "third");
  CHECK(due[0].swallowed == 2);
  CHECK(limit.take_due(kOver + RateLimit::kWindow).empty());
}

TEST_CASE("the line that carries a count opens the next minute", "[log]") {
  RateLimit limit;
  limit.admit("down", "first", kStart);
  limit.admit("down", "second", kStart);
  REQUIRE(limit.take_due(kOver).size() == 1);
  CHECK(limit.admit("down", "third", kOver).verdict == Verdict::Swallow);
}

TEST_CASE("a cause that nothing was swallowed of is not mentioned again", "[log]") {
  RateLimit limit;
  limit.admit("down", "first", kStart);
  CHECK(limit.take_due(kOver).empty());
}

TEST_CASE("causes beyond the limit share one window, and quiet ones make room", "[log]") {
  RateLimit limit;
  for (std::size_t i = 0; i < RateLimit::kCausesMax; ++i) {
    REQUIRE(limit.admit(std::to_string(i), "x", kStart).verdict == Verdict::Print);
  }
  CHECK(limit.admit("one more", "x", kStart).verdict == Verdict::Print);
  CHECK(limit.admit("another", "x", kStart).verdict == Verdict::Swallow);
  CHECK(limit.admit("0", "x", kStart).verdict == Verdict::Swallow);
  CHECK(limit.admit("another", "x", kOver).verdict == Verdict::Print);
  CHECK(limit.admit("yet another", "x", kOver).verdict == Verdict::Print);
}

}  // namespace sluice::log
