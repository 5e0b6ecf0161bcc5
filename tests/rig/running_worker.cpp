#include "rig/running_worker.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "host/worker/sha256.hpp"

namespace sluice::rig {

namespace {

constexpr std::chrono::minutes kPatience{1};
constexpr std::uint64_t kIncarnation = 1;

template <typename T, typename E>
T must(boost::system::result<T, E> result) {
  if (!result) throw std::runtime_error{result.error().message()};
  return std::move(*result);
}

supervisor::SpawnedWorker spawn(ipc::HostChannel& channel, const supervisor::HostAlivePipe& alive,
                                const worker::StartParameters& parameters) {
  const std::string bytes = worker::encode(parameters);
  supervisor::SpawnRequest request;
  request.executable = std::string{SLUICE_BIN_DIR} + "/sluice-worker";
  request.title = "sluice-worker: " + parameters.job + "/" + std::to_string(parameters.slot);
  request.channel = channel.worker_fds();
  request.start_parameters = bytes;
  request.host_alive = alive.read_end.get();
  auto spawned = must(supervisor::spawn_worker(request));
  channel.close_worker_fds();
  return spawned;
}

void append_all(int fd, std::string& text) {
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got <= 0) return;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

worker::PluginInstance plugin_of(worker::PluginKind kind, const std::string& type,
                                 const std::string& file,
                                 std::map<std::string, std::string> config) {
  const std::string path = file.starts_with('/') ? file : SLUICE_PLUGIN_DIR "/" + file;
  return {kind, type, type, path, must(worker::sha256_of_file(path)), std::move(config)};
}

ipc::Command command_of(const SliceOrder& order) {
  ipc::Command command;
  command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Slice);
  command.slice_id = order.id;
  command.topic = order.topic;
  command.partition = order.partition;
  command.start = order.start;
  command.end = order.end;
  command.flags = order.flags;
  command.fence = order.fence;
  command.attempt = 1;
  return command;
}

RunningWorker::RunningWorker(worker::StartParameters parameters)
    : channel_{must(ipc::HostChannel::create(parameters.slot, kIncarnation))},
      alive_{must(supervisor::create_host_alive_pipe())} {
  parameters.incarnation = kIncarnation;
  worker_ = spawn(channel_, alive_, parameters);
}

RunningWorker::~RunningWorker() {
  if (exit) return;
  kill(SIGKILL);
  wait_for_exit();
}

void RunningWorker::send(const ipc::Command& command) {
  if (const auto sent = channel_.publish({&command, 1}); !sent) {
    throw std::runtime_error{sent.error().message()};
  }
}

void RunningWorker::order(const SliceOrder& slice) {
  send(command_of(slice));
}

void RunningWorker::revoke(std::int32_t partition, std::uint32_t fence) {
  ipc::Command command;
  command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Revoke);
  command.partition = partition;
  command.fence = fence;
  send(command);
}

void RunningWorker::stop() {
  ipc::Command command;
  command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Stop);
  send(command);
}

void RunningWorker::kill(int signal) {
  if (!exit) static_cast<void>(supervisor::send_signal(worker_.pidfd.get(), signal));
}

void RunningWorker::drain() {
  std::array<ipc::ReceivedReport, 64> batch;
  for (;;) {
    const std::size_t count = must(channel_.drain(batch));
    for (std::size_t i = 0; i < count; ++i) {
      if (on_report) {
        on_report(batch[i]);
      } else {
        reports.push_back(batch[i]);
      }
    }
    if (count < batch.size()) return;
  }
}

void RunningWorker::reap() {
  if (!exit) exit = must(supervisor::try_reap(worker_.pidfd.get()));
}

void RunningWorker::pump(int timeout_ms) {
  channel_.prepare_to_sleep();
  std::array<pollfd, 4> fds{{{channel_.doorbell_fd(), POLLIN, 0},
                             {worker_.log_pipe.get(), POLLIN, 0},
                             {worker_.output_pipe.get(), POLLIN, 0},
                             {exit ? -1 : worker_.pidfd.get(), POLLIN, 0}}};
  const bool is_waiting = !channel_.has_reports();
  ::poll(fds.data(), fds.size(), is_waiting ? timeout_ms : 0);
  channel_.woken();
  // First what the kernel says, then the ring: reports that came before the end are all there.
  if ((fds[3].revents & POLLIN) != 0) reap();
  append_all(worker_.log_pipe.get(), log);
  append_all(worker_.output_pipe.get(), output);
  drain();
}

bool RunningWorker::wait_until(const std::function<bool()>& is_there) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!is_there()) {
    if (exit || std::chrono::steady_clock::now() > until) return false;
    pump(100);
  }
  return true;
}

bool RunningWorker::wait_for_exit() {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!exit && std::chrono::steady_clock::now() < until) pump(100);
  return exit.has_value();
}

std::size_t RunningWorker::count(ipc::ReportKind kind) const {
  return static_cast<std::size_t>(
      std::count_if(reports.begin(), reports.end(), [=](const auto& received) {
        return received.report.kind == static_cast<std::uint16_t>(kind);
      }));
}

const ipc::ReceivedReport* RunningWorker::find(ipc::ReportKind kind, std::uint64_t slice_id) const {
  for (const auto& received : reports) {
    if (received.report.kind == static_cast<std::uint16_t>(kind) &&
        received.report.slice_id == slice_id) {
      return &received;
    }
  }
  return nullptr;
}

}  // namespace sluice::rig
