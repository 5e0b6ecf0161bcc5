#include "ipc/failure_text.hpp"

#include <cstdint>

#include "ipc/layout.hpp"

namespace sluice::ipc {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::size_t kNameSizeMax =
    200;  // of plugin and stage: most of the entry is the message's

struct Character {
  std::size_t size = 0;  // 0: not a character
  std::uint32_t code = 0;
};

// Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + size > text.size()) return {};
  std::uint32_t code = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {size, code};
}

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

}  // namespace

std::string_view cut_at_character(std::string_view text, std::size_t size_max) {
  if (text.size() <= size_max) return text;
  std::size_t size = size_max;
  // At most three steps back over continuation bytes; more means that it is not UTF-8 anyway.
  for (int step = 0; step < 3 && size > 0; ++step) {
    if ((static_cast<unsigned char>(text[size]) & 0xC0U) != 0x80U) break;
    --size;
  }
  return text.substr(0, size);
}

std::string encode_failure_text(const FailureText& text) {
  std::string encoded{cut_at_character(text.plugin, kNameSizeMax)};
  encoded += '\0';
  encoded += cut_at_character(text.stage, kNameSizeMax);
  encoded += '\0';
  encoded += cut_at_character(text.message, kArenaEntrySize - encoded.size());
  return encoded;
}

FailureText decode_failure_text(std::string_view text) {
  const std::size_t first = text.find('\0');
  if (first == text.npos) return {{}, {}, std::string{text}};
  const std::size_t second = text.find('\0', first + 1);
  const bool has_message = second != text.npos;
  return {std::string{text.substr(0, first)},
          std::string{text.substr(first + 1, has_message ? second - first - 1 : text.npos)},
          std::string{has_message ? text.substr(second + 1) : std::string_view{}}};
}

std::string sanitized(std::string_view bytes, int separators_max) {
  std::string clean;
  clean.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Character found = character_at(bytes, at);
    if (found.size == 1 && found.code == 0 && separators_max > 0) {
      clean += '\0';
      --separators_max;
    } else if (found.code == '\t' || found.code == '\n' || found.code == '\r') {
      clean += ' ';
    } else if (found.size == 0 || is_control(found.code)) {
      clean += kReplacement;
    } else {
      clean += bytes.substr(at, found.size);
    }
    at += found.size == 0 ? 1 : found.size;
  }
  return clean;
}

}  // namespace sluice::ipc
