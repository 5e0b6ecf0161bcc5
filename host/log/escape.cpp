#include "host/log/escape.hpp"

#include <cstdint>

namespace sluice::log {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr std::size_t kCharacterBytesMax = 4;

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Length that the first byte of a character announces; 0 if it cannot be a first byte.
std::size_t announced_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

/// Length of the valid character at the start of `text`; 0 if there is none. RFC 3629: no overlong
/// form, no surrogate, nothing above U+10FFFF.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = announced_length(first);
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0U;
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool too_large = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;  // C1: U+0080..U+009F
}

void append_byte_escaped(std::string& out, char byte) {
  if (byte == '\n') {
    out += "\\n";
  } else if (byte == '\t') {
    out += "\\t";
  } else {
    const auto value = static_cast<unsigned char>(byte);
    out += "\\x";
    out += kHexDigits[value >> 4U];
    out += kHexDigits[value & 0xFU];
  }
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    std::size_t length = character_length(text);
    if (length == 0 || is_control(text.substr(0, length))) {
      length = length == 0 ? 1 : length;
      for (const char byte : text.substr(0, length)) append_byte_escaped(out, byte);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  for (std::size_t back = 0; back < kCharacterBytesMax && end > 0; ++back) {
    if (!is_continuation(text[end])) return text.substr(0, end);
    --end;
  }
  return text.substr(0, bytes_max);
}

}  // namespace sluice::log
