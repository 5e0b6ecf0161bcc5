// One worker incarnation as the host's loop sees it: its channel, its process, its output. Turns
// what the kernel and the rings say into calls of a WorkerEvents, in this order at a death: reports
// that were left, crash note, exited.
//
// Loop thread; owns the descriptors and the mapping. Destroying it closes them all; it kills
// nobody: that is the supervisor's decision, and only a reaped worker's link is destroyed.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"
#include "host/job/event_loop.hpp"
#include "host/log/line_splitter.hpp"
#include "host/log/logger.hpp"
#include "host/supervisor/reaper.hpp"
#include "host/supervisor/spawner.hpp"
#include "ipc/host_channel.hpp"

namespace sluice::job {

/// What a link tells; called on the loop's thread. The link may be destroyed only after exited().
class WorkerEvents {
 public:
  virtual ~WorkerEvents() = default;
  virtual void reported(std::uint32_t slot, std::uint64_t incarnation,
                        const ipc::ReceivedReport& received) = 0;
  /// A batch of reports is through; the time to decide. Answers how many slices the worker has to
  /// do after that.
  virtual std::size_t reports_drained(std::uint32_t slot) = 0;
  /// The worker broke `rule` of the layout: nothing of it is believed any more.
  virtual void violated(std::uint32_t slot, std::uint64_t incarnation, const std::string& rule) = 0;
  virtual void crash_noted(std::uint32_t slot, std::uint64_t incarnation,
                           const ipc::CrashNote& note) = 0;
  virtual void exited(std::uint32_t slot, std::uint64_t incarnation,
                      const supervisor::ReapedWorker& reaped) = 0;
};

struct WorkerLinkOptions {
  std::filesystem::path executable;
  int executable_fd = -1;  ///< as in SpawnRequest
  std::string title;       ///< argv[0] of the worker, for ps
  std::string start_parameters;
  std::uint32_t slot = 0;
  std::uint64_t incarnation = 0;
  int host_alive = -1;
  int state_lock = -1;
};

class WorkerLink {
 public:
  /// Creates the channel and spawns the worker. Requires: called from the thread that lives as long
  /// as the host (PR_SET_PDEATHSIG is tied to it).
  static Result<std::unique_ptr<WorkerLink>> spawn(const WorkerLinkOptions& options,
                                                   EventLoop& loop, log::Logger log,
                                                   WorkerEvents& events);
  ~WorkerLink();
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;

  std::uint32_t slot() const { return slot_; }
  std::uint64_t incarnation() const { return incarnation_; }
  std::int32_t pid() const { return process_.pid; }
  ipc::Pulse pulse() { return channel_.pulse(); }
  ipc::Counters counters() { return channel_.counters(); }

  Result<> publish(std::span<const ipc::Command> commands);
  /// A topic that its start parameters did not name.
  Result<> publish_topic(std::uint16_t index, const std::string& topic);
  /// A slice with kDeadLetterOnly, and why.
  Result<> publish_dead_letter(const ipc::Command& command, const ipc::Verdict& verdict);
  /// A slice with kProbe or kExclude.
  Result<> publish_with_terms(const ipc::Command& command, const ipc::SliceTerms& terms);
  Result<> signal(int number);
  /// The host's turn: beat and, as the safety net of facts 3.5, a look at the ring without
  /// doorbell.
  void tick();

 private:
  /// Its own log lines carry a priority; what a plugin prints to stdout or stderr is taken as it
  /// is.
  struct Pipe {
    enum class Kind { Log, Output };
    Kind kind = Kind::Log;
    int fd = -1;
    log::LineSplitter lines{};
    std::unique_ptr<EventLoop::Watch> watch{};
  };

  WorkerLink(const WorkerLinkOptions& options, EventLoop& loop, log::Logger log,
             WorkerEvents& events, ipc::HostChannel channel);

  void watch();
  void on_doorbell();
  /// What one of the last batch took; very long if it was empty.
  std::chrono::microseconds time_a_slice();
  void look_again(std::chrono::microseconds delay);
  /// Hands on what the ring holds; true when the ring was emptied.
  bool drain_once();
  void drain_until_empty();
  void on_exit();
  void read_pipe(Pipe& pipe);
  void end_pipe(Pipe& pipe);
  void log_line(const Pipe& pipe, std::string_view line);

  std::uint32_t slot_;
  std::uint64_t incarnation_;
  EventLoop& loop_;
  log::Logger log_;
  WorkerEvents& events_;
  ipc::HostChannel channel_;
  supervisor::SpawnedWorker process_;
  Pipe log_pipe_{Pipe::Kind::Log};
  Pipe output_pipe_{Pipe::Kind::Output};
  std::array<ipc::ReceivedReport, 256> received_;
  std::size_t drained_ = 0;  ///< of received_, the last time
  std::chrono::steady_clock::time_point drained_at_;
  bool violated_ = false;
  bool crash_noted_ = false;
  bool exited_ = false;
  std::unique_ptr<EventLoop::Watch> doorbell_watch_;
  std::unique_ptr<EventLoop::Watch> exit_watch_;
  std::unique_ptr<EventLoop::Watch> again_;
};

}  // namespace sluice::job
