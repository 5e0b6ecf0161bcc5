// A few offsets as the text of a row's column: "150,163", ascending. What a slice leaves out is at
// most 16 offsets and mostly none, which is not worth a table. Pure, and without SQLite: the cores
// and the audit use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::state {

std::string encode_offsets(const std::vector<std::int64_t>& offsets);
/// Nothing at all of a text that no version of ours wrote.
std::vector<std::int64_t> decode_offsets(std::string_view text);

}  // namespace sluice::state
