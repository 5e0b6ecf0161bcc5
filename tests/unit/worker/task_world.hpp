// A worker's task loop with everything around it made by hand: the host's end of a real channel,
// logs (fake_source), plugins (fake_plugin), and a clock that moves when the loop sleeps. The test
// is a script of host actions; each runs when the loop has nothing left to do. After the last one,
// STOP.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "host/worker/task_loop.hpp"
#include "ipc/failure_text.hpp"
#include "ipc/host_channel.hpp"
#include "unit/dead_letter/fake_outlet.hpp"
#include "unit/worker/fake_plugin.hpp"
#include "unit/worker/fake_source.hpp"

namespace sluice::worker::fixture {

inline constexpr std::int64_t kSecondUs = 1'000'000;

inline std::string text_of(const ipc::ReceivedReport& received) {
  static constexpr const char* kNames[] = {"?",       "READY",    "DONE",    "RELEASED",
                                           "FAILED",  "EXPIRED",  "SEEN",    "OPENED",
                                           "WAITING", "LOG_LOST", "SURVIVED"};
  const ipc::Report& report = received.report;
  std::string text = kNames[report.kind];
  if (report.slice_id != 0) text += " " + std::to_string(report.slice_id);
  if (report.kind != 1) text += " @" + std::to_string(report.next_offset);
  return text;
}

class TaskWorld final : public TaskTime {
 public:
  TaskWorld()
      : host_{ipc::HostChannel::create(0, 1).value()},
        worker_{ipc::WorkerChannel::attach(copies(host_.worker_fds()), 1).value()} {
    current_world() = &plugin;
    parameters.job = "job";
    parameters.topics = {{"orders", 3}};
    REQUIRE(::pipe2(log_pipe_, O_NONBLOCK | O_CLOEXEC) == 0);
    outlet.on_serve = [this](int timeout_ms) { pass_while_letters_wait(timeout_ms); };
  }
  ~TaskWorld() override {
    ::close(log_pipe_[0]);
    ::close(log_pipe_[1]);
  }
  TaskWorld(const TaskWorld&) = delete;
  TaskWorld& operator=(const TaskWorld&) = delete;

  // --- What the host does; to be called from the script --------------------------------------
  void slice(std::uint64_t id, std::int32_t partition, std::int64_t start, std::int64_t end,
             std::uint32_t flags = 0, std::uint32_t fence = 1) {
    ipc::Command command = slice_command(id, partition, start, end);
    command.flags = flags;
    command.fence = fence;
    publish(command);
  }
  /// A record to be set aside without a plugin seeing it.
  void dead_letter(std::uint64_t id, std::int32_t partition, std::int64_t offset,
                   const ipc::Verdict& verdict) {
    const auto command = slice_command(id, partition, offset, offset + 1);
    REQUIRE(host_.publish_dead_letter(command, verdict).has_value());
  }
  /// ... with kProbe or kExclude.
  void slice_with_terms(std::uint64_t id, std::int64_t start, std::int64_t end, std::uint32_t flags,
                        const ipc::SliceTerms& terms) {
    auto command = slice_command(id, 0, start, end);
    command.flags = flags;
    REQUIRE(host_.publish_with_terms(command, terms).has_value());
  }
  void revoke(std::int32_t partition, std::uint32_t fence = 1) {
    ipc::Command command;
    command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Revoke);
    command.partition = partition;
    command.fence = fence;
    publish(command);
  }
  void stop() {
    ipc::Command command;
    command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Stop);
    publish(command);
  }
  /// STOP, or else REVOKE, comes while the first of partition 0's two batches of five is put.
  void interrupt_first_put(bool is_stop) {
    source.log(0).append(10);
    source.log(0).block_records = 5;
    plugin.on_call["put"] = [this, is_stop](const sluice_host*) {
      if (plugin.times("put") > 1) return;
      is_stop ? stop() : revoke(0);
    };
  }
  void publish(const ipc::Command& command) { REQUIRE(host_.publish({&command, 1}).has_value()); }
  ipc::HostChannel& host() { return host_; }

  // --- The script ------------------------------------------------------------------------------
  using Action = std::function<void()>;
  /// Next time that the loop sleeps for work.
  void then(Action action) { script_.push_back({0, std::move(action)}); }
  /// The same, once so much time has passed since the action before.
  void after_us(
      std::int64_t delay_us, Action action = [] {}) {
    script_.push_back({delay_us, std::move(action)});
  }
  /// Next time that the loop sleeps between two attempts at a call.
  void between_attempts(Action action) { retry_script_.push_back(std::move(action)); }
  /// Next time that the loop waits for the answer to a dead letter, once so much time has passed.
  void before_answer(Action action, std::int64_t delay_us = 0) {
    answer_script_.push_back({delay_us, std::move(action)});
  }

  /// Runs the loop to its end.
  int run() {
    std::vector<ChainLink> links;
    if (has_processor) links.push_back(link(SLUICE_KIND_PROCESSOR, "pass"));
    links.push_back(link(SLUICE_KIND_SINK, "out"));
    LogPipe log{log_pipe_[1]};
    int code = 0;
    {
      TaskLoop loop{parameters, std::move(links), worker_,      source, log,
                    *this,      Random{1},        outlet.open()};
      code = loop.run();
      drain();
    }
    CHECK(source.live_blocks == 0);
    return code;
  }

  /// Reports but WAITING, SEEN and OPENED, which tests ask for by name.
  std::vector<std::string> outcomes() const {
    std::vector<std::string> texts;
    for (const auto& received : reports) {
      const auto kind = static_cast<ipc::ReportKind>(received.report.kind);
      if (kind == ipc::ReportKind::Waiting || kind == ipc::ReportKind::Seen ||
          kind == ipc::ReportKind::Opened || kind == ipc::ReportKind::Ready) {
        continue;
      }
      texts.push_back(text_of(received));
    }
    return texts;
  }
  std::vector<std::string> all(ipc::ReportKind kind) const {
    std::vector<std::string> texts;
    for (const auto& received : reports) {
      if (received.report.kind == static_cast<std::uint16_t>(kind)) {
        texts.push_back(text_of(received));
      }
    }
    return texts;
  }
  const ipc::ReceivedReport& report_of(std::uint64_t slice_id, ipc::ReportKind kind) const {
    for (const auto& received : reports) {
      if (received.report.slice_id == slice_id &&
          received.report.kind == static_cast<std::uint16_t>(kind)) {
        return received;
      }
    }
    FAIL("no such report of slice " << slice_id);
    return reports.front();
  }
  std::string failure_of(std::uint64_t slice_id) const {
    const auto& received = report_of(slice_id, ipc::ReportKind::Failed);
    const ipc::FailureText text = ipc::decode_failure_text(received.text);
    return text.plugin + "/" + text.stage + ": " + text.message;
  }
  std::string logged() {
    char bytes[65536];
    const ssize_t got = ::read(log_pipe_[0], bytes, sizeof bytes);
    return got <= 0 ? std::string{} : std::string{bytes, static_cast<std::size_t>(got)};
  }

  // --- TaskTime --------------------------------------------------------------------------------
  std::int64_t now_us() const override { return now_us_; }
  void advance(std::int64_t by_us) { now_us_ += by_us; }
  void pause(std::int64_t timeout_us, Wake wake) override {
    drain();
    if (++sleeps_ > kSleepsMax) {
      stop();  // a loop that never comes to an end fails the test instead of hanging it
      FAIL_CHECK("the loop slept " << kSleepsMax << " times");
    }
    if (wake == Wake::CommandsOnly) {
      if (retry_script_.empty()) {
        now_us_ += timeout_us;
        return;
      }
      take(retry_script_)();
      return;
    }
    if (script_.empty()) return stop();
    Step& next = script_.front();
    if (next.delay_us > 0) {
      const std::int64_t passed_us = std::min(timeout_us, next.delay_us);
      now_us_ += passed_us;
      next.delay_us -= passed_us;
      return;
    }
    now_us_ += 1;
    const Action action = std::move(next.action);
    script_.pop_front();
    action();
  }

  StartParameters parameters;
  PluginWorld plugin;
  FakeSource source;
  dead_letter::fixture::OutletWorld outlet;
  bool has_processor = false;
  std::vector<ipc::ReceivedReport> reports;

 private:
  struct Step {
    std::int64_t delay_us = 0;
    Action action;
  };
  static constexpr int kSleepsMax = 10'000;

  static ipc::Command slice_command(std::uint64_t id, std::int32_t partition, std::int64_t start,
                                    std::int64_t end) {
    ipc::Command command;
    command.kind = static_cast<std::uint16_t>(ipc::CommandKind::Slice);
    command.slice_id = id;
    command.partition = partition;
    command.start = start;
    command.end = end;
    command.fence = 1;
    command.attempt = 1;
    return command;
  }

  void pass_while_letters_wait(int timeout_ms) {
    drain();
    if (outlet.is_silent) now_us_ += timeout_ms * 1000;
    if (answer_script_.empty()) return;
    Step& next = answer_script_.front();
    next.delay_us -= timeout_ms * 1000;
    if (next.delay_us > 0) return;
    const Action action = std::move(next.action);
    answer_script_.pop_front();
    action();
  }
  static Action take(std::deque<Action>& script) {
    Action action = std::move(script.front());
    script.pop_front();
    return action;
  }
  static ipc::WorkerFds copies(const ipc::WorkerFds& fds) {
    const auto copy = [](int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); };
    return {copy(fds.host_segment), copy(fds.worker_segment), copy(fds.doorbell_to_worker),
            copy(fds.doorbell_to_host)};
  }
  static ChainLink link(sluice_kind kind, const char* alias) {
    const PluginChoice choice = choice_of(kind);
    CheckedSettings checked = PluginSettings::check(
        choice, {}, [](std::string_view) { return std::optional<std::string>{}; });
    return {choice, std::move(checked.settings), alias};
  }
  void drain() {
    std::vector<ipc::ReceivedReport> batch(64);
    for (;;) {
      const auto count = host_.drain(batch);
      REQUIRE(count.has_value());
      reports.insert(reports.end(), batch.begin(),
                     batch.begin() + static_cast<std::ptrdiff_t>(*count));
      if (*count < batch.size()) return;
    }
  }

  ipc::HostChannel host_;
  ipc::WorkerChannel worker_;
  int log_pipe_[2] = {-1, -1};
  std::deque<Step> script_;
  std::deque<Action> retry_script_;
  std::deque<Step> answer_script_;
  std::int64_t now_us_ = 1'000 * kSecondUs;
  int sleeps_ = 0;
};

using Texts = std::vector<std::string>;

}  // namespace sluice::worker::fixture
