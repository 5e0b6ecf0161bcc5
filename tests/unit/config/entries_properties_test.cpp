#include <catch2/catch.hpp>
#include <map>

#include "config_text.hpp"
#include "host/config/entries.hpp"

namespace sluice::config {
namespace {

using Map = std::map<std::string, std::string>;

Map flat(std::string_view text) {
  Problems problems{"f"};
  const Entries entries = read_properties(text, problems);
  INFO(problems.text());
  REQUIRE(problems.empty());
  Map map;
  for (const Entry& entry : entries.list()) map.emplace(entry.key, entry.value);
  return map;
}

Lines problems_of(std::string_view text) {
  Problems problems{"f"};
  read_properties(text, problems);
  return lines_of(problems);
}

}  // namespace

TEST_CASE("key and value are parted by =, : or a blank, as Java does", "[config]") {
  CHECK(flat("a=1\nb:2\nc 3\n d = 4 \ne\nf==x\n") ==
        Map{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4 "}, {"e", ""}, {"f", "=x"}});
}

TEST_CASE("comments, line ends and continued lines are read as Java does", "[config]") {
  CHECK(flat("# c\n  ! c\r\n\na = one \\\n    two\nb = x\\\\\nc = y\\") ==
        Map{{"a", "one two"}, {"b", "x\\"}, {"c", "y"}});
}

TEST_CASE("escapes in keys and values are read as Java does", "[config]") {
  CHECK(flat("a\\ b\\=c = \\t\\n\\u00e4\\uD83D\\uDE00\\q") ==
        Map{{"a b=c", "\t\n\xC3\xA4\xF0\x9F\x98\x80q"}});
}

TEST_CASE("a broken unicode escape is refused with its line", "[config]") {
  const std::string what = "a \\u that is not followed by four hex digits of a character";
  CHECK(problems_of("a=1\nb=\\u00g1") == Lines{"f:2:1: " + what});
  CHECK(problems_of("b=\\u12") == Lines{"f:1:1: " + what});
  CHECK(problems_of("b=\\uD83D") == Lines{"f:1:1: " + what});
  CHECK(problems_of("b=\\uDE00") == Lines{"f:1:1: " + what});
}

TEST_CASE("a key twice is refused, where Java keeps the last", "[config]") {
  CHECK(problems_of("a=1\n  a=2") ==
        Lines{"f:2:3: a: is already written at 1:1; keep one of the two"});
}

}  // namespace sluice::config
