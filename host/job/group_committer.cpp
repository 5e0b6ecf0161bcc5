#include "host/job/group_committer.hpp"

#include <utility>

namespace sluice::job {
namespace {

constexpr int kCommitTimeoutMs = 10'000;
constexpr Milliseconds kRetryDelay{1000};
constexpr Milliseconds kConflictRetryDelay{5000};
/// offsets.retention.minutes is 7 days by default; an hour leaves room for long outages (S4).
constexpr Milliseconds kRepeatEvery{3'600'000};

}  // namespace

GroupCommitter::GroupCommitter(kafka::HostClient& client, const Clock& clock, log::Logger log,
                               std::string group, std::string metadata)
    : client_{client},
      clock_{clock},
      log_{std::move(log)},
      group_{std::move(group)},
      metadata_{std::move(metadata)},
      repeat_at_{clock.monotonic() + kRepeatEvery} {}

void GroupCommitter::advance(const kafka::TopicPartition& where, std::int64_t offset) {
  known_[where] = offset;
  waiting_[where] = offset;
}

void GroupCommitter::flush() {
  if (waiting_.empty() || !under_way_.empty() || clock_.monotonic() < retry_at_) return;
  under_way_ = std::exchange(waiting_, {});
  std::vector<kafka::GroupOffset> offsets;
  offsets.reserve(under_way_.size());
  for (const auto& [where, offset] : under_way_) offsets.push_back({where, offset, metadata_});
  client_.commit(group_, offsets, kCommitTimeoutMs,
                 [this, token = lifetime_.token()](const kafka::CommitResult& result) {
                   if (const auto alive = token.lock()) committed(result);
                 });
}

void GroupCommitter::committed(const kafka::CommitResult& result) {
  if (result.outcome == kafka::CommitOutcome::Committed) {
    under_way_.clear();
    conflict_.clear();
  } else {
    take_back_unsent();
    const bool conflict = result.outcome == kafka::CommitOutcome::ActiveMembers;
    conflict_ =
        conflict ? "group " + group_ + " has active members: stop the Kafka Connect connector first"
                 : std::string{};
    retry_at_ = clock_.monotonic() + (conflict ? kConflictRetryDelay : kRetryDelay);
    log_.limited(log::Level::Warning, "group.commit",
                 conflict ? conflict_
                          : "commit to group " + group_ + " failed: " + result.why +
                                "; the frontier is durable here and will be committed again");
  }
  if (idle() && when_idle_) return std::exchange(when_idle_, {})();
  flush();
}

void GroupCommitter::take_back_unsent() {
  for (const auto& [where, offset] : std::exchange(under_way_, {})) {
    waiting_.try_emplace(where, offset);  // a newer offset that came meanwhile stays
  }
}

void GroupCommitter::when_idle(std::function<void()> idle_now) {
  if (idle()) return idle_now();
  when_idle_ = std::move(idle_now);
  flush();
}

void GroupCommitter::tick() {
  if (clock_.monotonic() >= repeat_at_) {
    repeat_at_ = clock_.monotonic() + kRepeatEvery;
    for (const auto& [where, offset] : known_) waiting_.try_emplace(where, offset);
  }
  flush();
}

}  // namespace sluice::job
