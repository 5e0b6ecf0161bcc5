#include "host/base/value_syntax.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string>

namespace sluice {

namespace {

struct Suffix {
  std::string_view name;
  std::int64_t factor;
};

// "ms" stands before "s" and "m": the first that fits wins.
constexpr std::array<Suffix, 5> kDurations{
    {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}, {"d", 24 * 60 * 60 * 1000}}};
constexpr std::array<Suffix, 3> kSizes{{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}};

Error must_be(const char* what) {
  return Error{ErrorCode::Configuration, what};
}

bool is_integer(std::string_view text, std::int64_t& value) {
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  return failed == std::errc{} && stop == end && !text.empty();
}

/// Plain decimal digits with at most one point: no sign, exponent, inf or nan.
bool is_plain_number(std::string_view text, double& value) {
  if (text.empty() || text.front() == '.' || text.back() == '.') return false;
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return false;
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  return failed == std::errc{} && stop == end;
}

Result<std::int64_t> parse_scaled(std::string_view text, std::span<const Suffix> suffixes,
                                  const char* expected) {
  std::int64_t integer = 0;
  if (is_integer(text, integer)) {
    if (integer < 0) return must_be(expected);
    return integer;
  }
  for (const Suffix& suffix : suffixes) {
    if (!text.ends_with(suffix.name)) continue;
    double number = 0;
    if (!is_plain_number(text.substr(0, text.size() - suffix.name.size()), number)) break;
    const double scaled = number * static_cast<double>(suffix.factor);
    // Beyond 2^53 a double has lost digits; "1.0001s" names no whole millisecond.
    if (scaled > 0x1p53 || std::abs(scaled - std::round(scaled)) > 1e-6) break;
    return static_cast<std::int64_t>(std::llround(scaled));
  }
  return must_be(expected);
}

}  // namespace

Result<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  if (!is_integer(text, value)) return must_be("must be an integer");
  return value;
}

Result<double> parse_float(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  if (text.empty() || failed != std::errc{} || stop != end || !std::isfinite(value)) {
    return must_be("must be a number");
  }
  return value;
}

Result<bool> parse_bool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return must_be("must be true or false");
}

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  return parse_scaled(text, kDurations,
                      "must be a duration: an integer (ms), or a number with ms, s, m, h or d");
}

Result<std::int64_t> parse_size_bytes(std::string_view text) {
  return parse_scaled(text, kSizes,
                      "must be a size: an integer (bytes), or a number with KiB, MiB or GiB");
}

}  // namespace sluice
