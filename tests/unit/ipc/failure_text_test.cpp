#include "ipc/failure_text.hpp"

#include <catch2/catch.hpp>

#include "ipc/layout.hpp"

namespace sluice::ipc {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

}  // namespace

TEST_CASE("a failure text comes back in its three parts", "[ipc]") {
  const std::string encoded = encode_failure_text({"lines 1.0.0", "put", "disk full"});
  const FailureText decoded = decode_failure_text(sanitized(encoded, 2));
  CHECK(decoded.plugin == "lines 1.0.0");
  CHECK(decoded.stage == "put");
  CHECK(decoded.message == "disk full");
}

TEST_CASE("a failure text always fits into an arena entry, whatever its parts", "[ipc]") {
  const std::string encoded =
      encode_failure_text({std::string(5000, 'p'), std::string(5000, 's'), std::string(5000, 'm')});
  CHECK(encoded.size() == kArenaEntrySize);
  CHECK_FALSE(decode_failure_text(encoded).message.empty());
}

TEST_CASE("a text is never cut inside a character", "[ipc]") {
  const std::string euro = "\xE2\x82\xAC";
  CHECK(cut_at_character("ab" + euro, 5) == "ab" + euro);
  CHECK(cut_at_character("ab" + euro, 4) == "ab");
  CHECK(cut_at_character("ab" + euro, 3) == "ab");
  CHECK(cut_at_character("ab" + euro, 2) == "ab");
}

TEST_CASE("a text with fewer parts than three decodes without inventing any", "[ipc]") {
  using namespace std::string_view_literals;
  CHECK(decode_failure_text("just words").message == "just words");
  CHECK(decode_failure_text("plugin\0stage"sv).stage == "stage");
  CHECK(decode_failure_text("plugin\0stage"sv).message.empty());
  CHECK(decode_failure_text("").message.empty());
}

TEST_CASE("control characters and broken UTF-8 do not survive the decoder", "[ipc]") {
  using namespace std::string_view_literals;
  CHECK(sanitized("a\tb\r\nc", 0) == "a b  c");
  CHECK(sanitized("\x1B[2J", 0) == kBad + "[2J");
  CHECK(sanitized("\xC2\x9B", 0) == kBad);  // C1 control: CSI
  CHECK(sanitized("\x7F", 0) == kBad);
  CHECK(sanitized("\xC0\xAF", 0) == kBad + kBad);                        // overlong
  CHECK(sanitized("\xED\xA0\x80", 0) == kBad + kBad + kBad);             // surrogate
  CHECK(sanitized("\xF4\x90\x80\x80", 0) == kBad + kBad + kBad + kBad);  // above U+10FFFF
  CHECK(sanitized("\xE2\x82", 0) == kBad + kBad);                        // cut short
  CHECK(sanitized("gr\xC3\xBC\xC3\x9F", 0) == "gr\xC3\xBC\xC3\x9F");
  CHECK(sanitized("a\0b\0c\0d"sv, 2) == std::string{"a\0b\0c"sv} + kBad + "d");
}

}  // namespace sluice::ipc
