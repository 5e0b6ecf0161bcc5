#include "ipc/worker_channel.hpp"

#include <time.h>

#include <algorithm>
#include <string>

#include "ipc/failure_text.hpp"

namespace sluice::ipc {
namespace {

// A full report ring means that the host is stalled; it has 1024 reports to look at first.
constexpr timespec kFullRingPause{0, 1'000'000};

std::uint64_t fine_now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void relax_processor() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Result<WorkerChannel> WorkerChannel::attach(WorkerFds fds, std::uint64_t incarnation) {
  const OwnedFd host_fd{fds.host_segment};
  const OwnedFd worker_fd{fds.worker_segment};
  Doorbell to_worker{OwnedFd{fds.doorbell_to_worker}};
  Doorbell to_host{OwnedFd{fds.doorbell_to_host}};
  auto host = attach_host_segment(host_fd.get(), incarnation);
  if (!host) return host.error();
  auto worker = attach_worker_segment(worker_fd.get(), incarnation);
  if (!worker) return worker.error();
  return WorkerChannel{std::move(*host), std::move(*worker), std::move(to_worker),
                       std::move(to_host)};
}

// The rings refer to the mapped pages, which stay where they are when the channel is moved.
WorkerChannel::WorkerChannel(Mapped<const HostSegment> host, Mapped<WorkerSegment> worker,
                             Doorbell to_worker, Doorbell to_host)
    : host_segment_{std::move(host)},
      worker_segment_{std::move(worker)},
      doorbell_to_worker_{std::move(to_worker)},
      doorbell_to_host_{std::move(to_host)},
      commands_{host_segment_->commands, host_segment_->command_tail,
                worker_segment_->command_head},
      reports_{worker_segment_->reports, worker_segment_->report_tail, host_segment_->report_head},
      waker_{host_segment_->host_sleep},
      sleeper_{worker_segment_->worker_sleep},
      pulse_{worker_segment_->pulse},
      counters_{worker_segment_->counters} {}

Result<std::size_t> WorkerChannel::read(std::span<Command> out) {
  std::uint64_t published = 0;
  if (const Rule rule = commands_.available(published); rule != Rule::None) {
    return Error{commands_.violation(rule)};
  }
  std::size_t kept = 0;
  for (; published > 0 && kept < out.size(); --published) {
    Command& command = out[kept];
    if (const Rule rule = commands_.read(command); rule != Rule::None) {
      return Error{commands_.violation(rule, command)};
    }
    if (command.kind == 0 || command.kind > kCommandKindLast) {
      if (host_segment_->header.layout_minor > kLayoutMinor) continue;
      return Error{commands_.violation(Rule::Kind, command)};
    }
    if (command.kind == static_cast<std::uint16_t>(CommandKind::Topic) &&
        command.topic < kTopicsMax) {
      topics_known_.set(command.topic);
    }
    ++kept;
  }
  commands_.release();
  return kept;
}

Result<> WorkerChannel::report(Report report, std::string_view text) {
  if (auto free = wait_for_free_slot(); !free) return free.error();
  const std::string_view kept = cut_at_character(text, kArenaEntrySize);
  report.arena_len = static_cast<std::uint16_t>(kept.size());
  if (!kept.empty()) {
    ArenaText entry{};
    std::copy(kept.begin(), kept.end(), entry.begin());
    worker_segment_->arena[reports_.next() & kSlotMask].store(entry);
  }
  reports_.put(report);
  reports_.publish();
  waker_.wake(reports_.tail_word(), doorbell_to_host_);
  return {};
}

Result<> WorkerChannel::wait_for_free_slot() {
  for (bool stalled = false;; stalled = true) {
    std::uint64_t free = 0;
    if (const Rule rule = reports_.free_slots(1, free); rule != Rule::None) {
      return Error{Violation{rule, reports_.next(), reports_.head(), {}}};
    }
    if (free > 0) return {};
    if (!stalled) counters_.add(Counter::ReportStalls);
    ::nanosleep(&kFullRingPause, nullptr);
  }
}

bool WorkerChannel::spin_for_commands() const noexcept {
  const std::uint64_t until_ns = fine_now_ns() + kSpinNs;
  do {
    for (int look = 0; look < 32; ++look) {
      if (has_commands()) return true;
      relax_processor();
    }
  } while (fine_now_ns() < until_ns);
  return false;
}

void WorkerChannel::woken() noexcept {
  doorbell_to_worker_.silence();
  sleeper_.woken();
}

TopicEntry WorkerChannel::topic(std::uint16_t index) const {
  if (index >= kTopicsMax || !topics_known_.test(index)) return {};
  const TopicSlot& slot = host_segment_->topics[index];
  return {{slot.name.data(), std::min(std::size_t{slot.name_length}, kTopicNameSizeMax)},
          slot.incarnation};
}

SliceTerms WorkerChannel::slice_terms(std::uint64_t seq) const {
  return decode_slice_terms(host_segment_->slice_terms[seq % kSliceTermsMax].load());
}

Verdict WorkerChannel::verdict(std::uint16_t entry) const {
  return decode_verdict(host_segment_->verdicts[entry % kVerdictsMax].load());
}

}  // namespace sluice::ipc
