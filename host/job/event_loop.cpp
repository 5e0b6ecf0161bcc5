#include "host/job/event_loop.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace sluice::job {
namespace asio = boost::asio;
using boost::system::error_code;

struct EventLoop::Reactor {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
};

namespace {

// A pending operation holds its source by weak_ptr, a running callback by shared_ptr: so a Watch
// may be destroyed inside its own callback, and no callback starts after that.
template <typename Source>
class OwnedWatch final : public EventLoop::Watch {
 public:
  explicit OwnedWatch(std::shared_ptr<Source> source) : source_{std::move(source)} {}
  ~OwnedWatch() override { source_->end(); }
  OwnedWatch(const OwnedWatch&) = delete;
  OwnedWatch& operator=(const OwnedWatch&) = delete;

 private:
  std::shared_ptr<Source> source_;
};

struct ReadableSource : std::enable_shared_from_this<ReadableSource> {
  ReadableSource(asio::io_context& context, int fd, EventLoop::Callback callback)
      : descriptor{context, fd}, readable{std::move(callback)} {}
  ~ReadableSource() { end(); }

  void wait() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [weak = weak_from_this()](const error_code& error) {
                            const auto self = weak.lock();
                            if (!self || self->ended || error == asio::error::operation_aborted) {
                              return;
                            }
                            self->readable();
                            if (!self->ended) self->wait();
                          });
  }

  void end() {
    if (std::exchange(ended, true)) return;
    descriptor.release();  // the descriptor is not ours to close
  }

  asio::posix::stream_descriptor descriptor;
  EventLoop::Callback readable;
  bool ended = false;
};

struct TimerSource : std::enable_shared_from_this<TimerSource> {
  TimerSource(asio::io_context& context, std::chrono::milliseconds every,
              EventLoop::Callback callback)
      : timer{context}, period{every}, fire{std::move(callback)} {}

  void wait_once(std::chrono::microseconds delay) {
    timer.expires_after(delay);
    timer.async_wait([weak = weak_from_this()](const error_code& error) {
      const auto self = weak.lock();
      if (!self || self->ended || error) return;
      self->fire();
      if (!self->ended && self->period.count() > 0) self->wait_once(self->period);
    });
  }

  void end() {
    ended = true;
    timer.cancel();
  }

  asio::steady_timer timer;
  std::chrono::milliseconds period;  // 0: fires once
  EventLoop::Callback fire;
  bool ended = false;
};

struct SignalSource : std::enable_shared_from_this<SignalSource> {
  SignalSource(asio::io_context& context, std::function<void(int)> callback)
      : signals{context}, arrived{std::move(callback)} {}

  void wait() {
    signals.async_wait([weak = weak_from_this()](const error_code& error, int signal) {
      const auto self = weak.lock();
      if (!self || self->ended || error) return;
      self->arrived(signal);
      if (!self->ended) self->wait();
    });
  }

  void end() {
    ended = true;
    signals.clear();
  }

  asio::signal_set signals;
  std::function<void(int)> arrived;
  bool ended = false;
};

}  // namespace

EventLoop::EventLoop() : reactor_{std::make_unique<Reactor>()} {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  reactor_->context.run();
}

void EventLoop::stop() {
  reactor_->context.stop();
}

asio::io_context& EventLoop::context() {
  return reactor_->context;
}

void EventLoop::post(Callback function) {
  asio::post(reactor_->context, std::move(function));
}

std::unique_ptr<EventLoop::Watch> EventLoop::watch_readable(int fd, Callback readable) {
  auto source = std::make_shared<ReadableSource>(reactor_->context, fd, std::move(readable));
  source->wait();
  return std::make_unique<OwnedWatch<ReadableSource>>(std::move(source));
}

std::unique_ptr<EventLoop::Watch> EventLoop::every(std::chrono::milliseconds period,
                                                   Callback tick) {
  auto source = std::make_shared<TimerSource>(reactor_->context, period, std::move(tick));
  source->wait_once(period);
  return std::make_unique<OwnedWatch<TimerSource>>(std::move(source));
}

std::unique_ptr<EventLoop::Watch> EventLoop::after(std::chrono::microseconds delay, Callback fire) {
  auto source = std::make_shared<TimerSource>(reactor_->context, std::chrono::milliseconds{0},
                                              std::move(fire));
  source->wait_once(delay);
  return std::make_unique<OwnedWatch<TimerSource>>(std::move(source));
}

std::unique_ptr<EventLoop::Watch> EventLoop::on_signals(const std::vector<int>& signals,
                                                        std::function<void(int)> arrived) {
  auto source = std::make_shared<SignalSource>(reactor_->context, std::move(arrived));
  for (const int signal : signals) source->signals.add(signal);
  source->wait();
  return std::make_unique<OwnedWatch<SignalSource>>(std::move(source));
}

}  // namespace sluice::job
