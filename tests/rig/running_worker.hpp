// A sluice-worker process with the caller as its host: spawned as the product does it, fed through
// the host's end of its channel, with everything it says collected. For tests and benchmarks of the
// worker without slicer and supervisor. Its destructor kills and reaps. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/supervisor/reaper.hpp"
#include "host/supervisor/spawner.hpp"
#include "host/worker/start_parameters.hpp"
#include "ipc/host_channel.hpp"

namespace sluice::rig {

/// A plugin of the build, pinned by its present digest. `file`: name in the plugin folder or a
/// path.
worker::PluginInstance plugin_of(worker::PluginKind kind, const std::string& type,
                                 const std::string& file,
                                 std::map<std::string, std::string> config = {});

struct SliceOrder {
  std::uint64_t id = 0;
  std::int32_t partition = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t flags = 0;
  std::uint32_t fence = 1;
  std::uint16_t topic = 0;
};
ipc::Command command_of(const SliceOrder& order);

class RunningWorker {
 public:
  /// Fills in the incarnation. Throws if it cannot be spawned: then no test makes sense.
  explicit RunningWorker(worker::StartParameters parameters);
  ~RunningWorker();
  RunningWorker(const RunningWorker&) = delete;
  RunningWorker& operator=(const RunningWorker&) = delete;

  void order(const SliceOrder& slice);
  void revoke(std::int32_t partition, std::uint32_t fence = 1);
  void stop();
  void kill(int signal);
  /// The host is gone, as far as the alive pipe tells.
  void close_alive_pipe() { alive_.write_end.reset(); }

  /// Waits for something to happen, at most so long, and takes it in.
  void pump(int timeout_ms);
  /// Pumps until `is_there` holds; false if a minute passes or the worker ends before.
  bool wait_until(const std::function<bool()>& is_there);
  /// Pumps until the process has ended.
  bool wait_for_exit();

  ipc::HostChannel& channel() { return channel_; }
  pid_t pid() const { return worker_.pid; }
  int pidfd() const { return worker_.pidfd.get(); }

  /// Takes each report instead of the list below.
  std::function<void(const ipc::ReceivedReport&)> on_report;
  std::vector<ipc::ReceivedReport> reports;
  std::size_t count(ipc::ReportKind kind) const;
  const ipc::ReceivedReport* find(ipc::ReportKind kind, std::uint64_t slice_id) const;
  std::string log;     ///< its log pipe
  std::string output;  ///< its stdout and stderr
  std::optional<supervisor::ReapedWorker> exit;

 private:
  void send(const ipc::Command& command);
  void drain();
  void reap();

  ipc::HostChannel channel_;
  supervisor::HostAlivePipe alive_;
  supervisor::SpawnedWorker worker_;
};

}  // namespace sluice::rig
