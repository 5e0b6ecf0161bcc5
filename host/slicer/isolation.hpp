// What a partition remembers while a slice of it is being narrowed down to one record (slicer.md
// F3): which rows its parts stand for. The rules are in isolation.cpp and probes.cpp.
//
// Internal to host/slicer.
#pragma once

#include <cstdint>
#include <vector>

#include "host/base/clock.hpp"

namespace sluice::slicer {

/// A slice that is replaced by its parts: its row says Isolating until they are all settled.
struct ReplacedSlice {
  std::uint64_t id = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

struct Slice;

struct Isolation {
  std::vector<ReplacedSlice> replaced;
  /// The stable slice that is searched: out of the list, its parts are in its place (F3.4).
  Slice* whole = nullptr;
  bool is_culprit_found = false;  ///< ... in this search
  /// The record that a death names is believed once, and once more after each that was right: a
  /// plugin that buffers dies long after the record was put, and would be peeled one by one.
  bool guess_left = true;
};

/// Verdicts of one partition, for slice.isolate.max in an hour.
inline constexpr Milliseconds kVerdictWindow{3'600'000};

}  // namespace sluice::slicer
