// A thread of the plugin that acts once when the sink has been used and then left alone for a
// while, as the threads of client libraries do things of their own while no call is under way.
// What it does may never return; it is then left to the end of the process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace sluice::fault {

class IdleThread {
 public:
  static constexpr std::chrono::milliseconds kIdleAfter{300};

  explicit IdleThread(std::function<void()> act)
      : thread_{[this, act = std::move(act)] {
          if (became_idle()) act();
        }} {}

  ~IdleThread() {
    std::unique_lock lock{mutex_};
    ended_ = true;
    changed_.notify_one();
    const bool acting = acting_;
    lock.unlock();
    acting ? thread_.detach() : thread_.join();
  }

  IdleThread(const IdleThread&) = delete;
  IdleThread& operator=(const IdleThread&) = delete;

  /// The sink is used now. Any thread.
  void touch() {
    const std::lock_guard lock{mutex_};
    ++touched_;
    changed_.notify_one();
  }

 private:
  bool became_idle() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return ended_ || touched_ > 0; });
    while (!ended_ && !acting_) {
      const auto again = [this, seen = touched_] { return ended_ || touched_ != seen; };
      acting_ = !changed_.wait_for(lock, kIdleAfter, again);
    }
    return acting_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int touched_ = 0;      ///< guarded by mutex_, as the two below
  bool acting_ = false;  ///< begun, perhaps over
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace sluice::fault
