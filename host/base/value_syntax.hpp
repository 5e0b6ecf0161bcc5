// Values as people write them in configuration: integers, floats, booleans, durations ("30s"),
// sizes
// ("64MiB"). One syntax for the host's keys and for the keys of plugins.
//
// The error of each is what must be written instead, for a message of the form `key: value: error`.
// It never contains the text that was given, which may be a secret under a mistyped key.
#pragma once

#include <cstdint>
#include <string_view>

#include "host/base/error.hpp"

namespace sluice {

/// Decimal, with an optional minus.
Result<std::int64_t> parse_integer(std::string_view text);
/// Finite, decimal point or exponent allowed.
Result<double> parse_float(std::string_view text);
/// `true` or `false`.
Result<bool> parse_bool(std::string_view text);
/// Milliseconds: an integer, or a number with ms|s|m|h|d ("1.5s"). Negative is refused.
Result<std::int64_t> parse_duration_ms(std::string_view text);
/// Bytes: an integer, or a number with KiB|MiB|GiB. Negative is refused.
Result<std::int64_t> parse_size_bytes(std::string_view text);

}  // namespace sluice
