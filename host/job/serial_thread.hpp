// A thread that runs the questions it is given, one after the other: where blocking calls go, so
// that the event loop never waits (the Kafka thread).
//
// The destructor drops what has not begun and waits `patience` for the question that runs: with all
// brokers down one blocks for ten seconds, and nobody is left to hear its answer. One that takes
// longer is left behind with what it needs; its answer is dropped. Meant for the end of a process.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "host/base/clock.hpp"

namespace sluice::job {

class SerialThread {
 public:
  /// Delivers what was learned. Not called when the destructor has given up on its question.
  using Answer = std::function<void()>;
  using Question = std::function<Answer()>;

  /// `name` is what ps and gdb show (at most 15 characters). `needs`: what questions use by
  /// reference; a question that is left behind keeps it.
  SerialThread(const char* name, Milliseconds patience,
               std::vector<std::shared_ptr<const void>> needs = {});
  ~SerialThread();
  SerialThread(const SerialThread&) = delete;
  SerialThread& operator=(const SerialThread&) = delete;

  /// Any thread. Question and answer run on the thread; the question touches only what it holds
  /// itself and `needs`.
  void post(Question question);

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  Milliseconds patience_;
  std::thread thread_;
};

}  // namespace sluice::job
