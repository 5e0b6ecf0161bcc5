#include "host/log/line_splitter.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace sluice::log {
namespace {

using Lines = std::vector<std::string>;

/// A pipe whose reader gets the given pieces, then its end.
Lines lines_of(const std::vector<std::string>& pieces, std::size_t line_bytes_max) {
  LineSplitter splitter{line_bytes_max};
  Lines lines;
  const auto on_line = [&lines](std::string_view line) { lines.emplace_back(line); };
  for (const auto& piece : pieces) splitter.feed(piece, on_line);
  splitter.finish(on_line);
  return lines;
}

}  // namespace

TEST_CASE("where the pieces of a pipe end does not change the lines", "[log]") {
  const std::string text = "first\nsecond line\r\nthird, a bit longer than the limit\n";
  const Lines whole = lines_of({text}, 16);
  REQUIRE(whole == Lines{"first", "second line", "third, a bit lon [18 bytes cut]"});
  for (std::size_t at = 0; at <= text.size(); ++at) {
    CHECK(lines_of({text.substr(0, at), text.substr(at)}, 16) == whole);
  }
  std::vector<std::string> bytes;
  for (const char byte : text) bytes.emplace_back(1, byte);
  CHECK(lines_of(bytes, 16) == whole);
}

TEST_CASE("a line is held back until its line feed, and the last one until the end", "[log]") {
  LineSplitter splitter;
  Lines lines;
  const auto on_line = [&lines](std::string_view line) { lines.emplace_back(line); };
  splitter.feed("half", on_line);
  CHECK(lines.empty());
  splitter.feed(" a line\nrest", on_line);
  CHECK(lines == Lines{"half a line"});
  splitter.finish(on_line);
  CHECK(lines == Lines{"half a line", "rest"});
  splitter.finish(on_line);
  CHECK(lines.size() == 2);
}

TEST_CASE("a line exactly as long as the limit is whole, with or without CR", "[log]") {
  CHECK(lines_of({"12345\n"}, 5) == Lines{"12345"});
  CHECK(lines_of({"12345\r\n"}, 5) == Lines{"12345"});
  CHECK(lines_of({"123456\n"}, 5) == Lines{"12345 [1 bytes cut]"});
  CHECK(lines_of({"123456\r\n"}, 5) == Lines{"12345 [2 bytes cut]"});
}

TEST_CASE("a cut line does not swallow the one after it", "[log]") {
  CHECK(lines_of({"123456789", "0123\nnext\n"}, 5) == Lines{"12345 [8 bytes cut]", "next"});
}

TEST_CASE("megabytes without a line feed come out as one short line", "[log]") {
  const std::vector<std::string> pieces(64, std::string(65'536, 'x'));
  const Lines lines = lines_of(pieces, 100);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == std::string(100, 'x') + " [4194204 bytes cut]");
}

TEST_CASE("a long line is not cut inside a character", "[log]") {
  CHECK(lines_of({"abc\xE2\x82\xAC\n"}, 5) == Lines{"abc [3 bytes cut]"});
}

TEST_CASE("colour codes and bytes that are no text come out visible", "[log]") {
  CHECK(lines_of({"\x1b[1mbold\x1b[0m \xFF\n"}, 100) == Lines{"\\x1b[1mbold\\x1b[0m \\xff"});
}

TEST_CASE("empty lines are dropped", "[log]") {
  CHECK(lines_of({"\n\r\na\n\n"}, 100) == Lines{"a"});
}

}  // namespace sluice::log
