// The one full fence of the wake protocol (doorbell.hpp): a store before it is seen by others
// before a load after it is made. Acquire and release do not order store before load, not even on
// x86.
#pragma once

#include <atomic>

namespace sluice::ipc {

/// `own` is a word that only the caller writes. ThreadSanitizer does not know fences (GCC refuses
/// them under -Werror); there a read-modify-write of that word, which changes nothing, does the
/// same.
template <typename Word>
void full_fence([[maybe_unused]] std::atomic<Word>& own) noexcept {
#ifdef __SANITIZE_THREAD__
  own.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace sluice::ipc
