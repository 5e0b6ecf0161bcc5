#include "host/job/serial_thread.hpp"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "host/base/blocked_signals.hpp"

namespace sluice::job {

/// Of the thread and of its owner; it ends with the later one.
struct SerialThread::Shared {
  std::mutex mutex;
  std::condition_variable wake;   ///< the thread waits
  std::condition_variable ended;  ///< the destructor waits
  std::deque<Question> queue;     ///< guarded by mutex, as the rest
  bool stopping = false;
  bool left_behind = false;
  bool over = false;
  std::vector<std::shared_ptr<const void>> needs;

  void run();
};

SerialThread::SerialThread(const char* name, Milliseconds patience,
                           std::vector<std::shared_ptr<const void>> needs)
    : shared_{std::make_shared<Shared>()}, patience_{patience} {
  shared_->needs = std::move(needs);
  const BlockedSignals blocked;
  thread_ = std::thread{[shared = shared_] { shared->run(); }};
  pthread_setname_np(thread_.native_handle(), name);
}

SerialThread::~SerialThread() {
  std::unique_lock lock{shared_->mutex};
  shared_->stopping = true;
  shared_->queue.clear();
  shared_->wake.notify_one();
  const bool over = shared_->ended.wait_for(lock, patience_, [this] { return shared_->over; });
  shared_->left_behind = !over;
  lock.unlock();
  over ? thread_.join() : thread_.detach();
}

void SerialThread::post(Question question) {
  {
    const std::lock_guard lock{shared_->mutex};
    shared_->queue.push_back(std::move(question));
  }
  shared_->wake.notify_one();
}

void SerialThread::Shared::run() {
  std::unique_lock lock{mutex};
  while (true) {
    wake.wait(lock, [this] { return stopping || !queue.empty(); });
    if (stopping) break;
    const auto question = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    const auto answer = question();
    lock.lock();
    // Under the lock: whom it tells must not go in the middle of it.
    if (!left_behind) answer();
  }
  over = true;
  ended.notify_one();
}

}  // namespace sluice::job
