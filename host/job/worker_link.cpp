#include "host/job/worker_link.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace sluice::job {
namespace {

Error from_ipc(const ipc::Error& error) {
  using ipc::ErrorCode;
  const auto code = error.code() == ErrorCode::Violation      ? sluice::ErrorCode::IpcViolation
                    : error.code() == ErrorCode::Incompatible ? sluice::ErrorCode::Incompatible
                                                              : sluice::ErrorCode::Io;
  return Error{code, error.message()};
}

// A log line of a worker begins with journald's priority: `<4>text`.
log::Level level_of(std::string_view& line) {
  if (line.size() < 3 || line[0] != '<' || line[2] != '>' || line[1] < '0' || line[1] > '7') {
    return log::Level::Info;
  }
  const int priority = line[1] - '0';
  line.remove_prefix(3);
  if (priority <= 3) return log::Level::Error;
  if (priority == 4) return log::Level::Warning;
  return priority == 7 ? log::Level::Debug : log::Level::Info;
}

// Slices of 100 records are done every 50 us: a doorbell for each would cost the host ten times
// what the report does. Where slices are this short the worker is not asked to ring; the next
// reports are looked for together, when it should have done half of what it has.
constexpr std::chrono::microseconds kShortSlice{250};
constexpr std::size_t kLeftToGather = 4;
constexpr std::chrono::microseconds kGatherMax{1'000};

}  // namespace

Result<std::unique_ptr<WorkerLink>> WorkerLink::spawn(const WorkerLinkOptions& options,
                                                      EventLoop& loop, log::Logger log,
                                                      WorkerEvents& events) {
  auto channel = ipc::HostChannel::create(options.slot, options.incarnation);
  if (!channel) return from_ipc(channel.error());
  std::unique_ptr<WorkerLink> link{
      new WorkerLink{options, loop, std::move(log), events, *std::move(channel)}};
  supervisor::SpawnRequest request;
  request.executable = options.executable;
  request.executable_fd = options.executable_fd;
  request.title = options.title;
  request.channel = link->channel_.worker_fds();
  request.start_parameters = options.start_parameters;
  request.host_alive = options.host_alive;
  request.state_lock = options.state_lock;
  auto spawned = supervisor::spawn_worker(request);
  if (!spawned) return spawned.error();
  link->process_ = *std::move(spawned);
  link->channel_.close_worker_fds();
  link->watch();
  return link;
}

WorkerLink::WorkerLink(const WorkerLinkOptions& options, EventLoop& loop, log::Logger log,
                       WorkerEvents& events, ipc::HostChannel channel)
    : slot_{options.slot},
      incarnation_{options.incarnation},
      loop_{loop},
      log_{std::move(log)},
      events_{events},
      channel_{std::move(channel)} {}

WorkerLink::~WorkerLink() = default;

void WorkerLink::watch() {
  channel_.prepare_to_sleep();
  doorbell_watch_ = loop_.watch_readable(channel_.doorbell_fd(), [this] { on_doorbell(); });
  exit_watch_ = loop_.watch_readable(process_.pidfd.get(), [this] { on_exit(); });
  for (auto* pipe : {&log_pipe_, &output_pipe_}) {
    pipe->fd = pipe->kind == Pipe::Kind::Log ? process_.log_pipe.get() : process_.output_pipe.get();
    pipe->watch = loop_.watch_readable(pipe->fd, [this, pipe] { read_pipe(*pipe); });
  }
}

Result<> WorkerLink::publish(std::span<const ipc::Command> commands) {
  const auto published = channel_.publish(commands);
  if (!published) return from_ipc(published.error());
  return {};
}

Result<> WorkerLink::publish_topic(std::uint16_t index, const std::string& topic) {
  const auto published = channel_.publish_topic(index, topic, 1);
  if (!published) return from_ipc(published.error());
  return {};
}

Result<> WorkerLink::publish_dead_letter(const ipc::Command& command, const ipc::Verdict& verdict) {
  const auto published = channel_.publish_dead_letter(command, verdict);
  if (!published) return from_ipc(published.error());
  return {};
}

Result<> WorkerLink::publish_with_terms(const ipc::Command& command, const ipc::SliceTerms& terms) {
  const auto published = channel_.publish_with_terms(command, terms);
  if (!published) return from_ipc(published.error());
  return {};
}

Result<> WorkerLink::signal(int number) {
  return supervisor::send_signal(process_.pidfd.get(), number);
}

void WorkerLink::tick() {
  channel_.beat();
  if (!exited_ && !violated_ && channel_.has_reports()) on_doorbell();
}

void WorkerLink::on_doorbell() {
  channel_.woken();
  const bool emptied = drain_once();
  if (const auto note = channel_.crash_note(); note && !std::exchange(crash_noted_, true)) {
    events_.crash_noted(slot_, incarnation_, *note);
  }
  const auto left = events_.reports_drained(slot_);
  if (violated_) return;
  // One bounded drain a turn: a worker that spams waits for the other workers' turn.
  if (!emptied) return look_again(std::chrono::microseconds{0});
  const auto each = time_a_slice();
  if (each < kShortSlice && left >= kLeftToGather) {
    const std::chrono::microseconds half_done = each * (left / 2);
    return look_again(std::min(half_done, kGatherMax));
  }
  channel_.prepare_to_sleep();
  if (channel_.has_reports()) look_again(std::chrono::microseconds{0});
}

std::chrono::microseconds WorkerLink::time_a_slice() {
  if (drained_ == 0) return std::chrono::microseconds::max();
  const auto now = std::chrono::steady_clock::now();
  const auto passed = now - std::exchange(drained_at_, now);
  return std::chrono::duration_cast<std::chrono::microseconds>(passed) / drained_;
}

void WorkerLink::look_again(std::chrono::microseconds delay) {
  again_ = loop_.after(delay, [this] { on_doorbell(); });
}

bool WorkerLink::drain_once() {
  if (violated_) return true;
  const auto count = channel_.drain(received_);
  if (!count) {
    violated_ = true;
    const auto error = count.error();
    const auto& violation = error.violation();
    log_.error("broke the ring: " + error.message());
    events_.violated(slot_, incarnation_,
                     violation ? std::string{ipc::rule_name(violation->rule)} : "unreadable");
    return true;
  }
  drained_ = *count;
  for (std::size_t i = 0; i < *count; ++i) events_.reported(slot_, incarnation_, received_[i]);
  return *count < received_.size();
}

void WorkerLink::drain_until_empty() {
  while (!drain_once()) {
  }
}

void WorkerLink::on_exit() {
  const auto reaped = supervisor::try_reap(process_.pidfd.get());
  if (!reaped) return log_.error(reaped.error().message());
  if (!*reaped) return;
  exited_ = true;
  doorbell_watch_.reset();
  again_.reset();
  exit_watch_.reset();
  drain_until_empty();  // reports that it left count (facts 3.6)
  end_pipe(log_pipe_);
  end_pipe(output_pipe_);
  if (const auto note = channel_.crash_note()) events_.crash_noted(slot_, incarnation_, *note);
  events_.exited(slot_, incarnation_, **reaped);
}

void WorkerLink::read_pipe(Pipe& pipe) {
  // Bounded a turn, so that a plugin that prints without end does not own the loop.
  constexpr int kReadsMax = 16;
  std::array<char, 16 * 1024> buffer;
  for (int i = 0; i < kReadsMax; ++i) {
    const auto size = ::read(pipe.fd, buffer.data(), buffer.size());
    if (size == 0) pipe.watch.reset();
    if (size <= 0) return;
    pipe.lines.feed({buffer.data(), static_cast<std::size_t>(size)},
                    [&](std::string_view line) { log_line(pipe, line); });
  }
}

void WorkerLink::log_line(const Pipe& pipe, std::string_view line) {
  if (pipe.kind == Pipe::Kind::Output) return log_.info(line);
  const auto level = level_of(line);
  log_.log(level, line);
}

void WorkerLink::end_pipe(Pipe& pipe) {
  read_pipe(pipe);
  pipe.lines.finish([&](std::string_view line) { log_line(pipe, line); });
  pipe.watch.reset();
}

}  // namespace sluice::job
