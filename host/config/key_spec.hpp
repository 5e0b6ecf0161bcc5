// One row of a key table: everything there is to know about a key, once. From it come the check of
// a value (parse_value), the effective configuration (canonical), the reference and the sample
// files (reference.hpp). BoundKey adds the struct's member that takes the value, so that adding a
// key is one row and one member.
//
// `honoured` is the one flag of a key that exists before its feature does: its values that work
// today, joined with `|`. kAnyValue: all; kNoValue: writing the key at all is refused. An issue
// that builds the feature changes this and nothing else.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::config {

enum class ValueType { Text, List, Integer, Boolean, Duration, Bytes, Choice, Timestamp };
enum class KeyOrigin { Ours, Connect };
enum class KeyGroup {
  Job,
  Topics,
  Chain,
  Slices,
  Workers,
  Deadlines,
  Restarts,
  Errors,
  DeadLetters,
  Expansion,
  Kafka,
  Converters,
  Other,
  Folders,
  Rest,
  Log,
  Limits,
};

constexpr std::string_view kAnyValue = "*";
constexpr std::string_view kNoValue = "";
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

struct KeySpec {
  std::string_view name;
  KeyGroup group = KeyGroup::Other;
  KeyOrigin origin = KeyOrigin::Ours;
  ValueType type = ValueType::Text;
  std::string_view fallback = {};       ///< the default, as it would be written; empty: unset
  std::string_view fallback_note = {};  ///< where the default depends on other keys
  std::string_view choices = {};        ///< of a Choice: `a|b|c`
  std::int64_t min = 0;                 ///< of numbers
  std::int64_t max = kInt64Max;
  bool minus_one = false;  ///< -1 is allowed below min
  std::string_view honoured = kAnyValue;
  std::string_view doc = {};
  /// For the sample; empty: the default is shown. Where the name ends in `*`: what may stand there,
  /// and its value (`acks=all`); empty: nothing is shown.
  std::string_view example = {};
};

struct ChoiceIndex {
  std::size_t index = 0;
  bool operator==(const ChoiceIndex&) const = default;
};

using Value = std::variant<std::string, std::vector<std::string>, std::int64_t, bool, ChoiceIndex>;

/// The elements of `a|b|c`.
std::vector<std::string_view> choices_of(std::string_view joined);

/// The Error's message is the reason alone: what is wrong, what to do.
Result<Value> parse_value(const KeySpec& spec, std::string_view text);

/// The default. Requires: spec.fallback is not empty. The table's own test proves that it parses.
Value parse_fallback(const KeySpec& spec);

/// The value as the effective configuration shows it: integers, `true`, the choice's name.
std::string canonical(const KeySpec& spec, const Value& value);

/// Where a choice's value goes; made by choice_member.
template <typename Config>
using ChoiceSetter = void (*)(Config&, std::size_t index);

template <typename Config>
using Member =
    std::variant<std::monostate, std::string Config::*, std::vector<std::string> Config::*,
                 std::int64_t Config::*, std::optional<std::int64_t> Config::*, bool Config::*,
                 ChoiceSetter<Config>>;

template <typename Config>
struct BoundKey {
  KeySpec spec;
  Member<Config> member;
};

/// The member takes the enumerator with the choice's number; enumerators and choices have one
/// order.
template <typename Config, typename Enum, auto kMember>
void set_choice(Config& config, std::size_t index) {
  config.*kMember = static_cast<Enum>(index);
}

/// Puts a parsed value into its member. Requires: the value came from parse_value(key.spec, ...).
template <typename Config>
void assign(const BoundKey<Config>& key, Config& config, Value value) {
  std::visit(
      [&](auto member) {
        using M = decltype(member);
        if constexpr (std::is_same_v<M, std::string Config::*>) {
          config.*member = std::get<std::string>(std::move(value));
        } else if constexpr (std::is_same_v<M, std::vector<std::string> Config::*>) {
          config.*member = std::get<std::vector<std::string>>(std::move(value));
        } else if constexpr (std::is_same_v<M, std::int64_t Config::*> ||
                             std::is_same_v<M, std::optional<std::int64_t> Config::*>) {
          config.*member = std::get<std::int64_t>(value);
        } else if constexpr (std::is_same_v<M, bool Config::*>) {
          config.*member = std::get<bool>(value);
        } else if constexpr (std::is_same_v<M, ChoiceSetter<Config>>) {
          member(config, std::get<ChoiceIndex>(value).index);
        }
      },
      key.member);
}

}  // namespace sluice::config
