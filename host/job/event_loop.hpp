// The host's one event loop: file descriptors, timers, signals and functions posted from other
// threads, all served on the thread that calls run(). Nothing that runs here may block.
//
// Boost.Asio does the work and stays inside the .cpp (it costs 6 CPU seconds a file that includes
// it). All of this is for the loop's thread, but post(), which any thread may call.
// Not here: reading or writing; a Watch only tells that a descriptor is readable. The HTTP server
// does its own on context(), as a name only: including this costs nobody Asio.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace sluice::job {

class EventLoop {
 public:
  using Callback = std::function<void()>;

  /// Destroying one ends its callbacks, also from inside its own callback.
  class Watch {
   public:
    virtual ~Watch() = default;
  };

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Serves events until stop().
  void run();
  void stop();

  /// Any thread: runs `function` on the loop's thread, soon and in the order of the posts.
  void post(Callback function);

  /// Calls `readable` whenever `fd` can be read (also at its end or error). The descriptor stays
  /// the caller's and must outlive the Watch. The callback takes what made it readable away, or is
  /// called again at once.
  [[nodiscard]] std::unique_ptr<Watch> watch_readable(int fd, Callback readable);

  /// Calls `tick` every `period` until the Watch is gone; a late tick is not made up for.
  [[nodiscard]] std::unique_ptr<Watch> every(std::chrono::milliseconds period, Callback tick);

  /// Calls `fire` once after `delay`, unless the Watch is gone by then.
  [[nodiscard]] std::unique_ptr<Watch> after(std::chrono::microseconds delay, Callback fire);

  /// Calls `arrived(signal)` for each of these signals instead of their default action.
  [[nodiscard]] std::unique_ptr<Watch> on_signals(const std::vector<int>& signals,
                                                  std::function<void(int)> arrived);

  /// What runs underneath, for those that bring their own Asio operations (host/rest). They must be
  /// gone, or harmless when dropped, before the loop is destroyed.
  boost::asio::io_context& context();

 private:
  struct Reactor;
  std::unique_ptr<Reactor> reactor_;
};

}  // namespace sluice::job
