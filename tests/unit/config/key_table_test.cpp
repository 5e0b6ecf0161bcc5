// The tables themselves: every row can be read, is documented, and its default is a value of its
// own.
#include <catch2/catch.hpp>
#include <set>

#include "host/config/host_keys.hpp"
#include "host/config/job_keys.hpp"

namespace sluice::config {
namespace {

template <typename Config>
void check_rows(std::span<const BoundKey<Config>> table) {
  std::set<std::string_view> names;
  for (const BoundKey<Config>& key : table) {
    const KeySpec& spec = key.spec;
    CAPTURE(spec.name);
    CHECK(names.insert(spec.name).second);
    CHECK(spec.doc.ends_with("."));
    CHECK((spec.type == ValueType::Choice) == !spec.choices.empty());
    // A sample line needs a value from somewhere.
    const bool many = spec.name.ends_with("*");
    CHECK((many || !spec.fallback.empty() || !spec.example.empty()));
    if (many && !spec.example.empty()) CHECK(spec.example.find('=') != std::string_view::npos);
    if (spec.fallback.empty()) continue;
    KeySpec all = spec;
    all.honoured = kAnyValue;
    const auto value = parse_value(all, spec.fallback);
    REQUIRE(value.has_value());
    CHECK(*value == parse_fallback(spec));
    if (spec.honoured != kNoValue) CHECK(parse_value(spec, spec.fallback).has_value());
  }
}

}  // namespace

TEST_CASE("every key of a job is documented once, and its default is a legal value", "[config]") {
  check_rows(job_keys());
}

TEST_CASE("every key of the host is documented once, and its default is a legal value",
          "[config]") {
  check_rows(host_keys());
}

TEST_CASE("every example of the tables is a legal value once its feature is honoured", "[config]") {
  const auto check = [](const auto& table) {
    for (const auto& key : table) {
      if (key.spec.example.empty()) continue;
      CAPTURE(key.spec.name);
      KeySpec spec = key.spec;
      spec.honoured = kAnyValue;
      CHECK(parse_value(spec, spec.example).has_value());
    }
  };
  check(job_keys());
  check(host_keys());
}

TEST_CASE("every honoured value of a key is one of its values", "[config]") {
  for (const auto& key : job_keys()) {
    if (key.spec.honoured == kAnyValue) continue;
    for (const std::string_view value : choices_of(key.spec.honoured)) {
      CAPTURE(key.spec.name, value);
      CHECK(parse_value(key.spec, value).has_value());
    }
  }
}

TEST_CASE("a key named like a pattern row is no known key", "[config]") {
  CHECK_FALSE(is_known("consumer.override.*"));
  CHECK_FALSE(is_known("transforms.NAME.type"));
  CHECK(is_known("tasks.max"));
  CHECK(is_host_key("slice.anything"));
  CHECK_FALSE(is_host_key("file"));
}

}  // namespace sluice::config
