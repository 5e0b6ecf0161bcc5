#include "lines/text.hpp"

#include <array>
#include <charconv>
#include <cstring>

namespace sluice::lines {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

/// How many bytes at the front are ASCII; eight at a time.
std::size_t ascii_prefix(std::string_view bytes) {
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + sizeof eight <= bytes.size(); at += sizeof eight) {
    std::memcpy(&eight, bytes.data() + at, sizeof eight);
    if ((eight & 0x8080808080808080) != 0) {
      break;
    }
  }
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) < 0x80) {
    ++at;
  }
  return at;
}

struct Range {
  unsigned char low;
  unsigned char high;
  bool holds(char byte) const {
    const auto value = static_cast<unsigned char>(byte);
    return value >= low && value <= high;
  }
};

/// Length of the well-formed sequence at the front, 0 if there is none (Unicode 15, table 3-7).
std::size_t sequence_length(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  std::size_t length = 0;
  Range second{0x80, 0xbf};
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    second = {static_cast<unsigned char>(lead == 0xe0 ? 0xa0 : 0x80),
              static_cast<unsigned char>(lead == 0xed ? 0x9f : 0xbf)};
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    second = {static_cast<unsigned char>(lead == 0xf0 ? 0x90 : 0x80),
              static_cast<unsigned char>(lead == 0xf4 ? 0x8f : 0xbf)};
  }
  if (length == 0 || bytes.size() < length || !second.holds(bytes[1])) {
    return 0;
  }
  constexpr Range kContinuation{0x80, 0xbf};
  for (std::size_t at = 2; at < length; ++at) {
    if (!kContinuation.holds(bytes[at])) {
      return 0;
    }
  }
  return length;
}

/// What stands after a backslash: a letter for those that both JSON and COPY have one for, `other`
/// for the other control characters, 0 for what needs no backslash.
constexpr std::array<char, 256> escapes_with(char other) {
  std::array<char, 256> escapes{};
  for (int control = 0; control < 0x20; ++control) {
    escapes[static_cast<std::size_t>(control)] = other;
  }
  escapes['\b'] = 'b';
  escapes['\f'] = 'f';
  escapes['\n'] = 'n';
  escapes['\r'] = 'r';
  escapes['\t'] = 't';
  escapes['\\'] = '\\';
  return escapes;
}

constexpr std::array<char, 256> kJsonEscapes = [] {
  auto escapes = escapes_with('u');
  escapes['"'] = '"';
  return escapes;
}();

constexpr std::array<char, 256> kCopyEscapes = [] {
  auto escapes = escapes_with('x');
  escapes['\v'] = 'v';
  return escapes;
}();

void append_hex(std::string& line, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  line += kHexDigits[value >> 4];
  line += kHexDigits[value & 0xf];
}

/// Appends `text`; where the table says so, a backslash, the letter, and for 'u' and 'x' the
/// digits.
void append_escaped(std::string& line, std::string_view text,
                    const std::array<char, 256>& escapes) {
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char escape = escapes[static_cast<unsigned char>(text[at])];
    if (escape == 0) {
      continue;
    }
    line.append(text, copied, at - copied);
    copied = at + 1;
    line += '\\';
    line += escape;
    if (escape == 'u') {
      line += "00";
    }
    if (escape == 'u' || escape == 'x') {
      append_hex(line, text[at]);
    }
  }
  line.append(text, copied, text.size() - copied);
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  for (;;) {
    bytes.remove_prefix(ascii_prefix(bytes));
    if (bytes.empty()) {
      return true;
    }
    const std::size_t length = sequence_length(bytes);
    if (length == 0) {
      return false;
    }
    bytes.remove_prefix(length);
  }
}

void append_json_string(std::string& line, std::string_view text) {
  line += '"';
  append_escaped(line, text, kJsonEscapes);
  line += '"';
}

void append_json_base64(std::string& line, std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  line += '"';
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t three = 0;
    for (std::size_t index = 0; index < 3; ++index) {
      three = three << 8 | (index < count ? static_cast<unsigned char>(bytes[at + index]) : 0U);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      line += digit <= count ? kDigits[three >> (18 - 6 * digit) & 0x3f] : '=';
    }
  }
  line += '"';
}

void append_number(std::string& line, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  line.append(digits, end);
}

void append_copy_field(std::string& line, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t ascii = ascii_prefix(bytes);
    append_escaped(line, bytes.substr(0, ascii), kCopyEscapes);
    bytes.remove_prefix(ascii);
    if (bytes.empty()) {
      return;
    }
    const std::size_t length = sequence_length(bytes);
    if (length == 0) {
      line += "\\x";
      append_hex(line, bytes[0]);
    } else {
      line.append(bytes, 0, length);
    }
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

}  // namespace sluice::lines
