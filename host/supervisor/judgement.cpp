#include "host/supervisor/judgement.hpp"

#include <signal.h>
#include <string.h>

#include <array>

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

bool in_plugin(ipc::Phase phase) {
  return phase == ipc::Phase::Process || phase == ipc::Phase::Put || phase == ipc::Phase::Flush ||
         phase == ipc::Phase::State;
}

std::string signal_name(int number) {
  const char* abbreviation = ::sigabbrev_np(number);
  return abbreviation != nullptr ? std::string{"SIG"} + abbreviation
                                 : "signal " + std::to_string(number);
}

std::string seconds(Milliseconds time) {
  return std::to_string(time.count() / 1000) + " s";
}

void name_slice(Accusation& accusation, const LastWords& words) {
  if (words.note) {
    accusation.slice_id = words.note->slice_id;
    accusation.offset = words.note->offset;
    accusation.phase = words.note->phase;
  } else if (words.pulse) {
    accusation.slice_id = words.pulse->slice_id;
    accusation.offset = words.pulse->offset;
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
  const bool task_thread = !words.note || words.note->thread == ipc::CrashThread::Task;
  if (!task_thread) accusation.text += " (not on the task thread)";
  if (is_fault(number) && task_thread) accusation.blame = slicer::Blame::Record;
}

}  // namespace

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
  if (!pulse || pulse->loops == 0) {
    // Before the first turn of the loop: loading, or starting the plugins.
    const bool starting = pulse && pulse->phase == ipc::Phase::Start;
    const Milliseconds limit = starting ? options.call_timeout : options.load_timeout;
    if (now - since.call_since < limit) return std::nullopt;
    return Ending{LossCause::Hang, std::string{"no answer from "} +
                                       (starting ? "start" : "loading") + " for " + seconds(limit)};
  }
  const std::string phase{ipc::phase_name(pulse->phase)};
  switch (pulse->phase) {
    case ipc::Phase::Idle:
      if (workload == Workload::None) return std::nullopt;
      [[fallthrough]];
    case ipc::Phase::Fetch:
    case ipc::Phase::Wait:
      if (now - since.loop_since < options.loop_timeout) return std::nullopt;
      return Ending{LossCause::Hang,
                    "its loop stands still in " + phase + " for " + seconds(options.loop_timeout)};
    default: {
      const Milliseconds limit =
          pulse->phase == ipc::Phase::Stop ? options.stop_timeout : options.call_timeout;
      if (now - since.call_since < limit) return std::nullopt;
      return Ending{LossCause::Hang, "no answer from " + phase + " for " + seconds(limit)};
    }
  }
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
    // While Kafka is away everything may hang, whatever the record.
    if (accusation.cause == LossCause::Hang && in_plugin(accusation.phase) &&
        words.kafka == KafkaState::Answering) {
      accusation.blame = slicer::Blame::Record;
    }
  } else {
    judge_signal(accusation, words);
  }
  return accusation;
}

}  // namespace sluice::supervisor
