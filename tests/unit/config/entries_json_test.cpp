#include <catch2/catch.hpp>
#include <map>

#include "config_text.hpp"
#include "host/config/entries.hpp"

namespace sluice::config {
namespace {

using Map = std::map<std::string, std::string>;

Map flat(std::string_view text) {
  Problems problems{"f"};
  const Entries entries = read_json(text, problems);
  INFO(problems.text());
  REQUIRE(problems.empty());
  Map map;
  for (const Entry& entry : entries.list()) map.emplace(entry.key, entry.value);
  return map;
}

Lines problems_of(std::string_view text) {
  Problems problems{"f"};
  read_json(text, problems);
  return lines_of(problems);
}

}  // namespace

TEST_CASE("a flat object and Connect's name with config are the same map", "[config]") {
  const Map expected{{"name", "a"}, {"tasks.max", "1"}};
  CHECK(flat(R"({"name":"a","tasks.max":"1"})") == expected);
  CHECK(flat(R"({"name":"a","config":{"tasks.max":"1"}})") == expected);
  CHECK(flat(R"({"config":{"name":" a","tasks.max":"1"},"name":"a"})") ==
        Map{{"name", " a"}, {"tasks.max", "1"}});
}

TEST_CASE("numbers and booleans become strings, as Connect does", "[config]") {
  CHECK(flat(R"({"a":1,"b":-7,"c":true,"d":1.5,"e":9223372036854775807,"f":"\u00e4\n"})") ==
        Map{{"a", "1"},
            {"b", "-7"},
            {"c", "true"},
            {"d", "1.5"},
            {"e", "9223372036854775807"},
            {"f", "\xC3\xA4\n"}});
}

TEST_CASE("null is refused with its key and place, and the rest is still read", "[config]") {
  CHECK(problems_in("{\"name\":\"a\",\n \"tasks.max\":null, \"task.max\":1, \"topics\":\"t\","
                    "\"connector.class\":\"file\"}",
                    Format::Json) ==
        Lines{"f:2:2: tasks.max: null is no value; write one, or take the key out",
              "f:2:20: task.max: unknown key; did you mean tasks.max?"});
}

TEST_CASE("a key twice names both places, where a JSON library would keep the last", "[config]") {
  CHECK(problems_of("{\"a\":1,\n\"a\":2}") ==
        Lines{"f:2:1: a: is already written at 1:2; keep one of the two"});
  CHECK(problems_of("{\"config\":{\"a\":1,\"\\u0061\":2}}") ==
        Lines{"f:1:18: a: is already written at 1:12; keep one of the two"});
}

TEST_CASE("an integer beyond 64 bits is refused with its key", "[config]") {
  CHECK(problems_of("{\"a\":9223372036854775808}") ==
        Lines{"f:1:2: a: is an integer beyond 64 bits"});
  CHECK(problems_of("{\"a\":-99999999999999999999}") ==
        Lines{"f:1:2: a: is an integer beyond 64 bits"});
}

TEST_CASE("a list or an object is no value", "[config]") {
  const std::string what = "; a value is a string, a number, true or false";
  CHECK(problems_of(R"({"a":[1,{"b":null}],"c":1})") == Lines{"f:1:2: a: holds a list" + what});
  CHECK(problems_of(R"({"a":{"b":{"c":1}}})") == Lines{"f:1:2: a: holds an object" + what});
  CHECK(problems_of(R"({"config":{"config":{"b":1}}})") ==
        Lines{"f:1:12: config: holds an object" + what});
}

TEST_CASE("beside config stands only the same name", "[config]") {
  CHECK(problems_of(R"({"name":"a","config":{"name":"b"}})") ==
        Lines{"f:1:23: name: 'b' in \"config\" is not the name beside it, 'a'; take one of the two "
              "out"});
  CHECK(problems_of(R"({"name":"a","initial_state":"PAUSED","config":{}})") ==
        Lines{"f:1:13: initial_state: not supported yet; take it out"});
  CHECK(problems_of(R"({"name":"a","x":"1","config":{}})") ==
        Lines{"f:1:13: x: unknown beside \"config\"; move it into \"config\", or take it out"});
}

TEST_CASE("what is no JSON object is refused at the byte that is wrong", "[config]") {
  const std::string none = "holds no JSON object; write {\"name\": \"...\", \"config\": {...}}";
  CHECK(problems_of("[{\"a\":1}]") == Lines{"f:1:1: " + none});
  CHECK(problems_of("\"a\"") == Lines{"f:1:3: " + none});
  CHECK(problems_of("{\"a\":1,}") == Lines{"f:1:8: not JSON: syntax error"});
  CHECK(problems_of("{\"a\":1") == Lines{"f:1:7: not JSON: incomplete JSON"});
  CHECK(problems_of("{} {}") == Lines{"f:1:4: not JSON: extra data"});
  CHECK(problems_of("") == Lines{"f:1:1: not JSON: incomplete JSON"});
}

TEST_CASE("every beginning of a JSON file is refused or read, and never crashes", "[config]") {
  const std::string whole = R"({"name":"a\"\\","config":{"b\u00e4":[1,{"x":null}],"c":1e5}})";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Problems problems{"f"};
    read_json(std::string_view{whole}.substr(0, length), problems);
    CHECK_FALSE(problems.empty());
  }
}

}  // namespace sluice::config
