#include <catch2/catch.hpp>

#include "unit/sdk/plugin_harness.hpp"

using sluice::test::PluginHarness;
using sluice::test::TestBatch;
using sluice::test::TestRecord;

namespace {

sluice::worker::PluginChoice choice() {
  return PluginHarness::load("filter_processor.so");
}

bool keeps(const PluginHarness::Config& config, const TestRecord& record) {
  PluginHarness filter{choice(), config};
  REQUIRE(filter.start() == SLUICE_OK);
  REQUIRE(filter.process({record}) == SLUICE_OK);
  return filter.host.emitted.size() == 1;
}

std::string problems(const PluginHarness::Config& config) {
  return PluginHarness::problems(choice(), config);
}

}  // namespace

TEST_CASE("an expression is found anywhere in the bytes, anchors hold", "[plugins]") {
  REQUIRE(keeps({{"value.regex", "b+c"}}, {"k", "abbbcd"}));
  REQUIRE_FALSE(keeps({{"value.regex", "^b"}}, {"k", "ab"}));
  REQUIRE(keeps({{"value.regex", "^ab$"}}, {"k", "ab"}));
  REQUIRE_FALSE(keeps({{"value.regex", "^ab$"}}, {"k", "ab\n"}));
  REQUIRE(keeps({{"key.regex", "^eu-|^us-"}}, {"us-1", "v"}));
  REQUIRE_FALSE(keeps({{"key.regex", "^eu-|^us-"}}, {"xus-1", "v"}));
}

TEST_CASE("expressions see through NUL, line feeds and bytes that are no text", "[plugins]") {
  using namespace std::string_literals;
  REQUIRE(keeps({{"value.regex", "end$"}}, {"k", "a\0b\n\xff end"s}));
  REQUIRE(keeps({{"value.regex", "a.b"}}, {"k", "a\nb"}));
  REQUIRE(keeps({{"value.regex", "\xc3\xbc"}}, {"k", "m\xc3\xbc"}));
}

TEST_CASE("null matches no expression, empty may", "[plugins]") {
  REQUIRE_FALSE(keeps({{"value.regex", ".*"}}, {"k", std::nullopt}));
  REQUIRE(keeps({{"value.regex", "^$"}}, {"k", ""}));
  REQUIRE_FALSE(keeps({{"key.regex", "."}}, {std::nullopt, "v"}));
}

// std::regex overflows its stack here, and takes minutes for the second one.
TEST_CASE("no expression makes a large value crash or hang its worker", "[plugins]") {
  const std::string large(4 << 20, 'a');
  REQUIRE_FALSE(keeps({{"value.regex", "(a|b)*c"}}, {"k", large}));
  REQUIRE_FALSE(keeps({{"value.regex", "(a*)*(a*)*b"}}, {"k", large}));
}

TEST_CASE("sizes are inclusive bounds, and null has size 0", "[plugins]") {
  const PluginHarness::Config bounds{{"value.size.min", "2"}, {"value.size.max", "3"}};
  REQUIRE_FALSE(keeps(bounds, {"k", "1"}));
  REQUIRE(keeps(bounds, {"k", "12"}));
  REQUIRE(keeps(bounds, {"k", "123"}));
  REQUIRE_FALSE(keeps(bounds, {"k", "1234"}));
  REQUIRE(keeps({{"value.size.max", "0"}}, {"k", std::nullopt}));
  REQUIRE(keeps({{"value.size.min", "1KiB"}}, {"k", std::string(1024, 'x')}));
  REQUIRE_FALSE(keeps({{"value.size.min", "1KiB"}}, {"k", std::string(1023, 'x')}));
}

TEST_CASE("a header holds if any of its name has exactly the value", "[plugins]") {
  const PluginHarness::Config eu{{"header.region", "eu"}};
  REQUIRE(keeps(eu, {"k", "v", {{"region", "us"}, {"region", "eu"}}}));
  REQUIRE_FALSE(keeps(eu, {"k", "v", {{"region", "eu2"}}}));
  REQUIRE_FALSE(keeps(eu, {"k", "v", {{"Region", "eu"}}}));
  REQUIRE_FALSE(keeps(eu, {"k", "v"}));
  REQUIRE_FALSE(keeps({{"header.region", ""}}, {"k", "v", {{"region", std::nullopt}}}));
  REQUIRE(keeps({{"header.region", ""}}, {"k", "v", {{"region", ""}}}));
  REQUIRE_FALSE(
      keeps({{"header.a", "1"}, {"header.b.c", "2"}}, {"k", "v", {{"a", "1"}, {"b.c", "3"}}}));
}

TEST_CASE("tombstone tells null from everything else", "[plugins]") {
  REQUIRE(keeps({{"tombstone", "true"}}, {"k", std::nullopt}));
  REQUIRE_FALSE(keeps({{"tombstone", "true"}}, {"k", ""}));
  REQUIRE(keeps({{"tombstone", "false"}}, {"k", ""}));
  REQUIRE_FALSE(keeps({{"tombstone", "false"}}, {"k", std::nullopt}));
}

TEST_CASE("all conditions must hold, and invert turns that around", "[plugins]") {
  const PluginHarness::Config both{{"key.regex", "^a"}, {"value.size.min", "2"}};
  REQUIRE(keeps(both, {"a", "12"}));
  REQUIRE_FALSE(keeps(both, {"a", "1"}));
  auto inverted = both;
  inverted["invert"] = "true";
  REQUIRE_FALSE(keeps(inverted, {"a", "12"}));
  REQUIRE(keeps(inverted, {"a", "1"}));
}

TEST_CASE("what is kept is the record itself, in order", "[plugins]") {
  PluginHarness filter{choice(), {{"value.regex", "keep"}}};
  REQUIRE(filter.start() == SLUICE_OK);
  const TestBatch batch{1, 0, 0, {{"a", "keep"}, {"b", "drop"}, {"c", "keep", {{"h", "1"}}}}};
  REQUIRE(filter.process(batch) == SLUICE_OK);
  REQUIRE(filter.host.emitted.size() == 2);
  REQUIRE(filter.host.emitted[0].value_address == batch[0].value.data);
  REQUIRE(filter.host.emitted[1].source_index == 2);
  REQUIRE(filter.host.emitted[1].value_address == batch[2].value.data);
  REQUIRE(filter.host.emitted[1].record.headers.size() == 1);
}

TEST_CASE("a configuration that filters nothing, or everything, is refused", "[plugins]") {
  REQUIRE(problems({}) ==
          ": no condition is given; set at least one of key.regex, value.regex, value.size.min, "
          "value.size.max, header.NAME, tombstone");
  REQUIRE(problems({{"invert", "true"}}).find("no condition") != std::string::npos);
  REQUIRE(problems({{"value.size.min", "2"}, {"value.size.max", "1"}}) ==
          "value.size.min: is above value.size.max: nothing would be kept");
  REQUIRE(problems({{"tombstone", "false"}}).empty());
}

TEST_CASE("an expression that is none, or of another dialect, is refused with the reason",
          "[plugins]") {
  REQUIRE(problems({{"value.regex", "a("}}).find("value.regex: is not a valid expression: ") == 0);
  REQUIRE(problems({{"key.regex", "a)(b"}}).find("key.regex: is not a valid expression: ") == 0);
  REQUIRE(problems({{"value.regex", "\\d+"}}) ==
          "value.regex: is not a valid expression: \\d is not known to POSIX extended expressions; "
          "a digit is [0-9]");
  REQUIRE(problems({{"value.regex", "(a)\\1"}}).find("back-references") != std::string::npos);
  REQUIRE(problems({{"value.regex", "\\w\\s\\.\\(\\\\"}}).empty());
}

TEST_CASE("a filter whose constructor is reached without validate refuses too", "[plugins]") {
  PluginHarness filter{choice(), {{"value.regex", "("}}};
  REQUIRE(filter.start() == SLUICE_CONFIG);
  REQUIRE(filter.host.error.key == "value.regex");
}
