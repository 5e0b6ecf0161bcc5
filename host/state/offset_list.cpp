#include "host/state/offset_list.hpp"

#include <charconv>

namespace sluice::state {

std::string encode_offsets(const std::vector<std::int64_t>& offsets) {
  std::string text;
  for (const std::int64_t offset : offsets) {
    if (!text.empty()) text += ',';
    text += std::to_string(offset);
  }
  return text;
}

std::vector<std::int64_t> decode_offsets(std::string_view text) {
  std::vector<std::int64_t> offsets;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t offset = 0;
    const auto [next, error] = std::from_chars(at, end, offset);
    const bool in_order = offsets.empty() ? offset >= 0 : offset > offsets.back();
    const bool goes_on = next != end && *next == ',' && next + 1 != end;
    if (error != std::errc{} || !in_order || (next != end && !goes_on)) return {};
    offsets.push_back(offset);
    at = goes_on ? next + 1 : next;
  }
  return offsets;
}

}  // namespace sluice::state
