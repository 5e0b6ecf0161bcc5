#include "host/state/state_store.hpp"

#include "store_fixture.hpp"

namespace sluice::state {

TEST_CASE("a job that was never seen has no execution and no rows", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  const JobState job = store->load_job("orders").value();
  CHECK_FALSE(job.execution);
  CHECK(job.partitions.empty());
  CHECK(job.slices.empty());
  CHECK(job.next_slice_id == 1);
}

TEST_CASE("every field of every row comes back from the next host's connection", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {some_partition("orders", 0), some_partition("orders", 1)};
  changes.partitions[1].once_end.reset();
  changes.slices_upserted = {some_slice(1, 5, 6, SliceState::Dispatched),
                             some_slice(2, 6, 9, SliceState::Retrying)};
  changes.slices_upserted[1].error.reset();
  REQUIRE(store.apply("orders", changes));

  store.reopen();
  const JobState job = store->load_job("orders").value();
  REQUIRE(job.execution);
  CHECK(*job.execution ==
        ExecutionRow{1, ExecutionMode::Once, ExecutionState::Running, kNowMs, 0, ""});
  CHECK(job.partitions == changes.partitions);
  CHECK(job.slices == changes.slices_upserted);
  CHECK(job.next_slice_id == 3);
}

TEST_CASE("a row that comes again replaces the one before", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {some_partition("orders", 0)};
  changes.slices_upserted = {some_slice(1, 5, 6, SliceState::Ready)};
  REQUIRE(store.apply("orders", changes));
  changes.partitions[0].frontier = 50;
  changes.slices_upserted[0].state = SliceState::Isolating;
  changes.slices_upserted[0].error.reset();
  REQUIRE(store.apply("orders", changes));
  const JobState job = store->load_job("orders").value();
  CHECK(job.partitions == changes.partitions);
  CHECK(job.slices == changes.slices_upserted);
}

TEST_CASE("what linear assignment began with is remembered, and the first word stays (A3)",
          "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.first_counts = {{"", 0, 3}, {"orders", 1, 10}};
  REQUIRE(store.apply("orders", changes));
  changes.first_counts = {{"", 0, 4}, {"orders", 1, 20}, {"orders", 2, 5}};
  REQUIRE(store.apply("orders", changes));
  store.reopen();
  const auto counts = store->load_job("orders").value().first_counts;
  CHECK(counts == std::vector<FirstCountRow>{{"", 0, 3}, {"orders", 1, 10}, {"orders", 2, 5}});
}

TEST_CASE("what is open or above the frontier is loaded, and the completed row that ends at it",
          "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.partitions = {some_partition("orders", 3)};
  changes.partitions[0].frontier = 40;
  changes.slices_upserted = {
      some_slice(1, 0, 10, SliceState::Completed), some_slice(2, 10, 20, SliceState::Parked),
      some_slice(3, 20, 30, SliceState::Skipped),  some_slice(4, 30, 40, SliceState::Completed),
      some_slice(5, 40, 50, SliceState::Ready),    some_slice(6, 50, 60, SliceState::DeadLettered)};
  REQUIRE(store.apply("orders", changes));
  const JobState job = store->load_job("orders").value();
  REQUIRE(job.slices.size() == 3);
  CHECK(job.slices[0].id == 4);
  CHECK(job.slices[1].id == 5);
  CHECK(job.slices[2].id == 6);
}

TEST_CASE("slice ids are never given twice, though their rows are deleted", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet changes;
  changes.slices_upserted = {some_slice(7, 0, 10, SliceState::Ready)};
  REQUIRE(store.apply("orders", changes));
  ChangeSet deletes;
  deletes.slices_deleted = {7, 9};
  REQUIRE(store.apply("orders", deletes));
  store.reopen();
  const JobState job = store->load_job("orders").value();
  CHECK(job.slices.empty());
  CHECK(job.next_slice_id == 10);
}

TEST_CASE("jobs do not see each other's rows", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("a", ExecutionMode::Persistent, kNowMs).value();
  store->begin_execution("b", ExecutionMode::Persistent, kNowMs).value();
  ChangeSet of_a;
  of_a.partitions = {some_partition("orders", 3)};
  of_a.slices_upserted = {some_slice(1, 0, 10, SliceState::Ready)};
  ChangeSet of_b = of_a;
  of_b.partitions[0].frontier = 99;
  of_b.slices_upserted[0].end = 99;
  const JobChanges batch[] = {{"a", of_a}, {"b", of_b}};
  REQUIRE(store->apply(batch));
  ChangeSet deletes;
  deletes.slices_deleted = {1};
  REQUIRE(store.apply("b", deletes));
  CHECK(store->load_job("a").value().slices == of_a.slices_upserted);
  CHECK(store->load_job("a").value().partitions == of_a.partitions);
  CHECK(store->load_job("b").value().slices.empty());
  CHECK(store->load_job("b").value().partitions == of_b.partitions);
}

TEST_CASE("executions are numbered per job, end with a reason and can go on", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  CHECK(store->begin_execution("a", ExecutionMode::Once, kNowMs).value().number == 1);
  REQUIRE(store->set_execution_state("a", 1, ExecutionState::Failed, "no broker", kNowMs + 5));
  CHECK(*store->load_job("a").value().execution == ExecutionRow{1, ExecutionMode::Once,
                                                                ExecutionState::Failed, kNowMs,
                                                                kNowMs + 5, "no broker"});
  REQUIRE(store->set_execution_state("a", 1, ExecutionState::Running, "", kNowMs + 6));
  CHECK(store->load_job("a").value().execution->ended_ms == 0);
  CHECK(store->begin_execution("a", ExecutionMode::Persistent, kNowMs).value().number == 2);
  CHECK(store->begin_execution("b", ExecutionMode::Persistent, kNowMs).value().number == 1);
  CHECK(store->load_job("a").value().execution->number == 2);
}

TEST_CASE("the store has one id for life, and counts the hosts that open it", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  const StoreIdentity first = store->identity();
  CHECK(first.store_id.size() == 36);
  CHECK(first.store_id[14] == '4');
  CHECK(first.host_incarnation == 1);
  store.reopen();
  CHECK(store->identity().store_id == first.store_id);
  CHECK(store->identity().host_incarnation == 2);
  const TemporaryFolder other;
  OpenStore other_store{other};
  CHECK(other_store->identity().store_id != first.store_id);
}

TEST_CASE("a reader beside the writer pages through slices, gaps and executions", "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
  const auto reader = open_store_reader(folder.path()).value();
  ChangeSet changes;
  changes.partitions = {some_partition("orders", 3)};
  for (std::uint64_t id = 1; id <= 5; ++id) {
    changes.slices_upserted.push_back(
        some_slice(id, 0, 1, id == 3 ? SliceState::Parked : SliceState::Completed));
    changes.gaps.push_back(
        GapRow{1, "orders", 3, 1, 2, 10, 20, Cause::Expired, 7, id, kNowMs, "low watermark 20"});
  }
  REQUIRE(store.apply("orders", changes));

  const auto first = reader->slices("orders", {.rows_max = 2}).value();
  REQUIRE(first.size() == 2);
  CHECK(first[0] == changes.slices_upserted[4]);
  CHECK(first[1] == changes.slices_upserted[3]);
  const auto rest = reader->slices("orders", {.before = first[1].id}).value();
  REQUIRE(rest.size() == 3);
  CHECK(rest[0].id == 3);
  const auto parked = reader->slices("orders", {.state = SliceState::Parked}).value();
  REQUIRE(parked.size() == 1);
  CHECK(parked[0].id == 3);

  const GapPage page = reader->gaps("orders", {.rows_max = 4}).value();
  REQUIRE(page.gaps.size() == 4);
  CHECK(page.gaps[0] == changes.gaps[4]);
  const GapPage last = reader->gaps("orders", {.before = page.last, .rows_max = 4}).value();
  REQUIRE(last.gaps.size() == 1);
  CHECK(last.gaps[0].slice_id == 1);
  CHECK(reader->gaps("orders", {.before = last.last, .rows_max = 4}).value().gaps.empty());

  CHECK(reader->partitions("orders").value() == changes.partitions);
  CHECK(reader->executions("orders", 10).value().size() == 1);
  CHECK(reader->jobs().value() == std::vector<std::string>{"orders"});
  CHECK(reader->slices("nobody", {}).value().empty());
}

TEST_CASE("a reader finds the slices and gaps of one execution, topic, partition and cause",
          "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  store->begin_execution("orders", ExecutionMode::Once, kNowMs).value();
  ChangeSet changes;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    SliceRow row = some_slice(id, 0, 1, SliceState::Completed);
    GapRow gap{1, "orders", 3, 1, 2, 10, 20, Cause::Expired, 7, id, kNowMs, ""};
    if (id == 2) row.execution = gap.execution = 9;
    if (id == 3) row.topic = gap.topic = "x' OR '1'='1";
    if (id == 4) row.partition = gap.partition = 8;
    if (id == 5) gap.cause = Cause::Poison;
    changes.slices_upserted.push_back(row);
    changes.gaps.push_back(gap);
  }
  REQUIRE(store.apply("orders", changes));
  const auto reader = open_store_reader(folder.path()).value();
  const auto slices = [&](const SliceQuery& query) {
    std::vector<std::uint64_t> ids;
    for (const auto& row : reader->slices("orders", query).value()) ids.push_back(row.id);
    return ids;
  };
  const auto gaps = [&](const GapQuery& query) {
    std::vector<std::uint64_t> ids;
    for (const auto& row : reader->gaps("orders", query).value().gaps) ids.push_back(row.slice_id);
    return ids;
  };
  using Ids = std::vector<std::uint64_t>;
  CHECK(slices({.execution = 9}) == Ids{2});
  CHECK(slices({.topic = "x' OR '1'='1"}) == Ids{3});
  CHECK(slices({.partition = 8}) == Ids{4});
  CHECK(slices({.topic = "orders", .partition = 3, .before = 6}) == Ids{5, 2, 1});
  CHECK(gaps({.execution = 9}) == Ids{2});
  CHECK(gaps({.topic = "x' OR '1'='1"}) == Ids{3});
  CHECK(gaps({.partition = 8}) == Ids{4});
  CHECK(gaps({.cause = Cause::Poison}) == Ids{5});
}

TEST_CASE("what users said about a job holds over a host's lives, until it has been used",
          "[state]") {
  const TemporaryFolder folder;
  OpenStore store{folder};
  CHECK(store->settings("nobody").value() == JobSettings{});
  const JobSettings said{JobSettings::Target::Stopped, "latest"};
  REQUIRE(store->set_settings("orders", said).has_value());
  store.reopen();
  CHECK(store->settings("orders").value() == said);
  // Known by its settings alone: it has never run.
  CHECK_FALSE(store->load_job("orders").value().execution.has_value());
  JobChanges used;
  used.job = "orders";
  used.changes.partitions.push_back(some_partition("orders", 0));
  used.start_from_used = true;
  REQUIRE(store->apply({&used, 1}).has_value());
  CHECK(store->settings("orders").value() == JobSettings{JobSettings::Target::Stopped, ""});
}

}  // namespace sluice::state
