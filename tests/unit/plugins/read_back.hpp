// Reading back what sinks wrote, by rules of its own and not by the writer's code: JSON through
// Boost.JSON, base64 and COPY escapes decoded here. And the ten records of case B09, which must
// come back as the same bytes.
#pragma once

#include <boost/json.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "unit/sdk/test_records.hpp"

namespace sluice::test {

using OptionalText = std::optional<std::string>;

/// Case B09.
inline std::vector<TestRecord> b09_records() {
  using namespace std::string_literals;
  return {
      {std::nullopt, std::nullopt},
      {"", ""},
      {"key", std::nullopt},
      {"k", "v", {{"header", std::nullopt}}},
      {"k", "v", {{"header", ""}}},
      {"k", "v", {{"twice", "1"}, {"other", "x"}, {"twice", "2"}}},
      {"\xff\x00\xfe"s, "v"},
      {"k", "line\nfeed\r \"quote\" \\ tab\t NUL\0 end"s},
      {"k", "v", {{"\xc3\xbc\xe5\x90\x8d", "\xff"}}},
      {"k", "v", {{"__connect.errors.topic", "mine"}}},
  };
}

inline std::string read_file(const std::string& path) {
  std::stringstream text;
  text << std::ifstream{path, std::ios::binary}.rdbuf();
  return text.str();
}

/// The lines of a text that ends with LF; what follows the last LF counts as a line too.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream rest{text};
  for (std::string line; std::getline(rest, line);) {
    lines.push_back(line);
  }
  return lines;
}

inline std::string decode_base64(std::string_view digits) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char digit : digits.substr(0, digits.find('='))) {
    bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(digit));
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      bytes += static_cast<char>(bits >> bit_count);
    }
  }
  return bytes;
}

/// "\N" is null; every other escape of COPY's text format.
inline OptionalText decode_copy(const std::string& field) {
  if (field == "\\N") {
    return std::nullopt;
  }
  std::string bytes;
  for (std::size_t at = 0; at < field.size(); ++at) {
    if (field[at] != '\\') {
      bytes += field[at];
      continue;
    }
    const char letter = field.at(++at);
    const std::string_view letters = "bfnrtv";
    const std::size_t known = letters.find(letter);
    if (letter == 'x') {
      bytes += static_cast<char>(std::stoi(field.substr(at + 1, 2), nullptr, 16));
      at += 2;
    } else {
      bytes += known == std::string_view::npos ? letter : "\b\f\n\r\t\v"[known];
    }
  }
  return bytes;
}

/// A string, null, or {"base64": ".."}.
inline OptionalText decode_element(const boost::json::value& value) {
  if (value.is_null()) {
    return std::nullopt;
  }
  if (value.is_object()) {
    return decode_base64(value.as_object().at("base64").as_string());
  }
  return std::string{value.as_string()};
}

/// NAME, or NAME_base64.
inline OptionalText decode_field(const boost::json::object& object, const std::string& name) {
  if (const auto* base64 = object.if_contains(name + "_base64")) {
    return decode_base64(base64->as_string());
  }
  return decode_element(object.at(name));
}

inline std::vector<std::pair<std::string, OptionalText>> decode_headers(
    const boost::json::value& headers) {
  std::vector<std::pair<std::string, OptionalText>> decoded;
  for (const auto& header : headers.as_array()) {
    decoded.emplace_back(*decode_element(header.as_array().at(0)),
                         decode_element(header.as_array().at(1)));
  }
  return decoded;
}

}  // namespace sluice::test
