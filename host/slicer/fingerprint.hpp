// What is left of a record that was processed, to tell later whether a log is still the one it was
// read from (slicer.md F5): offset, timestamp, and a digest that a worker made. And the few that a
// partition keeps: the newest, and older ones ever further apart, so that one is still in a log
// that was cut, and whatever was put in its place is found out early.
//
// Pure values. What a comparison means is beyond_end.cpp's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::slicer {

struct Fingerprint {
  std::int64_t offset = 0;
  std::int64_t timestamp = 0;
  std::uint32_t digest = 0;

  bool operator==(const Fingerprint&) const = default;
};

/// More cost more bytes in every row of a partition, and tell nothing more.
inline constexpr std::size_t kFingerprintsMax = 6;

/// Newest (highest offset) first; at most kFingerprintsMax.
using Fingerprints = std::vector<Fingerprint>;

/// One more that was processed. In the place of one too many goes the one whose neighbours are
/// closest together, measured by their distance from the newest; newest and oldest stay, and the
/// newest below `vouched` (lineage.hpp).
void remember(Fingerprints& known, const Fingerprint& fingerprint, std::int64_t vouched = 0);
void forget_below(Fingerprints& known, std::int64_t offset);
void forget_from(Fingerprints& known, std::int64_t offset);

/// `offset:timestamp:digest`, separated by blanks: for the store, and readable there.
std::string encode(const Fingerprints& known);
/// What is no list of fingerprints, newest first, is no fingerprint at all.
Fingerprints decode_fingerprints(std::string_view text);

}  // namespace sluice::slicer
