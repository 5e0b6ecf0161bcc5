#include "ipc/slice_terms.hpp"

#include <algorithm>

#include "ipc/error.hpp"

namespace sluice::ipc {

SliceTermsSlot encode_slice_terms(const SliceTerms& terms) {
  invariant(terms.excluded.size() <= kExcludedMax, "slice terms: too many offsets are excluded");
  SliceTermsSlot slot;
  slot.start = terms.start;
  slot.end = terms.end;
  slot.excluded_count = terms.excluded.size();
  std::copy(terms.excluded.begin(), terms.excluded.end(), slot.excluded.begin());
  return slot;
}

SliceTerms decode_slice_terms(const SliceTermsSlot& slot) {
  const std::size_t count = std::min<std::size_t>(slot.excluded_count, kExcludedMax);
  return {slot.start, slot.end, {slot.excluded.begin(), slot.excluded.begin() + count}};
}

}  // namespace sluice::ipc
