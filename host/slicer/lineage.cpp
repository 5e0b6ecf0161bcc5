#include "host/slicer/lineage.hpp"

#include <charconv>

namespace sluice::slicer {

std::string stored_text(const Lineage& lineage) {
  std::string text = encode(lineage.fingerprints);
  if (lineage.cut_seen) {
    const std::string cut = '?' + std::to_string(lineage.vouched);
    text = text.empty() ? cut : cut + ' ' + text;
  }
  return lineage.seen_absent ? '~' + text : text;
}

void restore(Lineage& lineage, std::string_view text) {
  if (text.starts_with('~')) {
    lineage.seen_absent = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('?')) {
    std::int64_t vouched = 0;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), vouched);
    if (error != std::errc{} || vouched < 0) return;
    lineage.cut_seen = true;
    lineage.vouched = vouched;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  lineage.fingerprints = decode_fingerprints(text);
}

}  // namespace sluice::slicer
