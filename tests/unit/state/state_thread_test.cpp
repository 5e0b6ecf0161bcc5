#include "host/state/state_thread.hpp"

#include <algorithm>
#include <future>

#include "store_fixture.hpp"

namespace sluice::state {
namespace {

/// What a ScriptedStore saw and what it is to answer; shared with the test's thread.
class Script {
 public:
  /// Answers of the next apply() calls; afterwards they succeed.
  void fail_next(std::vector<Error> errors) {
    const std::lock_guard lock{mutex_};
    errors_.assign(errors.begin(), errors.end());
  }
  Result<> answer(std::span<const JobChanges> batch) {
    const std::lock_guard lock{mutex_};
    std::vector<std::uint64_t> tokens;
    for (const JobChanges& changes : batch) tokens.push_back(changes.changes.token);
    batches_.push_back(std::move(tokens));
    if (errors_.empty()) return {};
    const Error error = errors_.front();
    errors_.erase(errors_.begin());
    return error;
  }
  std::vector<std::vector<std::uint64_t>> batches() const {
    const std::lock_guard lock{mutex_};
    return batches_;
  }
  void note_fold(std::string_view job) {
    const std::lock_guard lock{mutex_};
    folds_.emplace_back(job);
  }
  std::vector<std::string> folds() const {
    const std::lock_guard lock{mutex_};
    return folds_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Error> errors_;
  std::vector<std::vector<std::uint64_t>> batches_;
  std::vector<std::string> folds_;
};

class ScriptedStore final : public StateStore {
 public:
  explicit ScriptedStore(Script& script) : script_{script} {}

  const StoreIdentity& identity() const override { return identity_; }
  Result<JobState> load_job(std::string_view) override { return JobState{}; }
  Result<std::vector<SliceRow>> recoverable(std::string_view) override {
    return std::vector<SliceRow>{};
  }
  Result<JobSettings> settings(std::string_view) override { return JobSettings{}; }
  Result<> set_settings(std::string_view, const JobSettings&) override { return {}; }
  Result<ExecutionRow> begin_execution(std::string_view, ExecutionMode, std::int64_t) override {
    return ExecutionRow{};
  }
  Result<> set_execution_state(std::string_view, std::uint64_t, ExecutionState, std::string_view,
                               std::int64_t) override {
    return {};
  }
  Result<> apply(std::span<const JobChanges> batch) override { return script_.answer(batch); }
  Result<std::uint64_t> fold(std::string_view job, const RetentionLimits&, std::int64_t) override {
    script_.note_fold(job);
    return std::uint64_t{0};
  }

 private:
  Script& script_;
  StoreIdentity identity_;
};

ChangeSet with_token(std::uint64_t token) {
  ChangeSet changes;
  changes.token = token;
  return changes;
}

StateThreadOptions fast() {
  StateThreadOptions options;
  options.commit_period = Milliseconds{0};
  options.retry_period = Milliseconds{1};
  options.fold_period = Milliseconds{0};
  return options;
}

/// `burst` commits at once, the next an hour later.
StateThreadOptions an_hour_apart(int burst) {
  StateThreadOptions options = fast();
  options.commit_period = std::chrono::hours{1};
  options.commit_burst = burst;
  return options;
}

/// Collects answers; wait(n) blocks until n of them came.
class Answers {
 public:
  StateThread::Done expect(std::uint64_t token) {
    return [this, token](const Result<>& result) {
      const std::lock_guard lock{mutex_};
      tokens_.push_back(token);
      codes_.push_back(result ? "ok" : std::string{code_name(result.error().code())});
      arrived_.notify_all();
    };
  }
  void wait(std::size_t count) {
    std::unique_lock lock{mutex_};
    arrived_.wait(lock, [&] { return tokens_.size() >= count; });
  }
  std::vector<std::uint64_t> tokens() const {
    const std::lock_guard lock{mutex_};
    return tokens_;
  }
  std::vector<std::string> codes() const {
    const std::lock_guard lock{mutex_};
    return codes_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::uint64_t> tokens_;
  std::vector<std::string> codes_;
};

const SystemClock kClock;
using Tokens = std::vector<std::uint64_t>;
using Codes = std::vector<std::string>;

}  // namespace

TEST_CASE("change sets are answered in the order in which they were given", "[state]") {
  Script script;
  Answers answers;
  StateThread thread{std::make_unique<ScriptedStore>(script), kClock, fast()};
  for (std::uint64_t token = 1; token <= 100; ++token) {
    thread.apply("a", with_token(token), answers.expect(token));
  }
  answers.wait(100);
  const Tokens tokens = answers.tokens();
  CHECK(std::is_sorted(tokens.begin(), tokens.end()));
  CHECK(answers.codes() == Codes(100, "ok"));
}

TEST_CASE("what waits while a commit runs goes into one transaction, of all jobs", "[state]") {
  Script script;
  Answers answers;
  StateThread thread{std::make_unique<ScriptedStore>(script), kClock, fast()};
  std::promise<void> open;
  std::promise<void> entered;
  thread.run([&](StateStore&) {
    entered.set_value();
    open.get_future().wait();
  });
  entered.get_future().wait();
  thread.apply("a", with_token(1), answers.expect(1));
  thread.apply("b", with_token(2), answers.expect(2));
  thread.apply("a", with_token(3), answers.expect(3));
  open.set_value();
  answers.wait(3);
  CHECK(script.batches() == std::vector<Tokens>{{1, 2, 3}});
}

TEST_CASE("a task runs after all changes given before it and before those given later", "[state]") {
  Script script;
  Answers answers;
  std::vector<Tokens> seen;
  {
    StateThread thread{std::make_unique<ScriptedStore>(script), kClock, fast()};
    thread.apply("a", with_token(1), answers.expect(1));
    thread.run([&](StateStore&) { seen = script.batches(); });
    thread.apply("a", with_token(2), answers.expect(2));
  }
  CHECK(seen == std::vector<Tokens>{{1}});
  CHECK(script.batches() == std::vector<Tokens>{{1}, {2}});
}

TEST_CASE("a store in trouble gets the same batch again, and the cause is told once", "[state]") {
  Script script;
  Answers answers;
  std::vector<std::string> told;
  int recovered = 0;
  const Error full{ErrorCode::Io, "the disk is full"};
  script.fail_next({full, full, Error{ErrorCode::Io, "locked"}, full});
  {
    StateThreadOptions options = fast();
    options.on_trouble = [&](const Error& error) { told.push_back(error.message()); };
    options.on_recovered = [&] { ++recovered; };
    StateThread thread{std::make_unique<ScriptedStore>(script), kClock, std::move(options)};
    thread.apply("a", with_token(1), answers.expect(1));
    answers.wait(1);
  }
  CHECK(answers.codes() == Codes{"ok"});
  CHECK(script.batches() == std::vector<Tokens>{{1}, {1}, {1}, {1}, {1}});
  CHECK(told == std::vector<std::string>{"the disk is full", "locked", "the disk is full"});
  CHECK(recovered == 1);
}

TEST_CASE("a damaged store is final: this change set and every later one gets the error",
          "[state]") {
  Script script;
  Answers answers;
  script.fail_next({Error{ErrorCode::Store, "is damaged"}});
  StateThread thread{std::make_unique<ScriptedStore>(script), kClock, fast()};
  thread.apply("a", with_token(1), answers.expect(1));
  answers.wait(1);
  thread.apply("a", with_token(2), answers.expect(2));
  answers.wait(2);
  CHECK(answers.codes() == Codes{"store", "store"});
  CHECK(script.batches() == std::vector<Tokens>{{1}});
}

TEST_CASE("after idle periods a few commits come at once, then one a period (R3)", "[state]") {
  Script script;
  Answers answers;
  StateThread thread{std::make_unique<ScriptedStore>(script), kClock, an_hour_apart(3)};
  for (std::uint64_t token = 1; token <= 3; ++token) {
    thread.apply("a", with_token(token), answers.expect(token));
    answers.wait(token);
  }
  thread.apply("a", with_token(4), answers.expect(4));
  thread.apply("b", with_token(5), answers.expect(5));
  thread.stop();
  CHECK(script.batches() == std::vector<Tokens>{{1}, {2}, {3}, {4, 5}});
}

TEST_CASE("stop commits what waits", "[state]") {
  Script script;
  Answers answers;
  StateThread thread{std::make_unique<ScriptedStore>(script), kClock, an_hour_apart(1)};
  thread.apply("a", with_token(1), answers.expect(1));
  answers.wait(1);
  thread.apply("a", with_token(2), answers.expect(2));
  thread.stop();
  CHECK(answers.codes() == Codes{"ok", "ok"});
}

TEST_CASE("stop with a store in trouble ends at once: what waits is answered Canceled", "[state]") {
  Script script;
  Answers answers;
  script.fail_next(std::vector<Error>(1'000, Error{ErrorCode::Io, "the disk is full"}));
  StateThreadOptions options = fast();
  options.retry_period = std::chrono::hours{1};
  std::promise<void> in_trouble;
  options.on_trouble = [&](const Error&) { in_trouble.set_value(); };
  StateThread thread{std::make_unique<ScriptedStore>(script), kClock, std::move(options)};
  thread.apply("a", with_token(1), answers.expect(1));
  in_trouble.get_future().wait();
  thread.apply("a", with_token(2), answers.expect(2));
  thread.stop();
  CHECK(answers.codes() == Codes{"canceled", "canceled"});
}

TEST_CASE("only jobs with retention are folded, and only after they changed", "[state]") {
  Script script;
  Answers answers;
  {
    StateThread thread{std::make_unique<ScriptedStore>(script), kClock, fast()};
    thread.set_retention("a", RetentionLimits{});
    thread.apply("b", with_token(1), answers.expect(1));  // folds a: its limits are new
    answers.wait(1);
    thread.apply("b", with_token(2), answers.expect(2));
    answers.wait(2);
    thread.apply("a", with_token(3), answers.expect(3));
    answers.wait(3);
  }
  CHECK(script.folds() == std::vector<std::string>{"a", "a"});
}

TEST_CASE("the thread and SQLite together: what was answered is there after a restart", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  Answers answers;
  {
    StateThread thread{store.take(), kClock, fast()};
    for (std::int32_t partition = 0; partition < 50; ++partition) {
      ChangeSet changes = with_token(static_cast<std::uint64_t>(partition));
      changes.partitions = {some_partition("orders", partition)};
      thread.apply("orders", changes, answers.expect(changes.token));
    }
    answers.wait(50);
  }
  store.reopen();
  CHECK(answers.codes() == Codes(50, "ok"));
  CHECK(store->load_job("orders").value().partitions.size() == 50);
}

}  // namespace sluice::state
