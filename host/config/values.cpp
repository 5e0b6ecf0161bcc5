#include "host/config/values.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "host/base/value_syntax.hpp"

namespace sluice::config {
namespace {

Error reason(std::string text) {
  return Error{ErrorCode::Configuration, std::move(text)};
}

/// A fixed number of digits at the front of `text`, within bounds.
std::optional<int> take_field(std::string_view& text, std::size_t digits, int min, int max) {
  if (text.size() < digits) return std::nullopt;
  int number = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return number < min || number > max ? std::nullopt : std::optional{number};
}

bool take_char(std::string_view& text, std::string_view choices) {
  if (text.empty() || choices.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// `.5` or `.123456789` at the front: milliseconds, further digits dropped.
std::optional<int> take_fraction(std::string_view& text) {
  if (!take_char(text, ".")) return 0;
  int milliseconds = 0;
  std::size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
    if (digits < 3) milliseconds = milliseconds * 10 + (text.front() - '0');
    ++digits;
  }
  for (std::size_t i = digits; i < 3; ++i) milliseconds *= 10;
  return digits == 0 ? std::nullopt : std::optional{milliseconds};
}

/// `Z` or `+02:00`, to the end of the text: minutes east of UTC.
std::optional<int> take_zone(std::string_view& text) {
  if (take_char(text, "Zz")) return text.empty() ? std::optional{0} : std::nullopt;
  const bool west = !text.empty() && text.front() == '-';
  if (!take_char(text, "+-")) return std::nullopt;
  const auto hours = take_field(text, 2, 0, 23);
  if (!hours || !take_char(text, ":")) return std::nullopt;
  const auto minutes = take_field(text, 2, 0, 59);
  if (!minutes || !text.empty()) return std::nullopt;
  return (west ? -1 : 1) * (*hours * 60 + *minutes);
}

std::optional<std::int64_t> rfc3339_ms(std::string_view text) {
  namespace chrono = std::chrono;
  const auto year = take_field(text, 4, 1970, 9999);
  if (!year || !take_char(text, "-")) return std::nullopt;
  const auto month = take_field(text, 2, 1, 12);
  if (!month || !take_char(text, "-")) return std::nullopt;
  const auto day = take_field(text, 2, 1, 31);
  if (!day || !take_char(text, "Tt ")) return std::nullopt;
  const auto hour = take_field(text, 2, 0, 23);
  if (!hour || !take_char(text, ":")) return std::nullopt;
  const auto minute = take_field(text, 2, 0, 59);
  if (!minute || !take_char(text, ":")) return std::nullopt;
  const auto second = take_field(text, 2, 0, 59);
  const auto fraction = second ? take_fraction(text) : std::nullopt;
  const auto zone = fraction ? take_zone(text) : std::nullopt;
  const chrono::year_month_day date{chrono::year{*year},
                                    chrono::month(static_cast<unsigned>(*month)),
                                    chrono::day(static_cast<unsigned>(*day))};
  if (!zone || !date.ok()) return std::nullopt;
  const chrono::sys_time<chrono::milliseconds> time =
      chrono::sys_days{date} + chrono::hours{*hour} + chrono::minutes{*minute - *zone} +
      chrono::seconds{*second} + chrono::milliseconds{*fraction};
  return time.time_since_epoch().count();
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string printable(std::string_view text) {
  constexpr std::size_t kShownBytesMax = 60;
  std::string out;
  std::size_t shown = 0;
  for (const char raw : text) {
    const auto byte = static_cast<unsigned char>(raw);
    // Cut between characters, never inside a UTF-8 sequence.
    if (shown++ >= kShownBytesMax && (byte & 0xC0U) != 0x80U) return out + "...";
    if (byte < 0x20 || byte == 0x7F) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02X", byte);
      out += escaped;
    } else {
      out += raw;
    }
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  return "'" + printable(text) + "'";
}

Result<std::int64_t> parse_timestamp_ms(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (trimmed.find_first_not_of("0123456789") == std::string_view::npos && !trimmed.empty()) {
    return parse_integer(trimmed);
  }
  if (const auto time = rfc3339_ms(trimmed)) return *time;
  return reason(
      "must be a time: milliseconds since 1970, or RFC 3339 with its zone "
      "(2026-01-31T12:00:00Z)");
}

Result<std::vector<std::string>> parse_list(std::string_view text) {
  std::vector<std::string> list;
  if (trim(text).empty()) return list;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view element = trim(text.substr(begin, comma - begin));
    if (element.empty()) return reason("must be a list without empty elements");
    list.emplace_back(element);
    begin = comma + 1;
  }
  return list;
}

}  // namespace sluice::config
