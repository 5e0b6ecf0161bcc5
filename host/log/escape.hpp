// Text that others wrote, made safe for one line of a log. Plugins, brokers and libraries put
// colour codes, line feeds and broken UTF-8 into their messages; journald and terminals must not
// act on them, and one message must stay one line.
//
// Control characters (C0, DEL, C1) become \n, \t or \xNN, bytes that are not UTF-8 become \xNN, all
// else passes unchanged. A backslash is not doubled: this is for eyes, it cannot be turned back.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::log {

/// Appends `text` to `out`, escaped.
void append_escaped(std::string& out, std::string_view text);

/// The longest prefix of `text` that is at most `bytes_max` long and does not end inside a
/// character (a prefix of bytes that are not UTF-8 may end anywhere).
std::string_view cut_utf8(std::string_view text, std::size_t bytes_max);

}  // namespace sluice::log
