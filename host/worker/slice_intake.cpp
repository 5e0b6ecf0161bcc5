#include "host/worker/slice_intake.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "host/base/assert.hpp"

namespace sluice::worker {

using ipc::Command;
using ipc::CommandKind;

namespace {

constexpr std::size_t kCommandsPerRead = 64;

std::uint64_t key_of(std::uint16_t topic, std::int32_t partition) {
  return std::uint64_t{topic} << 32 | static_cast<std::uint32_t>(partition);
}

/// Kinds of runs that a host of this release does not ask for yet (delivery.md D3).
constexpr std::uint32_t kFlagsNotBuilt = ipc::kStateOnly;
constexpr std::uint32_t kFlagsWithTerms = ipc::kProbe | ipc::kExclude;

/// The run is a part of the slice that it is of, and what it leaves out is in order.
bool makes_sense(const ipc::SliceTerms& terms, const Command& command) {
  if (terms.start > command.start || terms.end < command.end) return false;
  const auto& excluded = terms.excluded;
  if (!std::is_sorted(excluded.begin(), excluded.end(), std::less_equal<>{})) return false;
  return excluded.empty() || (excluded.front() >= terms.start && excluded.back() < terms.end);
}

}  // namespace

SliceIntake::SliceIntake(const StartParameters& parameters, ipc::WorkerChannel& channel,
                         Outbox& outbox)
    : topics_{parameters.topics.begin(), parameters.topics.end()},
      has_dead_letters_{parameters.dead_letters.has_value()},
      channel_{channel},
      outbox_{outbox} {}

void SliceIntake::take() {
  std::array<Command, kCommandsPerRead> commands;
  for (;;) {
    const auto read = channel_.read(commands);
    if (!read) {
      nonsense_ = "the command ring is damaged";
      return;
    }
    for (std::size_t i = 0; i < *read; ++i) take(commands[i]);
    if (*read < commands.size()) return;
  }
}

void SliceIntake::take(const Command& command) {
  switch (static_cast<CommandKind>(command.kind)) {
    case CommandKind::Slice:
      return take_slice(command);
    case CommandKind::Topic:
      return take_topic(command);
    case CommandKind::Revoke:
      return take_revoke(command);
    case CommandKind::Stop:
      is_stop_requested_ = true;
      return;
    case CommandKind::Filter:   // lanes and keyed state are not built yet: a host that sends these
    case CommandKind::Control:  // kinds does not ask this release for anything that needs them
      return;
  }
}

void SliceIntake::take_topic(const Command& command) {
  const std::uint16_t index = command.topic;
  if (knows_topic(index)) {  // from the start parameters, or recreated since (slicer.md F5)
    if (command.epoch > topics_[index].incarnation) topics_[index].incarnation = command.epoch;
    return;
  }
  const ipc::TopicEntry entry = channel_.topic(index);
  while (topics_.size() <= index) topics_.emplace_back();
  topics_[index] = {std::string{entry.name}, entry.incarnation};
}

void SliceIntake::take_slice(const Command& command) {
  if (!knows_topic(command.topic)) {
    nonsense_ =
        "a slice of topic number " + std::to_string(command.topic) + ", which was not announced";
    return;
  }
  if (command.start < 0 || command.end < command.start || command.partition < 0) {
    nonsense_ = "a slice with an impossible range";
    return;
  }
  if ((command.flags & kFlagsNotBuilt) != 0) {
    nonsense_ = "a slice with flags that this release does not carry out";
    return;
  }
  const bool is_dead_letter = (command.flags & ipc::kDeadLetterOnly) != 0;
  if (is_dead_letter && !has_dead_letters_) {
    nonsense_ = "a dead letter to be written for a job without a dead letter topic";
    return;
  }
  auto terms = take_terms(command);
  if (!nonsense_.empty()) return;
  const bool is_question = (command.flags & ipc::kCompare) != 0;
  if (!is_question) channel_.counters().add(ipc::Counter::Slices);
  Assignment& assignment = assignment_of(command);
  wake(assignment);
  SliceWork* slice = make(command);
  if (is_dead_letter) {
    slice->verdict = std::make_unique<ipc::Verdict>(channel_.verdict(command.filter));
  }
  slice->terms = std::move(terms);
  if (is_closed(assignment, command)) {
    outbox_.released(*slice);
    free(slice);
    return;
  }
  assignment.feed.slices().push_back(slice);
}

std::unique_ptr<ipc::SliceTerms> SliceIntake::take_terms(const Command& command) {
  if ((command.flags & kFlagsWithTerms) == 0) return nullptr;
  auto terms = std::make_unique<ipc::SliceTerms>(channel_.slice_terms(command.seq));
  if (makes_sense(*terms, command)) return terms;
  nonsense_ = "a slice whose terms do not fit its range";
  return nullptr;
}

void SliceIntake::take_revoke(const Command& command) {
  Assignment* assignment = find(command.topic, command.partition);
  if (assignment == nullptr) return;
  wake(*assignment);
  if (!assignment->to_revoke) ++revokes_pending_;
  assignment->to_revoke = std::max(assignment->to_revoke.value_or(0), command.fence);
}

void SliceIntake::revoke_is_done(Assignment& assignment) {
  SLUICE_ASSERT(assignment.to_revoke.has_value() && revokes_pending_ > 0);
  assignment.to_revoke.reset();
  --revokes_pending_;
}

bool SliceIntake::is_closed(const Assignment& assignment, const Command& command) {
  if (assignment.revoked_fence && command.fence <= *assignment.revoked_fence) return true;
  for (const auto& closed : assignment.closed_lanes) {
    if (closed.lane == command.lane) return command.fence <= closed.fence;
  }
  return false;
}

void SliceIntake::close_lane(Assignment& assignment, const Command& command) {
  auto& lanes = assignment.closed_lanes;
  auto at = std::find_if(lanes.begin(), lanes.end(),
                         [&](const auto& closed) { return closed.lane == command.lane; });
  if (at == lanes.end()) at = lanes.insert(at, {command.lane, 0});
  at->fence = std::max(at->fence, command.fence);
}

void SliceIntake::close_up_to(Assignment& assignment, std::uint32_t fence) {
  assignment.revoked_fence = std::max(assignment.revoked_fence.value_or(0), fence);
}

void SliceIntake::release_closed(Assignment& assignment) {
  auto& queue = assignment.feed.slices();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    SliceWork* slice = queue[i];
    if (!is_closed(assignment, slice->command)) {
      queue[kept++] = slice;
      continue;
    }
    assignment.feed.forget(slice);
    outbox_.released(*slice);
    free(slice);
  }
  queue.resize(kept);
}

Assignment* SliceIntake::find(std::uint16_t topic, std::int32_t partition) {
  const auto found = assignments_.find(key_of(topic, partition));
  return found == assignments_.end() ? nullptr : found->second.get();
}

Assignment& SliceIntake::assignment_of(const Command& command) {
  auto& assignment = assignments_[key_of(command.topic, command.partition)];
  if (assignment == nullptr) {
    assignment =
        std::make_unique<Assignment>(command.topic, topics_[command.topic].name, command.partition);
  }
  return *assignment;
}

void SliceIntake::wake(Assignment& assignment) {
  if (std::exchange(assignment.is_awake, true)) return;
  awake_.push_back(&assignment);
}

void SliceIntake::put_to_rest(Assignment& assignment) {
  SLUICE_ASSERT(assignment.is_awake && !assignment.feed.is_open() &&
                assignment.feed.slices().empty() && !assignment.to_revoke);
  assignment.is_awake = false;
  std::erase(awake_, &assignment);
}

SliceWork* SliceIntake::make(const Command& command) {
  if (free_slices_.empty()) {
    slices_.push_back(std::make_unique<SliceWork>());
    free_slices_.push_back(slices_.back().get());
  }
  SliceWork* slice = free_slices_.back();
  free_slices_.pop_back();
  *slice = {command, command.start, {}, {}, {}, nullptr, nullptr};
  return slice;
}

void SliceIntake::free(SliceWork* slice) {
  free_slices_.push_back(slice);
}

}  // namespace sluice::worker
