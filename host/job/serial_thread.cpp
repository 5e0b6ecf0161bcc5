#include "host/job/serial_thread.hpp"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace sluice::job {

SerialThread::SerialThread(const char* name) {
  // Signals are the loop's: a thread of ours that took SIGTERM would end the process without a
  // drain.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread{[this] { run(); }};
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), name);
}

SerialThread::~SerialThread() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void SerialThread::post(std::function<void()> function) {
  {
    const std::lock_guard lock{mutex_};
    queue_.push_back(std::move(function));
  }
  wake_.notify_one();
}

void SerialThread::run() {
  std::unique_lock lock{mutex_};
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto function = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    function();
    lock.lock();
  }
}

}  // namespace sluice::job
