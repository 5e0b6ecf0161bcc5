// Waking the other side, at most once per sleep and never too late. A doorbell is an eventfd, so
// that one epoll loop holds it beside sockets, pidfds and timers (a futex is not faster here: ipc
// facts 2.1). Whether to ring is decided by a *sleep count* in the sleeper's own segment, odd while
// it sleeps or is about to:
//
//   publisher: tail.store(release); full_fence; n = sleep; if (n odd && n != last rung) ring
//   sleeper:   sleep = ++n (odd); full_fence; look at the tail; only if empty: wait; sleep = ++n
//
// Either the publisher's fence comes first and the sleeper sees the tail, or the sleeper's does and
// the publisher sees the odd count. A count instead of a flag saves the second and third ring while
// the sleeper is still on its way up: five times fewer system calls (measured).
// A peer with a broken sleep count hurts itself only; the host's timer looks at every ring anyway.
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/error.hpp"
#include "ipc/full_fence.hpp"
#include "ipc/owned_fd.hpp"

namespace sluice::ipc {

class Doorbell {
 public:
  static Result<Doorbell> create();
  explicit Doorbell(OwnedFd fd) : fd_{std::move(fd)} {}

  /// For epoll: readable after a ring.
  int fd() const { return fd_.get(); }
  /// Never blocks; async-signal-safe. A counter that is full has been rung already.
  void ring() const noexcept { ring_fd(fd_.get()); }
  static void ring_fd(int fd) noexcept;
  /// Takes back all rings so far.
  void silence() const noexcept;

 private:
  OwnedFd fd_;
};

/// The publisher's part.
class Waker {
 public:
  explicit Waker(const std::atomic<std::uint32_t>& peer_sleep) : peer_sleep_{&peer_sleep} {}

  /// To be called after the release store of `own_tail`, the word just published.
  void wake(std::atomic<std::uint64_t>& own_tail, const Doorbell& doorbell) noexcept {
    full_fence(own_tail);
    const std::uint32_t count = peer_sleep_->load(std::memory_order_relaxed);
    if ((count & 1U) == 0 || count == last_rung_) return;
    last_rung_ = count;
    doorbell.ring();
  }

 private:
  const std::atomic<std::uint32_t>* peer_sleep_;
  std::uint32_t last_rung_ = 0;
};

/// The sleeper's part.
class Sleeper {
 public:
  explicit Sleeper(std::atomic<std::uint32_t>& own_sleep) : own_sleep_{&own_sleep} {}

  /// After this, and before waiting, the rings must be looked at once more. Always a new odd count:
  /// one that has been rung for already would not be rung for again.
  void prepare() noexcept {
    count_ = (count_ + 1) | 1U;
    own_sleep_->store(count_, std::memory_order_relaxed);
    full_fence(*own_sleep_);
  }
  void woken() noexcept {
    if ((count_ & 1U) != 0) ++count_;
    own_sleep_->store(count_, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t>* own_sleep_;
  std::uint32_t count_ = 0;
};

}  // namespace sluice::ipc
