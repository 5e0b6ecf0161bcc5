#include "host/state/state_thread.hpp"

#include <pthread.h>

#include <algorithm>

#include "host/base/blocked_signals.hpp"

namespace sluice::state {

StateThread::StateThread(std::unique_ptr<StateStore> store, const Clock& clock,
                         StateThreadOptions options)
    : clock_{clock},
      options_{std::move(options)},
      store_{std::move(store)},
      next_commit_{std::chrono::steady_clock::now() -
                   options_.commit_burst * options_.commit_period} {
  const BlockedSignals blocked;
  thread_ = std::thread{[this] {
    ::pthread_setname_np(::pthread_self(), "sluice-state");
    loop();
  }};
}

StateThread::~StateThread() {
  stop();
}

void StateThread::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StateThread::apply(std::string job, ChangeSet changes, Done done) {
  apply(JobChanges{std::move(job), std::move(changes)}, std::move(done));
}

void StateThread::apply(JobChanges changes, Done done) {
  push(Item{std::move(changes), std::move(done), {}});
}

void StateThread::run(Task task) {
  push(Item{{}, {}, std::move(task)});
}

void StateThread::set_retention(std::string job, RetentionLimits limits) {
  const std::lock_guard lock{mutex_};
  retentions_[std::move(job)] = Retention{limits};
}

void StateThread::push(Item item) {
  {
    const std::lock_guard lock{mutex_};
    queue_.push_back(std::move(item));
  }
  wake_.notify_all();
}

bool StateThread::stopping() {
  const std::lock_guard lock{mutex_};
  return stopping_;
}

void StateThread::wait_until(SteadyTime time) {
  std::unique_lock lock{mutex_};
  wake_.wait_until(lock, time, [this] { return stopping_; });
}

/// What waits, once the next commit is due; empty: stopped, with nothing left.
std::deque<StateThread::Item> StateThread::take() {
  {
    std::unique_lock lock{mutex_};
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  }
  wait_until(next_commit_);
  const std::lock_guard lock{mutex_};
  return std::exchange(queue_, {});
}

void StateThread::loop() {
  for (;;) {
    std::deque<Item> items = take();
    if (items.empty() && stopping()) return;
    const auto longest_saved = (options_.commit_burst - 1) * options_.commit_period;
    next_commit_ = std::max(next_commit_, std::chrono::steady_clock::now() - longest_saved) +
                   options_.commit_period;
    serve(std::move(items));
    fold_if_due();
  }
}

/// In order; neighbouring changes go into one transaction.
void StateThread::serve(std::deque<Item> items) {
  std::vector<Item> together;
  for (Item& item : items) {
    if (!item.task) {
      together.push_back(std::move(item));
      continue;
    }
    commit(std::exchange(together, {}));
    item.task(*store_);
  }
  commit(std::move(together));
}

void StateThread::commit(std::vector<Item> items) {
  if (items.empty()) return;
  std::vector<JobChanges> batch;
  batch.reserve(items.size());
  for (Item& item : items) batch.push_back(std::move(item.changes));
  const Result<> result = apply_until_done(batch);
  if (result) {
    const std::lock_guard lock{mutex_};
    for (const JobChanges& changes : batch) {
      const auto found = retentions_.find(changes.job);
      if (found != retentions_.end()) found->second.changed = true;
    }
  }
  for (Item& item : items) {
    if (item.done) item.done(result);
  }
}

Result<> StateThread::apply_until_done(const std::vector<JobChanges>& batch) {
  for (;;) {
    if (damage_) return *damage_;
    const Result<> result = store_->apply(batch);
    if (result) {
      if (!std::exchange(trouble_, {}).empty()) options_.on_recovered();
      return result;
    }
    trouble(result.error());
    // ErrorCode::Io is the world's: it may get better. Anything else will not (state_store.hpp).
    if (result.error().code() != ErrorCode::Io) {
      damage_ = result.error();
    } else if (stopping()) {
      return Error{ErrorCode::Canceled,
                   "stopped before it could be stored: " + result.error().message()};
    } else {
      wait_until(std::chrono::steady_clock::now() + options_.retry_period);
    }
  }
}

void StateThread::trouble(const Error& error) {
  if (error.message() == trouble_) return;
  trouble_ = error.message();
  options_.on_trouble(error);
}

/// Errors are told like any trouble; the rows stay, and the next period tries again.
void StateThread::fold_if_due() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_fold_ || damage_) return;
  next_fold_ = now + options_.fold_period;
  std::vector<std::pair<std::string, RetentionLimits>> due;
  {
    const std::lock_guard lock{mutex_};
    for (auto& [job, retention] : retentions_) {
      if (std::exchange(retention.changed, false)) due.emplace_back(job, retention.limits);
    }
  }
  for (const auto& [job, limits] : due) {
    const auto folded = store_->fold(job, limits, clock_.unix_ms());
    if (!folded) trouble(folded.error());
  }
}

}  // namespace sluice::state
