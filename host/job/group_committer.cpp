#include "host/job/group_committer.hpp"

#include <utility>
#include <vector>

#include "host/job/discovery.hpp"

namespace sluice::job {
namespace {

constexpr int kCommitTimeoutMs = 10'000;
constexpr Milliseconds kRetryDelay{1000};
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
  if (!conflict_.empty()) return;
  known_.set(where, offset);
  waiting_.set(where, offset);
}

void GroupCommitter::know(const kafka::TopicPartition& where, std::int64_t offset) {
  if (conflict_.empty()) known_.add(where, offset);
}

void GroupCommitter::flush() {
  if (waiting_.empty() || !under_way_.empty() || clock_.monotonic() < retry_at_) return;
  under_way_ = std::exchange(waiting_, {});
  std::vector<kafka::GroupOffset> offsets;
  offsets.reserve(under_way_.size());
  under_way_.for_each([&](const kafka::TopicPartition& where, std::int64_t offset) {
    offsets.push_back({where, offset, metadata_});
  });
  client_.commit(group_, offsets, kCommitTimeoutMs,
                 [this, token = lifetime_.token()](const kafka::CommitResult& result) {
                   if (const auto alive = token.lock()) committed(result);
                 });
}

void GroupCommitter::committed(const kafka::CommitResult& result) {
  if (result.outcome == kafka::CommitOutcome::Committed) {
    under_way_.clear();
  } else if (result.outcome == kafka::CommitOutcome::ActiveMembers) {
    give_up();
  } else {
    add_to_waiting(std::exchange(under_way_, {}));
    retry_at_ = clock_.monotonic() + kRetryDelay;
    log_.limited(log::Level::Warning, "group.commit",
                 "commit to group " + group_ + " failed: " + result.why +
                     "; the frontier is durable here and will be committed again");
  }
  if (idle() && when_idle_) return std::exchange(when_idle_, {})();
  flush();
}

void GroupCommitter::give_up() {
  conflict_ = active_members(group_);
  log_.warning(conflict_ + "; the job halts until it is started again");
  known_.clear();
  waiting_.clear();
  under_way_.clear();
  if (when_conflict_) std::exchange(when_conflict_, {})();
}

/// A newer offset that came meanwhile stays.
void GroupCommitter::add_to_waiting(const PartitionOffsets& offsets) {
  offsets.for_each([this](const kafka::TopicPartition& where, std::int64_t offset) {
    waiting_.add(where, offset);
  });
}

void GroupCommitter::when_idle(std::function<void()> idle_now) {
  if (idle()) return idle_now();
  when_idle_ = std::move(idle_now);
  flush();
}

void GroupCommitter::tick() {
  if (clock_.monotonic() >= repeat_at_) {
    repeat_at_ = clock_.monotonic() + kRepeatEvery;
    add_to_waiting(known_);
  }
  flush();
}

}  // namespace sluice::job
