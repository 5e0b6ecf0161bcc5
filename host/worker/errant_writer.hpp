// The dead letters of a flush group: after the sink's flush answered OK and before anything of the
// group is reported (delivery.md D2, D4), every errant record of it is written to the dead letter
// topic and acknowledged. A letter that cannot be written holds its slice: while no broker answers
// for as long as it takes, after a refusal with the back-off and patience of a retry; then the
// slice fails with that reason, which is the environment's fault and never a charged attempt.
//
// It waits by turning the loop (Patience::turn), so pulse, commands, REVOKE and STOP go on. Without
// a dead letter topic it does nothing. A group without errant records costs one look at each slice.
// Owned by the group runner, task thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/dead_letter/writer.hpp"
#include "host/worker/flush_group.hpp"
#include "host/worker/outbox.hpp"
#include "host/worker/plugin_chain.hpp"
#include "host/worker/slice_intake.hpp"
#include "host/worker/start_parameters.hpp"
#include "host/worker/task_time.hpp"
#include "ipc/worker_channel.hpp"

namespace sluice::worker {

class ErrantWriter {
 public:
  ErrantWriter(const StartParameters& parameters, dead_letter::OpenOutlet open,
               const SliceIntake& intake, Outbox& outbox, ipc::WorkerChannel& channel, LogPipe& log,
               Patience& patience, const TaskTime& time);

  /// Ok: every letter is acknowledged, except in runs that have a `failure` now. Interrupted: some
  /// may be under way; asked again it goes on, drop() gives them up.
  CallEnd write(std::vector<SliceRun>& runs, PhaseTimes& times);
  void drop();

  /// The slice whose letter waits; null while none does.
  const SliceWork* slice_in_hand() const { return slice_in_hand_; }

 private:
  void collect(std::vector<SliceRun>& runs);
  void collect(SliceRun& run);
  dead_letter::Cause cause_of(const SliceRun& run, const ErrantRecord& errant) const;
  CallEnd write(std::vector<SliceRun>& runs);
  CallEnd await_answers(std::vector<SliceRun>& runs);
  PluginFailure refusal(std::vector<SliceRun>& runs);
  void fail_refused(std::vector<SliceRun>& runs, const PluginFailure& failure);
  void tell_outcome();
  void hold(std::vector<SliceRun>& runs, std::uint64_t slice_id);

  const StartParameters& parameters_;
  const SliceIntake& intake_;
  Outbox& outbox_;
  ipc::WorkerChannel& channel_;
  LogPipe& log_;
  Patience& patience_;
  const TaskTime& time_;
  std::optional<dead_letter::Writer> writer_;
  Attempts attempts_;  ///< of the letters that are refused
  const SliceWork* slice_in_hand_ = nullptr;
};

}  // namespace sluice::worker
