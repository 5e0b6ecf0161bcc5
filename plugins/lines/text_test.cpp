#include "lines/text.hpp"

#include <catch2/catch.hpp>

using namespace sluice::lines;
using namespace std::string_literals;

namespace {

std::string json(std::string_view text) {
  std::string line;
  append_json_string(line, text);
  return line;
}

std::string base64(std::string_view bytes) {
  std::string line;
  append_json_base64(line, bytes);
  return line;
}

std::string copy(std::string_view bytes) {
  std::string line;
  append_copy_field(line, bytes);
  return line;
}

}  // namespace

TEST_CASE("UTF-8 is what Unicode's table of well-formed sequences says", "[plugins]") {
  for (const std::string& good :
       {""s, "ascii"s, "\0"s, "\xc2\x80"s, "\xdf\xbf"s, "\xe0\xa0\x80"s, "\xed\x9f\xbf"s,
        "\xee\x80\x80"s, "\xf0\x90\x80\x80"s, "\xf4\x8f\xbf\xbf"s, "12345678\xc3\xbc"s}) {
    CAPTURE(good);
    REQUIRE(is_utf8(good));
  }
  for (const std::string& bad :
       {"\x80"s, "\xc0\x80"s, "\xc1\xbf"s, "\xc3"s, "\xc3("s, "\xe0\x9f\xbf"s, "\xed\xa0\x80"s,
        "\xe2\x82"s, "\xf0\x8f\xbf\xbf"s, "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\xff"s,
        "12345678\xff"s, "1234567\xff"s, "\xf0\x9f\x98"s}) {
    CAPTURE(bad);
    REQUIRE_FALSE(is_utf8(bad));
  }
}

TEST_CASE("every control character is escaped in JSON, and nothing else", "[plugins]") {
  REQUIRE(json("") == R"("")");
  REQUIRE(json("a\"b\\c/d") == R"("a\"b\\c/d")");
  REQUIRE(json("\b\f\n\r\t\0\x01\x1f\x7f"s) == "\"\\b\\f\\n\\r\\t\\u0000\\u0001\\u001f\x7f\"");
  REQUIRE(json("\xc3\xbc") == "\"\xc3\xbc\"");
}

TEST_CASE("base64 is RFC 4648's", "[plugins]") {
  REQUIRE(base64("") == R"("")");
  REQUIRE(base64("f") == R"("Zg==")");
  REQUIRE(base64("fo") == R"("Zm8=")");
  REQUIRE(base64("foo") == R"("Zm9v")");
  REQUIRE(base64("foobar") == R"("Zm9vYmFy")");
  REQUIRE(base64("\xff\x00\xfe"s) == R"("/wD+")");
}

TEST_CASE("a COPY field has no tab, line feed or lone backslash in it", "[plugins]") {
  REQUIRE(copy("a\tb\nc\rd\\e\bf\fg\vh") == R"(a\tb\nc\rd\\e\bf\fg\vh)");
  REQUIRE(copy("\\N") == R"(\\N)");
  REQUIRE(copy("\0\x1b"s) == R"(\x00\x1b)");
  REQUIRE(copy("\xc3\xbc\xff\xfe!") == "\xc3\xbc\\xff\\xfe!");
  REQUIRE(copy("") == "");
}

TEST_CASE("numbers are decimal to the ends of their range", "[plugins]") {
  std::string line;
  append_number(line, INT64_MIN);
  append_number(line, INT64_MAX);
  REQUIRE(line == "-92233720368547758089223372036854775807");
}
