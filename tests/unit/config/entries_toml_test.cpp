// The seven rules of interfaces.md, "One configuration vocabulary", by number.
#include <catch2/catch.hpp>
#include <map>

#include "config_text.hpp"
#include "host/config/entries.hpp"

namespace sluice::config {
namespace {

std::map<std::string, std::string> flat(std::string_view text) {
  Problems problems{"f"};
  const Entries entries = read_toml(text, problems);
  INFO(problems.text());
  REQUIRE(problems.empty());
  std::map<std::string, std::string> map;
  for (const Entry& entry : entries.list()) map.emplace(entry.key, entry.value);
  return map;
}

Lines problems_of(std::string_view text) {
  Problems problems{"f"};
  read_toml(text, problems);
  return lines_of(problems);
}

Position position_of(std::string_view text, std::string_view key) {
  Problems problems{"f"};
  const Entries entries = read_toml(text, problems);
  const Entry* const entry = entries.find(key);
  REQUIRE(entry != nullptr);
  return entry->position;
}

using Map = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("rule 1: a dotted key, a table and an inline table are the same key", "[config]") {
  const Map expected{{"tasks.max", "4"}};
  CHECK(flat("tasks.max = 4") == expected);
  CHECK(flat("[tasks]\nmax = 4") == expected);
  CHECK(flat("tasks = { max = 4 }") == expected);
  CHECK(flat("tasks . max = 4") == expected);
}

TEST_CASE("rule 2: a quoted key is taken as written, so a key may begin another", "[config]") {
  CHECK(flat("key.converter = \"x\"\n\"key.converter.schemas.enable\" = false") ==
        Map{{"key.converter", "x"}, {"key.converter.schemas.enable", "false"}});
}

TEST_CASE("rule 3: a list of tables with names becomes prefixed keys and the names", "[config]") {
  CHECK(flat("transforms = [{ name = \"big\", type = \"filter\", value.size.min = 1000 },\n"
             "              { name = \"small\", type = \"filter\" }]") ==
        Map{{"transforms", "big,small"},
            {"transforms.big.type", "filter"},
            {"transforms.big.value.size.min", "1000"},
            {"transforms.small.type", "filter"}});
  CHECK(flat("[[predicates]]\nname = \"t\"\ntype = \"RecordIsTombstone\"") ==
        Map{{"predicates", "t"}, {"predicates.t.type", "RecordIsTombstone"}});
}

TEST_CASE("rule 3: an element without a name is refused at its place", "[config]") {
  CHECK(problems_of("transforms = [\n  { type = \"filter\" } ]") ==
        Lines{"f:2:3: transforms: element 1 has no name; write name = \"...\", without a comma"});
  CHECK(problems_of("transforms = [{ name = \"a,b\" }]") ==
        Lines{"f:1:15: transforms: element 1 has no name; write name = \"...\", without a comma"});
  CHECK(
      problems_of("transforms = [{ name = \"a\" }, 7]") ==
      Lines{"f:1:31: transforms: element 2 is no table; write { name = \"...\", type = \"...\" }"});
}

TEST_CASE("rule 4: a list of scalars is joined with commas", "[config]") {
  CHECK(flat("topics = [\"a\", \"b\"]\nn = [1, 2.5, true]") ==
        Map{{"topics", "a,b"}, {"n", "1,2.5,true"}});
}

TEST_CASE("rule 4: what cannot be joined is refused at its element", "[config]") {
  CHECK(problems_of("a = [\"x\", \"y,z\"]") ==
        Lines{"f:1:11: a: element 2 has a comma, which separates elements; it cannot stand in a "
              "list"});
  const std::string must = "; a list holds strings, numbers, true or false";
  CHECK(problems_of("a = [[1]]") == Lines{"f:1:6: a: element 1 is a list" + must});
  CHECK(problems_of("a = [{ b = 1 }]") == Lines{"f:1:6: a: element 1 is a table" + must});
  CHECK(problems_of("a = [2026-01-01]") == Lines{"f:1:6: a: element 1 is a date or time" + must});
  CHECK(problems_of("a = [inf]") == Lines{"f:1:6: a: element 1 is inf or nan" + must});
  CHECK(problems_of("a = [nan]") == Lines{"f:1:6: a: element 1 is inf or nan" + must});
  CHECK(problems_of("a = [\"\"]") == Lines{"f:1:6: a: element 1 is empty; take it out"});
}

TEST_CASE("rule 5: integers in decimal, floats shortest, no dates, no inf", "[config]") {
  CHECK(flat("a = 0x10\nb = 1_000\nc = 0.10\nd = 1e3\ne = true") ==
        Map{{"a", "16"}, {"b", "1000"}, {"c", "0.1"}, {"d", "1000"}, {"e", "true"}});
  CHECK(problems_of("a = 2026-01-01T00:00:00Z") ==
        Lines{"f:1:1: a: holds a date or time; write a string in quotes"});
  CHECK(problems_of("a = -inf") == Lines{"f:1:1: a: holds inf or nan; write a string in quotes"});
}

TEST_CASE("rule 6: one key reached twice names both places", "[config]") {
  CHECK(problems_of("a.b = 1\n\"a.b\" = 2") ==
        Lines{"f:2:1: a.b: is already written at 1:1; keep one of the two"});
  CHECK(
      problems_of("transforms = [{ name = \"x\", type = \"a\" }]\n\"transforms.x.type\" = \"b\"") ==
      Lines{"f:2:1: transforms.x.type: is already written at 1:29; keep one of the two"});
}

TEST_CASE("rule 7: an empty list is the empty string", "[config]") {
  CHECK(flat("topics = []\ntransforms = []") == Map{{"topics", ""}, {"transforms", ""}});
}

TEST_CASE("a key's position is where its first part begins on its line", "[config]") {
  const std::string text =
      "[tasks]\n  max = 4\n[a]\nb.c = 1\nb.\"d e\" = 2\nt = { x.y = 1, z = 2 }\n\"\xC3\xA4\".b = "
      "1\n";
  CHECK(position_of(text, "tasks.max") == Position{2, 3});
  CHECK(position_of(text, "a.b.c") == Position{4, 1});
  CHECK(position_of(text, "a.b.d e") == Position{5, 1});
  CHECK(position_of(text, "a.t.x.y") == Position{6, 7});
  CHECK(position_of(text, "a.t.z") == Position{6, 16});
}

TEST_CASE("the same key or table twice is a parse error with the line", "[config]") {
  const std::string hint =
      "; a key or table stands once, and a key that is also the beginning of another one is "
      "written "
      "in quotes: \"key.converter\" = \"x\" beside \"key.converter.schemas.enable\" = false";
  CHECK(problems_of("a = 1\na = 2") == Lines{"f:2:5: cannot redefine existing integer 'a'" + hint});
  CHECK(problems_of("[a]\nb = 1\n[a]\nc = 1") ==
        Lines{"f:3:1: cannot redefine existing table 'a'" + hint});
  CHECK(problems_of("key.converter = \"x\"\nkey.converter.schemas.enable = false") ==
        Lines{"f:2:5: cannot redefine existing string as dotted key-value pair" + hint});
}

TEST_CASE("an integer beyond 64 bits is a parse error with the line", "[config]") {
  CHECK(problems_of("\na = 9223372036854775808") ==
        Lines{"f:2:24: '9223372036854775808' is not representable in 64 bits"});
}

TEST_CASE("a text that is no TOML has one problem, and no key is reported missing", "[config]") {
  CHECK(problems_in("tasks.max = 10 parsecs") ==
        Lines{"f:1:16: expected a comment or whitespace, saw 'p'"});
  CHECK(problems_in("a = \"\xFF\"").size() == 1);
}

TEST_CASE("a NUL in a value is refused, since plugins read C strings", "[config]") {
  CHECK(problems_of("a = \"x\\u0000y\"") == Lines{"f:1:1: a: its value holds a NUL character"});
  CHECK(problems_of("\"a\\nb\" = 1") == Lines{"f:1:1: a\\x0Ab: a key with a control character"});
  CHECK(problems_of("\"\" = 1") == Lines{"f:1:1: a key without a name; take it out"});
}

}  // namespace sluice::config
