#include "host/cli/demo_spectator.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "host/supervisor/process_sample.hpp"

namespace sluice::cli {
namespace {

/// The kill comes when this share of the records is done.
constexpr double kKillAtShare = 0.3;

}  // namespace

void DemoSpectator::attend(job::Host& host, std::string job) {
  host_ = &host;
  job_ = std::move(job);
  attended_ = clock_.monotonic();
}

void DemoSpectator::worker_ready(std::uint32_t slot, std::int32_t pid) {
  pids_[slot] = pid;
  if (!killed_at_ || slot != victim_slot) {
    first_pids.emplace(slot, pid);
  } else if (!respawned_ms) {
    respawned_ms = since(*killed_at_);
    respawned_pid = pid;
  }
}

void DemoSpectator::reported(std::uint32_t slot, const ipc::Report& report) {
  if (static_cast<ipc::ReportKind>(report.kind) != ipc::ReportKind::Done) return;
  if (crashed_at_ && !set_aside_ms) {
    if (report.errant > 0) {
      set_aside_ms = since(*crashed_at_);
    } else if (report.partition != kPoisonPartition) {
      partitions_meanwhile.insert(report.partition);
    }
  }
  if (!first_slice_ms) first_slice_ms = since(attended_);
  done_ += report.records;
  if (!killed_at_) {
    if (static_cast<double>(done_) >= kKillAtShare * static_cast<double>(records_.count)) {
      kill_a_busy_one(slot);
    }
  } else if (lost_ms && !elsewhere_ms && slot != victim_slot &&
             victim_partitions.contains(report.partition)) {
    elsewhere_ms = since(*killed_at_);
  }
}

void DemoSpectator::worker_lost(std::uint32_t slot, const slicer::Accusation& why) {
  if (why.cause == slicer::LossCause::Crash) {
    if (crashes++ == 0) {
      crashed_at_ = clock_.monotonic();
      crash_text = why.text;
    }
  }
  if (!killed_at_ || slot != victim_slot || lost_ms) return;
  lost_ms = since(*killed_at_);
  for (const auto& slice : victim_slices_) {
    if (slice.id == why.slice_id) interrupted = slice;
  }
}

void DemoSpectator::sample_memory() {
  if (const auto host = supervisor::sample_process(::getpid())) {
    host_rss_max = std::max(host_rss_max, host->rss_bytes);
  }
  for (const auto& [slot, pid] : pids_) {
    if (const auto worker = supervisor::sample_process(pid)) {
      worker_rss_max = std::max(worker_rss_max, worker->rss_bytes);
    }
  }
}

// Of a worker that is at work, while there is another one to go on: to kill an idle one, or one
// that is still loading, would prove nothing. Rather not the one whose report this is; but where
// another has started late, its part may be all that is left. If nobody will do now, the next
// report is another chance.
void DemoSpectator::kill_a_busy_one(std::uint32_t reporter) {
  const auto jobs = host_->status();  // of its own: a loop does not keep what its range is made of
  const auto& job = jobs.front();
  const bool all_are_up =
      std::all_of(job.workers.begin(), job.workers.end(), [](const auto& worker) {
        return worker.state == supervisor::WorkerState::Ready ||
               worker.state == supervisor::WorkerState::Running;
      });
  if (!all_are_up) return;
  auto victim = pids_.end();
  for (auto slot = pids_.begin(); slot != pids_.end(); ++slot) {
    const bool is_better = victim == pids_.end() || victim->first == reporter;
    if (is_better && !slices_of(slot->first).empty()) victim = slot;
  }
  if (victim == pids_.end()) return;
  victim_slices_ = slices_of(victim->first);
  for (const auto& partition : job.slices.partitions) {
    if (partition.slot == victim->first) victim_partitions.insert(partition.tp.partition);
  }
  victim_slot = victim->first;
  victim_pid = victim->second;
  done_at_kill = done_;
  slices_at_kill = victim_slices_.size();
  killed_at_ = clock_.monotonic();
  ::kill(victim_pid, SIGKILL);
}

std::vector<state::SliceRow> DemoSpectator::slices_of(std::uint32_t slot) const {
  auto slices = host_->open_slices(job_);
  std::erase_if(slices, [slot](const state::SliceRow& slice) {
    return slice.state != state::SliceState::Dispatched || slice.worker.slot != slot;
  });
  return slices;
}

}  // namespace sluice::cli
