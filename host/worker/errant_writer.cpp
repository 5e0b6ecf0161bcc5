#include "host/worker/errant_writer.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace sluice::worker {

using dead_letter::Context;
using dead_letter::Letter;
using dead_letter::LetterState;
using ipc::Counter;
using ipc::FailureClass;
using ipc::Phase;

namespace {

/// How long one wait for acknowledgements lasts before commands are looked at; an answer ends it.
constexpr int kServeMs = 10;
/// The first WAITING about letters without an answer; the next ones come at doubling distances.
constexpr std::int64_t kTellAfterUs = 1'000'000;
constexpr std::int64_t kTellAfterMaxUs = 30'000'000;

constexpr std::string_view kStage = "dead letter";

dead_letter::WriterOptions writer_options(const StartParameters& parameters) {
  const DeadLetterParameters& wanted = *parameters.dead_letters;
  const Context context =
      wanted.context_headers == ContextHeaders::On ? Context::Full : Context::None;
  return {parameters.job, parameters.slot, context, wanted.rate_max};
}

SliceRun* run_of(std::vector<SliceRun>& runs, std::uint64_t slice_id) {
  const auto at = std::find_if(runs.begin(), runs.end(), [=](const SliceRun& run) {
    return run.slice->command.slice_id == slice_id;
  });
  return at == runs.end() ? nullptr : &*at;
}

std::string where_of(const Letter& letter) {
  return std::string{letter.topic} + "-" + std::to_string(letter.record->partition) + "@" +
         std::to_string(letter.record->offset);
}

/// Connect's word for the call in which a record failed; CRASH and HANG are their own.
std::string stage_of(const std::string& call) {
  if (call == dead_letter::kStageCrash || call == dead_letter::kStageHang) return call;
  return std::string{call == "process" ? dead_letter::kStageTransformation
                                       : dead_letter::kStagePut};
}

PluginFailure environment_failure(std::string why) {
  PluginFailure failure;
  failure.status = SLUICE_RETRY;
  failure.failure_class = FailureClass::RetryUsedUp;
  failure.text = {{}, std::string{kStage}, std::move(why)};
  return failure;
}

}  // namespace

ErrantWriter::ErrantWriter(const StartParameters& parameters, dead_letter::OpenOutlet open,
                           const SliceIntake& intake, Outbox& outbox, ipc::WorkerChannel& channel,
                           LogPipe& log, Patience& patience, const TaskTime& time)
    : parameters_{parameters},
      intake_{intake},
      outbox_{outbox},
      channel_{channel},
      log_{log},
      patience_{patience},
      time_{time} {
  if (parameters.dead_letters) writer_.emplace(writer_options(parameters), std::move(open));
}

CallEnd ErrantWriter::write(std::vector<SliceRun>& runs, PhaseTimes& times) {
  if (!writer_) return CallEnd::Ok;
  collect(runs);
  if (writer_->empty()) return CallEnd::Ok;
  const std::int64_t begun_us = time_.now_us();
  const CallEnd end = write(runs);
  times.wait_us += static_cast<std::uint64_t>(time_.now_us() - begun_us);
  slice_in_hand_ = nullptr;
  channel_.pulse().enter(Phase::Fetch);
  return end;
}

void ErrantWriter::drop() {
  if (writer_ && !writer_->empty()) writer_->drop();
  attempts_ = {};
}

// --- What is to be written ---------------------------------------------------------------------

void ErrantWriter::collect(std::vector<SliceRun>& runs) {
  for (SliceRun& run : runs) {
    if (!run.errants.empty()) collect(run);
  }
}

void ErrantWriter::collect(SliceRun& run) {
  const auto fresh = std::count_if(run.errants.begin(), run.errants.end(),
                                   [](const ErrantRecord& errant) { return !errant.has_letter; });
  if (fresh == 0 || run.failure) return;
  if (!writer_->admit(static_cast<std::size_t>(fresh), time_.now_us())) {
    run.failure = std::make_unique<PluginFailure>(environment_failure(
        "record " + run.feed->name() + "@" + std::to_string(run.errants.front().record->offset) +
        ": more than errors.deadletterqueue.rate.max = " +
        std::to_string(*parameters_.dead_letters->rate_max) +
        " dead letters in a minute; the last reason: " + run.errants.back().why));
    return;
  }
  const std::string& topic = intake_.topic(run.slice->command.topic).name;
  for (ErrantRecord& errant : run.errants) {
    if (std::exchange(errant.has_letter, true)) continue;
    writer_->add(*errant.record, topic, cause_of(run, errant), run.slice->command.slice_id);
  }
}

dead_letter::Cause ErrantWriter::cause_of(const SliceRun& run, const ErrantRecord& errant) const {
  dead_letter::Cause cause;
  cause.stage = stage_of(errant.stage);
  cause.plugin =
      of_plugins(parameters_.plugins, errant.plugin, &PluginInstance::type).value_or(errant.plugin);
  cause.why = errant.why;
  if (cause.stage != errant.stage) cause.call = errant.stage;
  const bool is_death =
      cause.stage == dead_letter::kStageCrash || cause.stage == dead_letter::kStageHang;
  const ipc::Verdict* verdict = run.slice->verdict.get();
  if (verdict != nullptr && is_death) {
    std::string worker = std::to_string(verdict->worker_slot);
    if (verdict->worker_pid != 0) worker += " pid " + std::to_string(verdict->worker_pid);
    cause.death = {std::move(worker), verdict->signal, verdict->plugin_sha256};
  }
  return cause;
}

// --- Writing -----------------------------------------------------------------------------------

CallEnd ErrantWriter::write(std::vector<SliceRun>& runs) {
  for (;;) {
    if (await_answers(runs) == CallEnd::Interrupted) return CallEnd::Interrupted;
    if (writer_->refused() == 0) break;
    const PluginFailure failure = refusal(runs);
    const Verdict verdict =
        patience_.wait(failure, attempts_, parameters_.dead_letters->patience_ms);
    if (verdict == Verdict::Interrupted) return CallEnd::Interrupted;
    if (verdict == Verdict::UsedUp) {
      fail_refused(runs, failure);
      break;
    }
    writer_->retry_refused();
  }
  attempts_ = {};
  tell_outcome();
  writer_->clear();
  return CallEnd::Ok;
}

CallEnd ErrantWriter::await_answers(std::vector<SliceRun>& runs) {
  channel_.pulse().enter(Phase::Wait);
  const std::int64_t begun_us = time_.now_us();
  std::int64_t tell_after_us = kTellAfterUs;
  std::int64_t tell_us = begun_us + tell_after_us;
  std::uint32_t told = 0;
  for (writer_->send(); writer_->unanswered() > 0; writer_->send()) {
    writer_->serve(kServeMs);
    if (!patience_.turn()) return CallEnd::Interrupted;
    const std::int64_t now_us = time_.now_us();
    if (writer_->unanswered() == 0 || now_us < tell_us) continue;
    const auto& letters = writer_->letters();
    const auto waiting = std::find_if(letters.begin(), letters.end(), [](const Letter& letter) {
      return letter.state == LetterState::Waiting || letter.state == LetterState::UnderWay;
    });
    hold(runs, waiting->slice_id);
    std::string why = "no answer to the dead letter of " + where_of(*waiting);
    if (const std::string trouble = writer_->trouble(); !trouble.empty()) why += ": " + trouble;
    if (told == 0) log_.say(LogLevel::Warning, why + "; the slice waits");
    outbox_.waiting(slice_in_hand_, FailureClass::Kafka, ++told, now_us - begun_us,
                    {{}, std::string{kStage}, why});
    channel_.pulse().enter(Phase::Wait);
    tell_after_us = std::min(2 * tell_after_us, kTellAfterMaxUs);
    tell_us = now_us + tell_after_us;
  }
  return CallEnd::Ok;
}

/// What is said of the refused letters: the first one's reason. Counts all of them.
PluginFailure ErrantWriter::refusal(std::vector<SliceRun>& runs) {
  const auto& letters = writer_->letters();
  const auto first = std::find_if(letters.begin(), letters.end(), [](const Letter& letter) {
    return letter.state == LetterState::Refused;
  });
  channel_.counters().add(Counter::DeadLetterFailures, writer_->refused());
  hold(runs, first->slice_id);
  PluginFailure failure = environment_failure("record " + where_of(*first) +
                                              ": its dead letter cannot be written: " + first->why);
  log_.say(LogLevel::Warning, failure.text.message +
                                  "; refused dead letters: " + std::to_string(writer_->refused()) +
                                  ", attempt " + std::to_string(attempts_.count + 1));
  return failure;
}

void ErrantWriter::fail_refused(std::vector<SliceRun>& runs, const PluginFailure& failure) {
  for (const Letter& letter : writer_->letters()) {
    if (letter.state != LetterState::Refused) continue;
    SliceRun* run = run_of(runs, letter.slice_id);
    if (run != nullptr && !run->failure) run->failure = std::make_unique<PluginFailure>(failure);
  }
}

void ErrantWriter::tell_outcome() {
  const auto& letters = writer_->letters();
  const auto written = std::count_if(letters.begin(), letters.end(), [](const Letter& letter) {
    return letter.state == LetterState::Written;
  });
  channel_.counters().add(Counter::DeadLetters, static_cast<std::uint64_t>(written));
  if (parameters_.dead_letters->context_headers == ContextHeaders::Off) return;
  for (const Letter& letter : letters) {
    if (letter.state != LetterState::Written || letter.context == Context::Full) continue;
    log_.say(LogLevel::Warning, "the dead letter of " + where_of(letter) +
                                    " was too large; written " +
                                    (letter.context == Context::None ? "without the host's headers"
                                                                     : "without its error text"));
  }
}

void ErrantWriter::hold(std::vector<SliceRun>& runs, std::uint64_t slice_id) {
  const SliceRun* run = run_of(runs, slice_id);
  slice_in_hand_ = run == nullptr ? nullptr : run->slice;
}

}  // namespace sluice::worker
