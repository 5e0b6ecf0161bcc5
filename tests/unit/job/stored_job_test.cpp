#include "host/job/stored_job.hpp"

#include <catch2/catch.hpp>

namespace sluice::job {
namespace {

using state::ExecutionMode;
using state::ExecutionState;

state::JobState stored(ExecutionMode mode, ExecutionState execution_state) {
  state::JobState job;
  state::ExecutionRow execution;
  execution.number = 3;
  execution.mode = mode;
  execution.state = execution_state;
  execution.reason = "as it was";
  job.execution = execution;
  state::PartitionRow row;
  row.topic = "orders";
  row.partition = 1;
  row.start_offset = 10;
  row.frontier = 70;
  row.once_end = 100;
  row.slices_settled = 6;
  job.partitions.push_back(row);
  job.next_slice_id = 42;
  job.gaps = 2;
  return job;
}

state::SliceRow slice(std::uint64_t execution, state::SliceState slice_state) {
  state::SliceRow row;
  row.id = execution * 10 + static_cast<std::uint64_t>(slice_state);
  row.execution = execution;
  row.topic = "orders";
  row.partition = 1;
  row.state = slice_state;
  return row;
}

const kafka::TopicPartition kWhere{"orders", 1};

}  // namespace

TEST_CASE("killed and stopped executions go on, ended ones do not (S1, S5)", "[job]") {
  const auto execution = [](ExecutionMode mode, ExecutionState how) {
    state::ExecutionRow row;
    row.mode = mode;
    row.state = how;
    return row;
  };
  for (const auto mode : {ExecutionMode::Once, ExecutionMode::Persistent}) {
    CHECK(goes_on(execution(mode, ExecutionState::Running), mode));
    CHECK(goes_on(execution(mode, ExecutionState::Stopped), mode));
    CHECK_FALSE(goes_on(execution(mode, ExecutionState::Completed), mode));
    CHECK_FALSE(goes_on(execution(mode, ExecutionState::CompletedWithGaps), mode));
  }
  CHECK(goes_on(execution(ExecutionMode::Persistent, ExecutionState::Failed),
                ExecutionMode::Persistent));
  CHECK_FALSE(goes_on(execution(ExecutionMode::Once, ExecutionState::Failed), ExecutionMode::Once));
  CHECK_FALSE(
      goes_on(execution(ExecutionMode::Persistent, ExecutionState::Running), ExecutionMode::Once));
}

TEST_CASE("an execution that goes on keeps its start and its ends", "[job]") {
  const auto rows = stored(ExecutionMode::Once, ExecutionState::Stopped);
  const auto job = make_ready(rows, *rows.execution, true);
  CHECK(job.gaps == 2);
  CHECK(job.once_end(kWhere) == 100);
  CHECK(job.partitions.at(kWhere).start_offset == 10);
  CHECK(job.next_slice_id == 42);
}

TEST_CASE("a new execution begins at the frontier and takes new ends (S1)", "[job]") {
  state::ExecutionRow next;
  next.number = 4;
  const auto job = make_ready(stored(ExecutionMode::Once, ExecutionState::Completed), next, false);
  CHECK(job.execution.number == 4);
  CHECK(job.partitions.at(kWhere).frontier == 70);
  CHECK(job.partitions.at(kWhere).start_offset == 70);
  CHECK(job.partitions.at(kWhere).slices_settled == 0);
  CHECK_FALSE(job.once_end(kWhere));
  CHECK(job.next_slice_id == 42);
  CHECK(job.gaps == 0);
}

TEST_CASE("a new execution takes over what was left unfinished, not what was settled (S5)",
          "[job]") {
  auto rows = stored(ExecutionMode::Once, ExecutionState::Failed);
  rows.slices = {slice(3, state::SliceState::Parked), slice(3, state::SliceState::Completed),
                 slice(3, state::SliceState::Retrying)};
  state::ExecutionRow next;
  next.number = 4;
  const auto job = make_ready(rows, next, false);
  REQUIRE(job.slices.at(kWhere).size() == 1);
  CHECK(job.slices.at(kWhere).front().state == state::SliceState::Retrying);
}

TEST_CASE("a host leaves alone what was stopped, and a once job that has ended", "[stored]") {
  using Target = state::JobSettings::Target;
  const auto rests = [](Target target, ExecutionMode last, ExecutionState how, ExecutionMode mode) {
    return rests_at_start({target, ""}, stored(last, how).execution, mode);
  };
  using enum ExecutionMode;
  CHECK(rests(Target::Stopped, Persistent, ExecutionState::Running, Persistent));
  CHECK_FALSE(rests(Target::Paused, Persistent, ExecutionState::Running, Persistent));
  CHECK_FALSE(rests(Target::Started, Persistent, ExecutionState::Failed, Persistent));
  CHECK_FALSE(rests(Target::Started, Persistent, ExecutionState::Stopped, Persistent));
  CHECK(rests(Target::Started, Once, ExecutionState::Completed, Once));
  CHECK(rests(Target::Started, Once, ExecutionState::CompletedWithGaps, Once));
  CHECK(rests(Target::Started, Once, ExecutionState::Failed, Once));
  CHECK_FALSE(rests(Target::Started, Once, ExecutionState::Running, Once));
  CHECK_FALSE(rests(Target::Started, Once, ExecutionState::Completed, Persistent));
  CHECK_FALSE(rests_at_start({}, std::nullopt, Once));
}

TEST_CASE("rows of an earlier incarnation of a topic are outdated, and count no partitions (F5)",
          "[job]") {
  auto job = stored(ExecutionMode::Persistent, ExecutionState::Stopped);
  auto row = job.partitions[0];
  row.partition = 0;
  row.topic_incarnation = 2;
  job.partitions.insert(job.partitions.begin(), row);
  row = job.partitions[1];
  row.partition = 4;
  job.partitions.push_back(row);
  const auto ready = make_ready(job, *job.execution, true);
  CHECK(ready.topic("orders").incarnation == 2);
  CHECK(ready.topic("orders").partitions == 1);
  CHECK(ready.is_outdated(ready.partitions.at({"orders", 1})));
  CHECK_FALSE(ready.is_outdated(ready.partitions.at({"orders", 0})));
  CHECK(ready.topic("unknown").incarnation == 1);
  CHECK(ready.topic("unknown").partitions == 0);
}

}  // namespace sluice::job
