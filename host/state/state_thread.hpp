// The host's state thread: the only one that touches the store's connection. It takes what changed
// from any thread, commits everything that waits (of all jobs) in one transaction, and answers each
// ChangeSet when it is durable. Under load commits are a period apart, so that merged rows pay off;
// after idle periods a few come at once (slicer.md R3): a job's start needs several, one after the
// other, before its first slice.
//
// When the store cannot be written (disk full, locked), nothing is dropped: the same batch is tried
// again until it works, frontiers stay uncommitted meanwhile, and on_trouble tells why, once per
// cause. A damaged store is final: every ChangeSet is answered with the error.
//
// Callbacks run on this thread; post them to your own loop. They must not call stop().
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/base/clock.hpp"
#include "host/state/state_store.hpp"

namespace sluice::state {

struct StateThreadOptions {
  Milliseconds commit_period{100};  ///< between the beginnings of two commits, in the long run
  int commit_burst = 4;             ///< so many come at once after as many idle periods
  Milliseconds retry_period{1'000};
  Milliseconds fold_period{10'000};
  std::function<void(const Error&)> on_trouble = [](const Error&) {};
  std::function<void()> on_recovered = [] {};
};

class StateThread {
 public:
  using Done = std::function<void(const Result<>&)>;
  using Task = std::function<void(StateStore&)>;

  /// `clock` gives the wall time of retention; it must outlive the thread.
  StateThread(std::unique_ptr<StateStore> store, const Clock& clock, StateThreadOptions options);
  /// stop().
  ~StateThread();
  StateThread(const StateThread&) = delete;
  StateThread& operator=(const StateThread&) = delete;

  /// Any thread. `done` hears Ok when it is durable, Canceled if the thread stopped before that.
  void apply(std::string job, ChangeSet changes, Done done);
  void apply(JobChanges changes, Done done);
  /// Any thread. Runs with the store after everything that was given before.
  void run(Task task);
  /// Any thread. From now on completed slice records of `job` are folded as they age.
  void set_retention(std::string job, RetentionLimits limits);

  /// Commits what waits, once more without patience if the store is in trouble, and joins.
  void stop();

 private:
  struct Item {
    JobChanges changes;
    Done done;
    Task task;  ///< set: the item is a task, not changes
  };
  struct Retention {
    RetentionLimits limits;
    bool changed = true;
  };
  using SteadyTime = std::chrono::steady_clock::time_point;

  void push(Item item);
  void loop();
  bool stopping();
  void wait_until(SteadyTime time);
  std::deque<Item> take();
  void serve(std::deque<Item> items);
  void commit(std::vector<Item> items);
  Result<> apply_until_done(const std::vector<JobChanges>& batch);
  void trouble(const Error& error);
  void fold_if_due();

  const Clock& clock_;
  const StateThreadOptions options_;
  std::unique_ptr<StateStore> store_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> queue_;                       // guarded by mutex_
  std::map<std::string, Retention> retentions_;  // guarded by mutex_
  bool stopping_ = false;                        // guarded by mutex_

  // Of the state thread alone:
  SteadyTime next_commit_;
  SteadyTime next_fold_;
  std::string trouble_;  ///< the message of the trouble that was told last
  std::optional<Error> damage_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace sluice::state
