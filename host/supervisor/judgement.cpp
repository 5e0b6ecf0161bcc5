#include "host/supervisor/judgement.hpp"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "host/base/assert.hpp"

namespace sluice::supervisor {
namespace {

/// F2: what a plugin's own code can bring about. Everything else comes from outside.
bool is_fault(int signal_number) {
  constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  for (const int fault : kFaults) {
    if (fault == signal_number) return true;
  }
  return false;
}

std::string signal_name(int number) {
  const char* abbreviation = ::sigabbrev_np(number);
  return abbreviation != nullptr ? std::string{"SIG"} + abbreviation
                                 : "signal " + std::to_string(number);
}

std::string seconds(Milliseconds time) {
  return std::to_string(time.count() / 1000) + " s";
}

/// `fragile_processor.so+0x1a2b`: the first frame outside the system's libraries, else the first.
/// Empty without frames.
std::string place_of(const ipc::CrashNote& note) {
  const auto base_name = [](const ipc::CrashFrame& frame) {
    return frame.module.substr(frame.module.rfind('/') + 1);
  };
  const auto is_own = [&](const ipc::CrashFrame& frame) {
    const auto name = base_name(frame);
    return !name.empty() && !name.starts_with("lib") && !name.starts_with("ld-");
  };
  auto frame = std::find_if(note.frames.begin(), note.frames.end(), is_own);
  if (frame == note.frames.end()) frame = note.frames.begin();
  if (frame == note.frames.end() || frame->module.empty()) return {};
  std::ostringstream text;
  text << base_name(*frame) << "+0x" << std::hex << frame->offset;
  return text.str();
}

void name_slice(Accusation& accusation, const LastWords& words) {
  if (words.note) {
    accusation.slice_id = words.note->slice_id;
    accusation.offset = words.note->offset;
    accusation.position = words.note->position;
    accusation.plugin_place = words.note->plugin_place;
    accusation.phase = words.note->phase;
  } else if (words.pulse) {
    accusation.slice_id = words.pulse->slice_id;
    accusation.offset = words.pulse->offset;
    accusation.position = words.pulse->position;
    accusation.plugin_place = words.pulse->plugin_place;
    accusation.phase = words.pulse->phase;
  }
}

void judge_exit(Accusation& accusation, const LastWords& words) {
  const bool clean = words.status.code == kExitClean && words.asked_to_stop;
  accusation.cause = clean ? LossCause::Stopped : LossCause::Exit;
  accusation.text = "exit code " + std::to_string(words.status.code);
}

void judge_signal(Accusation& accusation, const LastWords& words) {
  const int number = words.status.code;
  // A fault signal that somebody else sent is no fault of the code that ran at that moment.
  const bool sent = words.note && words.note->sender != 0 && words.note->sender != words.pid;
  const bool kernel_stop = number == SIGSYS || number == SIGTRAP;
  if ((!is_fault(number) && !kernel_stop) || sent) {
    accusation.cause = LossCause::Killed;
    accusation.text = signal_name(number) + ", not from us";
    return;
  }
  accusation.cause = LossCause::Crash;
  accusation.text = signal_name(number) + " in " + std::string{ipc::phase_name(accusation.phase)};
  const std::string place = words.note ? place_of(*words.note) : std::string{};
  if (!place.empty()) accusation.text += " at " + place;
  const bool task_thread = !words.note || words.note->thread == ipc::CrashThread::Task;
  if (!task_thread) accusation.text += " (not on the task thread)";
  if (is_fault(number) && task_thread) accusation.blame = slicer::Blame::Record;
}

/// What a worker must show next, and since when it has shown nothing.
struct Expected {
  enum class What : std::uint8_t { Nothing, Answer, Turn };

  What what = What::Nothing;
  std::string_view of;
  Milliseconds since{0};
  Milliseconds limit{0};

  Milliseconds due() const { return since + limit; }
};

Expected expected(const std::optional<ipc::Pulse>& pulse, Workload workload, bool stop_sent,
                  const Deadlines& since, const SupervisorOptions& options) {
  if (!pulse || pulse->loops == 0) {
    // Before the first turn of the loop: loading, or starting the plugins.
    const bool starting = pulse && pulse->phase == ipc::Phase::Start;
    return {Expected::What::Answer, starting ? "start" : "loading", since.call_since,
            starting ? options.call_timeout : options.load_timeout};
  }
  const auto phase = ipc::phase_name(pulse->phase);
  switch (pulse->phase) {
    case ipc::Phase::Idle:
      if (workload == Workload::None) return {};
      [[fallthrough]];
    case ipc::Phase::Fetch:
    case ipc::Phase::Wait:
      return {Expected::What::Turn, phase, since.loop_since, options.loop_timeout};
    case ipc::Phase::Stop:
      if (stop_sent) return {};  // the drain's deadline, which has the same limit, covers it
      return {Expected::What::Answer, phase, since.call_since, options.stop_timeout};
    default:
      return {Expected::What::Answer, phase, since.call_since, options.call_timeout};
  }
}

}  // namespace

bool in_plugin(ipc::Phase phase) {
  return phase == ipc::Phase::Process || phase == ipc::Phase::Put || phase == ipc::Phase::Flush ||
         phase == ipc::Phase::State;
}

bool same_call(const ipc::Pulse& before, const ipc::Pulse& now) {
  return before.phase == now.phase && before.slice_id == now.slice_id &&
         before.offset == now.offset && before.phase_since_ns == now.phase_since_ns &&
         before.deadline_extended_ns == now.deadline_extended_ns;
}

std::optional<Ending> overdue(const std::optional<ipc::Pulse>& pulse, Workload workload,
                              bool stop_sent, const Deadlines& since,
                              const SupervisorOptions& options, Milliseconds now) {
  if (stop_sent && now - since.stop_since >= options.stop_timeout) {
    return Ending{LossCause::StopTimeout, "has not stopped for " + seconds(options.stop_timeout)};
  }
  const auto next = expected(pulse, workload, stop_sent, since, options);
  if (next.what == Expected::What::Nothing || now < next.due()) return std::nullopt;
  const std::string of{next.of};
  const auto limit = seconds(next.limit);
  return Ending{LossCause::Hang, next.what == Expected::What::Turn
                                     ? "its loop stands still in " + of + " for " + limit
                                     : "no answer from " + of + " for " + limit};
}

std::optional<Milliseconds> due_at(const std::optional<ipc::Pulse>& pulse, Workload workload,
                                   bool stop_sent, const Deadlines& since,
                                   const SupervisorOptions& options) {
  std::optional<Milliseconds> due;
  if (stop_sent) due = since.stop_since + options.stop_timeout;
  const auto next = expected(pulse, workload, stop_sent, since, options);
  if (next.what != Expected::What::Nothing) due = std::min(due.value_or(next.due()), next.due());
  return due;
}

// The coarse clock of pulses is behind the fine one by up to a tick of the kernel.
Milliseconds call_began(const ipc::Pulse& pulse, Milliseconds looked_before, Milliseconds now) {
  constexpr Milliseconds kCoarse{5};
  const auto said_ns = std::max(pulse.phase_since_ns, pulse.deadline_extended_ns);
  const auto said = Milliseconds{static_cast<std::int64_t>(said_ns / 1'000'000)} + kCoarse;
  return said > looked_before && said < now ? said : now;
}

Accusation judge(const LastWords& words) {
  Accusation accusation;
  accusation.code = words.status.code;
  name_slice(accusation, words);
  if (words.status.kind == ExitStatus::Kind::Exited) {
    judge_exit(accusation, words);
  } else if (words.ending) {
    accusation.cause = words.ending->cause;
    accusation.text = words.ending->text;
    const std::string place = words.note ? place_of(*words.note) : std::string{};
    if (!place.empty()) accusation.text += ", at " + place;
    // While Kafka is away everything may hang, whatever the record; a process that somebody has
    // stopped does not hang at all.
    if (accusation.cause == LossCause::Hang && in_plugin(accusation.phase) &&
        words.kafka == KafkaState::Answering && words.ending->stall != Stall::Stopped) {
      accusation.blame = slicer::Blame::Record;
    }
  } else {
    judge_signal(accusation, words);
  }
  return accusation;
}

}  // namespace sluice::supervisor
