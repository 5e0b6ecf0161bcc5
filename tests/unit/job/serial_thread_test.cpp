#include "host/job/serial_thread.hpp"

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace sluice::job {
namespace {

/// Whether this thread of ours waits in the kernel.
bool is_asleep(pid_t thread) {
  std::ifstream in{"/proc/self/task/" + std::to_string(thread) + "/stat"};
  std::string text;
  std::getline(in, text);
  const auto after_name = text.rfind(')');
  return after_name != std::string::npos && text.substr(after_name + 2, 1) == "S";
}

const auto kNothing = [] {};

/// One question that lasts until the test lets it go.
struct Blocked {
  std::promise<void> begun;
  std::promise<void> let_go;
  std::atomic<bool> answered{false};

  SerialThread::Question question() {
    return [this] {
      begun.set_value();
      let_go.get_future().wait();
      return [this] { answered = true; };
    };
  }
};

}  // namespace

// Case B07: with all brokers down each question blocks for ten seconds, and SIGTERM waited for all.
TEST_CASE("a thread that ends drops what it has not begun", "[job]") {
  std::atomic<int> begun{0};
  {
    SerialThread thread{"test", Milliseconds{60'000}};
    // Each keeps the thread busy until its destructor has come as far as waiting for it.
    for (int i = 0; i < 3; ++i) {
      thread.post([&begun, destroyer = ::gettid()] {
        ++begun;
        while (!is_asleep(destroyer)) std::this_thread::yield();
        return kNothing;
      });
    }
  }
  CHECK(begun <= 1);
}

TEST_CASE("a thread that ends delivers the answer of the question that ends in time", "[job]") {
  Blocked blocked;
  {
    SerialThread thread{"test", Milliseconds{60'000}};
    thread.post(blocked.question());
    blocked.begun.get_future().wait();
    blocked.let_go.set_value();
  }
  CHECK(blocked.answered);
}

// Case B25: SIGTERM with brokers down was held up by the question that ran, for up to 10 s.
TEST_CASE("a question that outlasts the patience is left behind with what it needs, unanswered",
          "[job]") {
  Blocked blocked;
  auto needed = std::make_shared<int>(0);
  const std::weak_ptr<int> view = needed;
  {
    SerialThread thread{"test", Milliseconds{1}, {std::move(needed)}};
    thread.post(blocked.question());
    blocked.begun.get_future().wait();
  }  // did not wait for ever
  CHECK_FALSE(view.expired());
  blocked.let_go.set_value();
  while (!view.expired()) std::this_thread::yield();  // the thread has ended
  CHECK_FALSE(blocked.answered);
}

}  // namespace sluice::job
