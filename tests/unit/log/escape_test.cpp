#include "host/log/escape.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace sluice::log {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

}  // namespace

TEST_CASE("text of several scripts passes unchanged", "[log]") {
  const std::string text = "grüße, 注文, \xF0\x9F\x9A\xB0 \\ \"";
  CHECK(escaped(text) == text);
}

TEST_CASE("a terminal never sees a control character, C1 included", "[log]") {
  CHECK(escaped("a\nb\tc") == "a\\nb\\tc");
  CHECK(escaped("\x1b[31mred\x7f") == "\\x1b[31mred\\x7f");
  CHECK(escaped(std::string_view{"\0", 1}) == "\\x00");
  CHECK(escaped("\xC2\x9B") == "\\xc2\\x9b");  // U+009B is a one-character ESC [
  CHECK(escaped("\xC2\xA0") == "\xC2\xA0");
}

TEST_CASE("each byte that is not UTF-8 is shown, and what follows it survives", "[log]") {
  const auto [bytes, shown] = GENERATE(table<std::string, std::string>({
      {"\x80x", "\\x80x"},                             // continuation without a beginning
      {"\xC0\xAFx", "\\xc0\\xafx"},                    // overlong '/'
      {"\xE0\x80\xAFx", "\\xe0\\x80\\xafx"},           // overlong in three bytes
      {"\xF0\x80\x80\xAFx", "\\xf0\\x80\\x80\\xafx"},  // and in four
      {"\xED\xA0\x80x", "\\xed\\xa0\\x80x"},           // surrogate
      {"\xF4\x90\x80\x80x", "\\xf4\\x90\\x80\\x80x"},  // above U+10FFFF
      {"\xF5\x80\x80\x80x", "\\xf5\\x80\\x80\\x80x"},
      {"\xC3", "\\xc3"},             // cut off at the end
      {"\xE2\x82x", "\\xe2\\x82x"},  // cut off in the middle
  }));
  CHECK(escaped(bytes) == shown);
}

TEST_CASE("the limits of valid UTF-8 are on the valid side", "[log]") {
  for (const std::string text : {"\xC2\xA0", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                                 "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    CHECK(escaped(text) == text);
  }
}

TEST_CASE("a cut never divides a character", "[log]") {
  const std::string text = "a\xE2\x82\xAC\xE2\x82\xAC";  // a, euro, euro
  CHECK(cut_utf8(text, 7) == text);
  CHECK(cut_utf8(text, 6) == "a\xE2\x82\xAC");
  CHECK(cut_utf8(text, 4) == "a\xE2\x82\xAC");
  CHECK(cut_utf8(text, 3) == "a");
  CHECK(cut_utf8(text, 0).empty());
}

TEST_CASE("a cut through bytes that are no text keeps as many as it may", "[log]") {
  CHECK(cut_utf8(std::string(10, '\x80'), 7).size() == 7);
}

}  // namespace sluice::log
