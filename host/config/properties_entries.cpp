// Java's .properties (java.util.Properties.load), read as UTF-8: logical lines, `#` and `!`
// comments,
// `=`, `:` or a blank between key and value, escapes, a last `\` joins the next line.
#include <optional>

#include "host/config/entries.hpp"
#include "host/config/values.hpp"

namespace sluice::config {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

/// Four hex digits after `\u`.
std::optional<std::uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t code = 0;
  for (const char c : text.substr(0, 4)) {
    const bool digit = c >= '0' && c <= '9';
    const char lower = static_cast<char>(c | 0x20);
    if (!digit && (lower < 'a' || lower > 'f')) return std::nullopt;
    code = code * 16 + static_cast<std::uint32_t>(digit ? c - '0' : lower - 'a' + 10);
  }
  return code;
}

bool is_high_surrogate(std::uint32_t code) {
  return code >= 0xD800 && code < 0xDC00;
}
bool is_low_surrogate(std::uint32_t code) {
  return code >= 0xDC00 && code < 0xE000;
}

/// `\uXXXX`, `text` standing behind the `u`, or a pair of them for a character beyond 16 bits.
bool take_unicode(std::string_view& text, std::string& out) {
  auto code = hex4(text);
  if (!code || is_low_surrogate(*code)) return false;
  text.remove_prefix(4);
  if (is_high_surrogate(*code)) {
    const auto low = text.starts_with("\\u") ? hex4(text.substr(2)) : std::nullopt;
    if (!low || !is_low_surrogate(*low)) return false;
    text.remove_prefix(6);
    code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
  }
  append_utf8(out, *code);
  return true;
}

std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c != '\\' || text.empty()) {
      if (c != '\\') out += c;
      continue;
    }
    const char escaped = text.front();
    text.remove_prefix(1);
    switch (escaped) {
      case 't':
        out += '\t';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 'f':
        out += '\f';
        break;
      case 'u':
        if (!take_unicode(text, out)) return std::nullopt;
        break;
      default:
        out += escaped;
    }
  }
  return out;
}

constexpr std::string_view kBlanks = " \t\f";

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}

bool ends_with_odd_backslashes(std::string_view line) {
  std::size_t count = 0;
  while (count < line.size() && line[line.size() - 1 - count] == '\\') ++count;
  return count % 2 == 1;
}

/// Natural lines in, logical lines out.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_{text} {}

  bool next(std::string& logical, Position& position) {
    while (begin_ < text_.size()) {
      std::string_view line = natural();
      position = {number_, static_cast<std::uint32_t>(line.size())};
      line = without_leading_blanks(line);
      position.column -= static_cast<std::uint32_t>(line.size()) - 1;
      if (line.empty() || line.front() == '#' || line.front() == '!') continue;
      logical = line;
      while (ends_with_odd_backslashes(logical)) {
        logical.pop_back();
        if (begin_ >= text_.size()) break;
        logical += without_leading_blanks(natural());
      }
      return true;
    }
    return false;
  }

 private:
  std::string_view natural() {
    const std::size_t end = std::min(text_.find('\n', begin_), text_.size());
    std::string_view line = text_.substr(begin_, end - begin_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin_ = end + 1;
    ++number_;
    return line;
  }

  std::string_view text_;
  std::size_t begin_ = 0;
  std::uint32_t number_ = 0;
};

/// Length of the key in a logical line: up to the first `=`, `:` or blank that is not escaped.
std::size_t key_length(std::string_view line) {
  std::size_t i = 0;
  while (i < line.size() && std::string_view{"=: \t\f"}.find(line[i]) == std::string_view::npos) {
    i += line[i] == '\\' ? 2 : 1;
  }
  return std::min(i, line.size());
}

}  // namespace

Entries read_properties(std::string_view text, Problems& problems) {
  Entries entries;
  Lines lines{text};
  std::string line;
  Position position;
  while (lines.next(line, position)) {
    const std::size_t length = key_length(line);
    std::string_view rest = without_leading_blanks(std::string_view{line}.substr(length));
    if (!rest.empty() && (rest.front() == '=' || rest.front() == ':')) rest.remove_prefix(1);
    auto key = unescape(std::string_view{line}.substr(0, length));
    auto value = unescape(without_leading_blanks(rest));
    if (!key || !value) {
      problems.add(position, {}, "a \\u that is not followed by four hex digits of a character");
      continue;
    }
    entries.add(*std::move(key), *std::move(value), position, problems);
  }
  return entries;
}

}  // namespace sluice::config
