#include "host/base/nearest_name.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sluice {

namespace {

/// Optimal string alignment distance: insert, delete, replace, swap of neighbours cost 1 each.
std::size_t edits_between(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last, last(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replace = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, replace});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = last;
    last.swap(row);
  }
  return last[to.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kNameBytesMax = 256;  // longer ones are no typing errors; bounds the work
  if (name.size() > kNameBytesMax) return {};
  std::string_view best;
  std::size_t best_edits = std::max<std::size_t>(name.size() / 3, 1) + 1;
  for (const std::string_view candidate : known) {
    if (candidate.size() > kNameBytesMax) continue;
    const std::size_t edits = edits_between(name, candidate);
    if (edits < best_edits) {
      best_edits = edits;
      best = candidate;
    }
  }
  return best;
}

}  // namespace sluice
