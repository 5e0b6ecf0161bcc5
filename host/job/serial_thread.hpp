// A thread that runs the functions it is given, one after the other: where blocking calls go, so
// that the event loop never waits (the Kafka thread). The destructor runs what is still queued,
// then joins; give functions a way to end early if that may take long.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sluice::job {

class SerialThread {
 public:
  /// `name` is what ps and gdb show (at most 15 characters).
  explicit SerialThread(const char* name);
  ~SerialThread();
  SerialThread(const SerialThread&) = delete;
  SerialThread& operator=(const SerialThread&) = delete;

  /// Any thread.
  void post(std::function<void()> function);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool stopping_ = false;                    // guarded by mutex_
  std::thread thread_;
};

}  // namespace sluice::job
