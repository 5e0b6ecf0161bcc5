#include "host/config/key_spec.hpp"

#include <algorithm>

#include "host/base/assert.hpp"
#include "host/base/value_syntax.hpp"
#include "host/config/placeholders.hpp"
#include "host/config/values.hpp"

namespace sluice::config {
namespace {

Error reason(std::string text) {
  return Error{ErrorCode::Configuration, std::move(text)};
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += word == words.back() ? " or " : ", ";
    out += word;
  }
  return out;
}

Result<std::int64_t> parse_magnitude(const KeySpec& spec, std::string_view text) {
  switch (spec.type) {
    case ValueType::Duration:
      return parse_duration_ms(text);
    case ValueType::Bytes:
      return parse_size_bytes(text);
    case ValueType::Timestamp:
      return parse_timestamp_ms(text);
    default:
      return parse_integer(text);
  }
}

Result<Value> parse_number(const KeySpec& spec, std::string_view text) {
  if (spec.minus_one && text == "-1") return Value{std::int64_t{-1}};
  const auto number = parse_magnitude(spec, text);
  if (!number) return number.error();
  if (*number < spec.min) return reason("must be at least " + std::to_string(spec.min));
  if (*number > spec.max) return reason("must be at most " + std::to_string(spec.max));
  return Value{*number};
}

Result<Value> parse_choice(const KeySpec& spec, std::string_view text) {
  const auto choices = choices_of(spec.choices);
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found == choices.end()) return reason("must be " + joined(choices));
  return Value{ChoiceIndex{static_cast<std::size_t>(found - choices.begin())}};
}

/// Connect takes TRUE; a TOML boolean is true.
Result<Value> parse_truth(std::string_view text) {
  std::string lower{text};
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto truth = parse_bool(lower);
  if (!truth) return truth.error();
  return Value{*truth};
}

Result<Value> parse_typed(const KeySpec& spec, std::string_view text) {
  switch (spec.type) {
    case ValueType::Text:
      if (text.empty()) return reason("must not be empty");
      return Value{std::string{text}};
    case ValueType::List: {
      auto list = parse_list(text);
      if (!list) return list.error();
      return Value{*std::move(list)};
    }
    case ValueType::Boolean:
      return parse_truth(text);
    case ValueType::Choice:
      return parse_choice(spec, text);
    case ValueType::Integer:
    case ValueType::Duration:
    case ValueType::Bytes:
    case ValueType::Timestamp:
      return parse_number(spec, text);
  }
  SLUICE_ASSERT(false, spec.name);
  return reason({});
}

/// Nothing, or why this value has to wait for its feature.
std::optional<std::string> not_yet(const KeySpec& spec, const Value& value) {
  if (spec.honoured == kAnyValue) return std::nullopt;
  const auto honoured = choices_of(spec.honoured);
  const std::string shown = canonical(spec, value);
  if (std::find(honoured.begin(), honoured.end(), shown) != honoured.end()) return std::nullopt;
  return in_quotes(shown) + " is not supported yet; write " + joined(honoured) +
         ", or take the key out";
}

}  // namespace

std::vector<std::string_view> choices_of(std::string_view joined_choices) {
  std::vector<std::string_view> list;
  for (std::size_t begin = 0; begin < joined_choices.size();) {
    const std::size_t bar = std::min(joined_choices.find('|', begin), joined_choices.size());
    list.push_back(joined_choices.substr(begin, bar - begin));
    begin = bar + 1;
  }
  return list;
}

Result<Value> parse_value(const KeySpec& spec, std::string_view text) {
  if (spec.honoured == kNoValue) return reason("not supported yet; take the key out");
  if (has_placeholder(text)) {
    return reason("cannot be a ${...}: it is read by the host; write the value itself");
  }
  auto value = parse_typed(spec, trim(text));
  if (!value) {
    return reason(value.error().message() + (spec.minus_one ? ", or -1" : "") + ", not " +
                  in_quotes(text));
  }
  if (auto refusal = not_yet(spec, *value)) return reason(*std::move(refusal));
  return value;
}

Value parse_fallback(const KeySpec& spec) {
  auto value = parse_typed(spec, spec.fallback);
  SLUICE_ASSERT(value.has_value(), spec.name, spec.fallback);
  return *std::move(value);
}

std::string canonical(const KeySpec& spec, const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* choice = std::get_if<ChoiceIndex>(&value)) {
    return std::string{choices_of(spec.choices)[choice->index]};
  }
  std::string list;
  for (const std::string& element : std::get<std::vector<std::string>>(value)) {
    if (!list.empty()) list += ',';
    list += element;
  }
  return list;
}

}  // namespace sluice::config
