// Signals are for one thread of a process, the one that knows what to do. Any other that does not
// block them may be the one that takes SIGTERM, and where nobody handles it the process dies.
// Not for faults: a SIGSEGV of a thread that blocks it ends the process as well.
#pragma once

#include <csignal>

namespace sluice {

/// Blocks all signals in the calling thread as long as it lives: threads that are made meanwhile
/// never take one.
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace sluice
