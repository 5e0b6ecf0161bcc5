// What a command with kProbe or kExclude cannot carry in its 64 bytes (slicer.md F3.4): of which
// slice its plugins are told, and which records of it they must not see. The host writes the terms
// into the entry of H that the command's number chooses, before it publishes the command; the
// worker copies them when it takes it. `filter` stays free for a lane's.
//
// The reader is the worker, which trusts the host: the count is bounded here, what the numbers mean
// is the worker's intake's to judge. A plain value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::ipc {

/// Records that may be left out of one slice.
inline constexpr std::size_t kExcludedMax = 16;
/// A power of two: an entry's number is a command's, cut to it.
inline constexpr std::size_t kSliceTermsMax = 256;

struct SliceTerms {
  /// The slice as plugins see it; the command's range is the part of it that is run.
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::vector<std::int64_t> excluded;  ///< offsets, ascending; at most kExcludedMax

  friend bool operator==(const SliceTerms&, const SliceTerms&) = default;
};

/// Terms as they lie in H. Plain integers, as in slice_descriptor.hpp.
struct SliceTermsSlot {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint64_t excluded_count = 0;
  std::array<std::int64_t, kExcludedMax> excluded{};
};
static_assert(sizeof(SliceTermsSlot) == 152);

/// Requires: not more than kExcludedMax offsets.
SliceTermsSlot encode_slice_terms(const SliceTerms& terms);
SliceTerms decode_slice_terms(const SliceTermsSlot& slot);

}  // namespace sluice::ipc
