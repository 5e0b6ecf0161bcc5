// Questions to the state store, off the loop: on a read-only connection and a thread of their own,
// because the state thread waits as long as the disk is full, and a look at the store must not. A
// bounded number waits; more are refused.
//
// Loop thread; answers come on the loop, while this object lives.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "host/base/clock.hpp"
#include "host/base/error.hpp"
#include "host/job/background_call.hpp"
#include "host/job/event_loop.hpp"
#include "host/job/serial_thread.hpp"
#include "host/state/store_reader.hpp"

namespace sluice::rest {

class StoreQueries {
 public:
  StoreQueries(std::filesystem::path state_dir, job::EventLoop& loop)
      : connection_{std::make_shared<Connection>(std::move(state_dir))}, loop_{loop} {}

  static constexpr std::size_t kWaitingMax = 64;
  static constexpr Milliseconds kPatience{500};

  /// `question(StoreReader&)` answers a Result; `answer` gets it.
  template <typename Question, typename Reply>
  void ask(Question question, Reply answer) {
    using Value = decltype(question(std::declval<state::StoreReader&>()));
    if (waiting_ >= kWaitingMax) {
      return answer(Value{Error{ErrorCode::Io, "state store: too many questions wait; try again"}});
    }
    ++waiting_;
    job::ask_on(
        thread_, loop_, lifetime_.token(),
        [connection = connection_, question = std::move(question)]() -> Value {
          const auto reader = connection->reader();
          if (!reader) return reader.error();
          return question(**reader);
        },
        [this, answer = std::move(answer)](Value value) {
          --waiting_;
          answer(std::move(value));
        });
  }

 private:
  /// Of the query thread alone.
  class Connection {
   public:
    explicit Connection(std::filesystem::path state_dir) : state_dir_{std::move(state_dir)} {}
    /// Opened with the first question; one that could not be opened is tried again.
    Result<state::StoreReader*> reader() {
      if (!reader_) {
        auto opened = state::open_store_reader(state_dir_);
        if (!opened) return opened.error();
        reader_ = *std::move(opened);
      }
      return reader_.get();
    }

   private:
    std::filesystem::path state_dir_;
    std::unique_ptr<state::StoreReader> reader_;
  };

  std::shared_ptr<Connection> connection_;
  job::EventLoop& loop_;
  std::size_t waiting_ = 0;
  job::Lifetime lifetime_;
  /// Last: its questions end first. One that is left behind has its connection and nothing else.
  job::SerialThread thread_{"sluice-queries", kPatience};
};

}  // namespace sluice::rest
