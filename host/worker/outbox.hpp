// What a worker reports: the one place that fills ipc::Report, so that every slice gets exactly one
// of DONE, RELEASED, FAILED and EXPIRED, with its counts and times, whatever became of it. A full
// ring makes it wait; a damaged one is noted, and the task loop leaves. Task thread only.
#pragma once

#include <cstdint>
#include <string_view>

#include "host/worker/plugin_failure.hpp"
#include "host/worker/slice_work.hpp"
#include "ipc/worker_channel.hpp"

namespace sluice::worker {

class Outbox {
 public:
  explicit Outbox(ipc::WorkerChannel& channel) : channel_{channel} {}

  void ready();
  /// Durable to its end, in a flush of `group_slices` slices.
  void done(const SliceWork& slice, std::uint32_t group_slices);
  /// Durable up to slice.durable, the rest is given back. DONE if there is no rest.
  void released(const SliceWork& slice);
  void failed(const SliceWork& slice, const PluginFailure& failure);
  /// A probe that is over. Nothing of it is durable.
  void survived(const SliceWork& slice);
  /// No slice is to blame: the chain cannot be started.
  void chain_failed(const PluginFailure& failure);
  void expired(const SliceWork& slice, std::int64_t position);
  void waiting(const SliceWork* slice, ipc::FailureClass failure_class, std::uint32_t attempt,
               std::int64_t waited_us, const ipc::FailureText& text);
  void opened(std::uint16_t topic, std::int32_t partition, std::int64_t position);
  void seen(std::uint16_t topic, std::int32_t partition, std::int64_t visible_end);
  void log_lost(std::uint32_t lines);

  /// The host's side of the ring is damaged: nothing can be reported any more.
  bool is_broken() const { return is_broken_; }

 private:
  void send(const ipc::Report& report, std::string_view text = {});

  ipc::WorkerChannel& channel_;
  bool is_broken_ = false;
};

}  // namespace sluice::worker
