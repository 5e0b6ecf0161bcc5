#include "host/job/command_publisher.hpp"

#include <algorithm>

#include "host/base/assert.hpp"

namespace sluice::job {
namespace {

template <typename Companion>
const Companion& of_slice(const std::vector<Companion>& all, std::uint64_t slice_id) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& one) { return one.slice_id == slice_id; });
  SLUICE_ASSERT(found != all.end(), slice_id);
  return *found;
}

}  // namespace

ipc::Verdict verdict_of(const slicer::DeadLetterReason& reason,
                        const std::vector<worker::PluginInstance>& plugins) {
  ipc::Verdict verdict;
  verdict.text = {reason.error.plugin, reason.error.stage, reason.error.message};
  verdict.worker_slot = reason.slot;
  // The signal, for CRASH and HANG; for other stages the worker does not look at it.
  verdict.signal = static_cast<std::int32_t>(reason.error.code);
  verdict.plugin_sha256 =
      of_plugins(plugins, verdict.text.plugin, &worker::PluginInstance::sha256).value_or("");
  return verdict;
}

Result<> publish(WorkerLink& worker, std::span<const ipc::Command> commands,
                 const slicer::Actions& actions,
                 const std::vector<worker::PluginInstance>& plugins) {
  if (actions.dead_letters.empty() && actions.terms.empty()) return worker.publish(commands);
  for (const auto& command : commands) {
    if ((command.flags & ipc::kDeadLetterOnly) != 0) {
      const auto& reason = of_slice(actions.dead_letters, command.slice_id);
      SLUICE_TRY(worker.publish_dead_letter(command, verdict_of(reason, plugins)));
    } else if ((command.flags & (ipc::kProbe | ipc::kExclude)) != 0) {
      const auto& terms = of_slice(actions.terms, command.slice_id).terms;
      SLUICE_TRY(worker.publish_with_terms(command, terms));
    } else {
      SLUICE_TRY(worker.publish({&command, 1}));
    }
  }
  return {};
}

}  // namespace sluice::job
