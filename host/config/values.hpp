// What values of the host's keys need beyond host/base/value_syntax.hpp: blanks cut off (as Kafka's
// ConfigDef does), lists, times, and a safe way to show a text in a message.
//
// An Error's message is the reason alone; the caller knows file, line and key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::config {

std::string_view trim(std::string_view text);

/// `text` in single quotes, control characters as \xNN, cut after 60 bytes: safe in a message.
std::string in_quotes(std::string_view text);
/// The same without quotes: for keys.
std::string printable(std::string_view text);

/// Milliseconds since the Unix epoch, or RFC 3339 with its zone: 2026-01-31T12:00:00Z.
Result<std::int64_t> parse_timestamp_ms(std::string_view text);
/// Separated by commas, blanks trimmed. An empty text is an empty list; an empty element an error.
Result<std::vector<std::string>> parse_list(std::string_view text);

}  // namespace sluice::config
