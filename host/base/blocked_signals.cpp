#include "host/base/blocked_signals.hpp"

#include <pthread.h>

namespace sluice {

BlockedSignals::BlockedSignals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

BlockedSignals::~BlockedSignals() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace sluice
