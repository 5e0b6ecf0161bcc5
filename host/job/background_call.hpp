// One blocking question to Kafka or the store, asked on its own thread and answered on the loop.
// The answer is dropped if whoever asked has gone by then: it holds a Lifetime, the call a weak
// view of it.
#pragma once

#include <memory>
#include <utility>

#include "host/job/event_loop.hpp"
#include "host/job/serial_thread.hpp"

namespace sluice::job {

/// As a member: callbacks that were given token() run only while it lives. Loop thread.
class Lifetime {
 public:
  using Token = std::weak_ptr<const void>;
  Token token() const { return alive_; }

 private:
  std::shared_ptr<const int> alive_ = std::make_shared<const int>(0);
};

/// Runs `ask()` on `thread` and then `answer(result)` on the loop, while `token` lives.
/// Requires: what `ask` captures is its own, or is among what the thread `needs`.
template <typename Ask, typename Answer>
void ask_on(SerialThread& thread, EventLoop& loop, Lifetime::Token token, Ask ask, Answer answer) {
  thread.post([&loop, token = std::move(token), ask = std::move(ask),
               answer = std::move(answer)]() mutable -> SerialThread::Answer {
    using Value = decltype(ask());
    auto value = std::make_shared<Value>(ask());
    return [&loop, token = std::move(token), value = std::move(value),
            answer = std::move(answer)] {
      loop.post([token, value, answer] {
        if (const auto alive = token.lock()) answer(std::move(*value));
      });
    };
  });
}

}  // namespace sluice::job
