// How bytes of a record become a piece of a line that can be read back to the same bytes (case
// B09): JSON strings for what is UTF-8, base64 for what is not, PostgreSQL's COPY escapes. All
// append to the line being built; nothing allocates but that string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::lines {

/// Strictly: no overlong forms, no surrogates, nothing above U+10FFFF. JSON readers refuse the
/// rest.
bool is_utf8(std::string_view bytes);

/// "text" in quotes. Requires: is_utf8(text).
void append_json_string(std::string& line, std::string_view text);
/// "base64" in quotes, padded.
void append_json_base64(std::string& line, std::string_view bytes);
void append_number(std::string& line, std::int64_t number);

/// A field of PostgreSQL's COPY text format: \b \f \n \r \t \v \\, and \xHH for what is not UTF-8
/// and for the other control characters.
void append_copy_field(std::string& line, std::string_view bytes);

}  // namespace sluice::lines
