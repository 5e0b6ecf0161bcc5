#include "ipc/host_channel.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace sluice::ipc {

Result<HostChannel> HostChannel::create(std::uint32_t worker_no, std::uint64_t incarnation) {
  const SegmentIdentity identity{worker_no, incarnation};
  auto host = create_host_segment(identity);
  if (!host) return host.error();
  auto worker = create_worker_segment(identity);
  if (!worker) return worker.error();
  auto to_worker = Doorbell::create();
  if (!to_worker) return to_worker.error();
  auto to_host = Doorbell::create();
  if (!to_host) return to_host.error();
  return HostChannel{std::move(*host), std::move(*worker), std::move(*to_worker),
                     std::move(*to_host)};
}

// The rings refer to the mapped pages, which stay where they are when the channel is moved.
HostChannel::HostChannel(CreatedSegment<HostSegment> host,
                         CreatedSegment<const WorkerSegment> worker, Doorbell to_worker,
                         Doorbell to_host)
    : host_segment_{std::move(host.mapped)},
      worker_segment_{std::move(worker.mapped)},
      host_segment_fd_{std::move(host.fd)},
      worker_segment_fd_{std::move(worker.fd)},
      doorbell_to_worker_{std::move(to_worker)},
      doorbell_to_host_{std::move(to_host)},
      commands_{host_segment_->commands, host_segment_->command_tail,
                worker_segment_->command_head},
      receiver_{*worker_segment_, host_segment_->report_head},
      waker_{worker_segment_->worker_sleep},
      sleeper_{host_segment_->host_sleep} {}

WorkerFds HostChannel::worker_fds() const {
  return {host_segment_fd_.get(), worker_segment_fd_.get(), doorbell_to_worker_.fd(),
          doorbell_to_host_.fd()};
}

void HostChannel::close_worker_fds() {
  host_segment_fd_.reset();
  worker_segment_fd_.reset();
}

Result<> HostChannel::publish(std::span<const Command> commands) {
  if (commands.empty()) return {};
  std::uint64_t free = 0;
  if (const Rule rule = commands_.free_slots(commands.size(), free); rule != Rule::None) {
    return Error{Violation{rule, commands_.next(), commands_.head(), {}}};
  }
  if (free < commands.size()) {
    return Error{ErrorCode::Full, "publish to worker: " + std::to_string(commands.size()) +
                                      " commands: only " + std::to_string(free) +
                                      " slots are free; the worker has stopped reading"};
  }
  for (const Command& command : commands) commands_.put(command);
  commands_.publish();
  waker_.wake(commands_.tail_word(), doorbell_to_worker_);
  return {};
}

Result<bool> HostChannel::is_taken(std::uint64_t seq) {
  std::uint64_t free = 0;
  // Asks for more than there is, so that the worker's head is looked at anew.
  if (const Rule rule = commands_.free_slots(kRingSlots, free); rule != Rule::None) {
    return Error{Violation{rule, commands_.next(), commands_.head(), {}}};
  }
  return seq < commands_.head();
}

Result<> HostChannel::publish_dead_letter(Command command, const Verdict& verdict) {
  const std::size_t entry = verdicts_published_ % kVerdictsMax;
  const auto taken = is_taken(verdict_commands_[entry]);
  if (!taken) return taken.error();
  if (verdicts_published_ >= kVerdictsMax && !*taken) {
    return Error{ErrorCode::Full, "publish to worker: " + std::to_string(kVerdictsMax) +
                                      " dead letters wait; the worker has stopped reading"};
  }
  host_segment_->verdicts[entry].store(encode_verdict(verdict));
  command.flags |= kDeadLetterOnly;
  command.filter = static_cast<std::uint16_t>(entry);
  verdict_commands_[entry] = commands_.next();
  auto published = publish({&command, 1});
  if (published) ++verdicts_published_;
  return published;
}

Result<> HostChannel::publish_with_terms(const Command& command, const SliceTerms& terms) {
  const std::uint64_t seq = commands_.next();
  std::uint64_t& command_of = terms_commands_[seq % kSliceTermsMax];
  if (command_of != 0) {
    const auto taken = is_taken(command_of - 1);
    if (!taken) return taken.error();
    if (!*taken) {
      return Error{ErrorCode::Full, "publish to worker: the terms of command " +
                                        std::to_string(command_of - 1) +
                                        " are not taken; the worker has stopped reading"};
    }
  }
  host_segment_->slice_terms[seq % kSliceTermsMax].store(encode_slice_terms(terms));
  auto published = publish({&command, 1});
  if (published) command_of = seq + 1;
  return published;
}

Result<> HostChannel::publish_topic(std::uint16_t index, std::string_view name,
                                    std::uint32_t incarnation) {
  if (index >= kTopicsMax || name.empty() || name.size() > kTopicNameSizeMax) {
    return Error{ErrorCode::Refused, "publish topic: " + std::string{name} + ": index " +
                                         std::to_string(index) + " or name does not fit"};
  }
  if (topics_published_.test(index)) {
    return Error{ErrorCode::Refused, "publish topic: " + std::string{name} + ": index " +
                                         std::to_string(index) + " is taken"};
  }
  TopicSlot& slot = host_segment_->topics[index];
  slot.incarnation = incarnation;
  slot.name_length = static_cast<std::uint16_t>(name.size());
  std::memcpy(slot.name.data(), name.data(), name.size());
  Command command;
  command.kind = static_cast<std::uint16_t>(CommandKind::Topic);
  command.topic = index;
  auto published = publish({&command, 1});
  if (published) topics_published_.set(index);
  return published;
}

Result<std::size_t> HostChannel::drain(std::span<ReceivedReport> out) {
  return receiver_.drain(out);
}

void HostChannel::woken() noexcept {
  doorbell_to_host_.silence();
  sleeper_.woken();
}

void HostChannel::beat() noexcept {
  host_segment_->host_beat_ns.store(coarse_now_ns(), std::memory_order_relaxed);
}

Pulse HostChannel::pulse() noexcept {
  const PulseBlock& block = worker_segment_->pulse;
  const auto read = [](const auto& word) { return word.load(std::memory_order_relaxed); };
  Pulse pulse;
  pulse.loops = std::max(last_pulse_.loops, read(block.loops));
  pulse.slice_id = read(block.slice_id);
  pulse.offset = read(block.offset);
  pulse.position = read(block.position);
  pulse.plugin_place = read(block.plugin_place);
  const std::uint32_t phase = read(block.phase);
  pulse.phase = phase <= kPhaseLast ? static_cast<Phase>(phase) : last_pulse_.phase;
  pulse.phase_since_ns = read(block.phase_since_ns);
  pulse.deadline_extended_ns = read(block.deadline_extended_ns);
  const std::uint64_t now_ns = coarse_now_ns();  // after the loads: the worker's clock is this one
  if (pulse.phase_since_ns > now_ns) pulse.phase_since_ns = 0;
  if (pulse.deadline_extended_ns > now_ns) pulse.deadline_extended_ns = 0;
  last_pulse_ = pulse;
  return pulse;
}

Counters HostChannel::counters() noexcept {
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    const std::uint64_t value = worker_segment_->counters[i].load(std::memory_order_relaxed);
    last_counters_.values[i] = std::max(last_counters_.values[i], value);
  }
  return last_counters_;
}

}  // namespace sluice::ipc
