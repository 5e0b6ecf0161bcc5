#include "host/slicer/fingerprint.hpp"

#include <algorithm>
#include <charconv>

namespace sluice::slicer {
namespace {

/// Which one may go: never the newest, the oldest, or the newest below `vouched`.
std::size_t least_telling(const Fingerprints& known, std::int64_t vouched) {
  std::size_t least = 1;
  double least_gap = 2;
  for (std::size_t i = 1; i + 1 < known.size(); ++i) {
    if (known[i].offset < vouched && known[i - 1].offset >= vouched) continue;
    const auto gap = static_cast<double>(known[i - 1].offset - known[i + 1].offset);
    const auto age = static_cast<double>(known.front().offset - known[i + 1].offset);
    if (gap / age < least_gap) least = i, least_gap = gap / age;
  }
  return least;
}

template <typename Number>
bool take_number(std::string_view& text, Number& number, char until) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return until == ' ';
  if (text.front() != until) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

void remember(Fingerprints& known, const Fingerprint& fingerprint, std::int64_t vouched) {
  // With assignment any, answers come in any order.
  const auto at = std::find_if(known.begin(), known.end(), [&](const Fingerprint& one) {
    return one.offset <= fingerprint.offset;
  });
  if (at != known.end() && at->offset == fingerprint.offset) {
    *at = fingerprint;
    return;
  }
  known.insert(at, fingerprint);
  if (known.size() > kFingerprintsMax) {
    known.erase(known.begin() + static_cast<std::ptrdiff_t>(least_telling(known, vouched)));
  }
}

void forget_below(Fingerprints& known, std::int64_t offset) {
  std::erase_if(known, [=](const Fingerprint& one) { return one.offset < offset; });
}

void forget_from(Fingerprints& known, std::int64_t offset) {
  std::erase_if(known, [=](const Fingerprint& one) { return one.offset >= offset; });
}

std::string encode(const Fingerprints& known) {
  std::string text;
  for (const Fingerprint& one : known) {
    if (!text.empty()) text += ' ';
    text += std::to_string(one.offset) + ':' + std::to_string(one.timestamp) + ':' +
            std::to_string(one.digest);
  }
  return text;
}

Fingerprints decode_fingerprints(std::string_view text) {
  Fingerprints known;
  while (!text.empty() && known.size() < kFingerprintsMax) {
    Fingerprint one;
    const bool good = take_number(text, one.offset, ':') && take_number(text, one.timestamp, ':') &&
                      take_number(text, one.digest, ' ');
    const bool in_order = known.empty() || one.offset < known.back().offset;
    if (!good || !in_order || one.offset < 0) return {};
    known.push_back(one);
  }
  return known;
}

}  // namespace sluice::slicer
