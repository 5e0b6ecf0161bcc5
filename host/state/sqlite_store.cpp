#include "host/state/sqlite_store.hpp"

#include <algorithm>
#include <map>

#include "host/base/assert.hpp"
#include "host/state/fold.hpp"
#include "host/state/recoverable.hpp"
#include "host/state/row_columns.hpp"
#include "host/state/store_files.hpp"

namespace sluice::state {
namespace {

struct JobEntry {
  std::int64_t no = 0;
  std::uint64_t next_slice_id = 1;
};

/// Prepared once: SQLite's parser would cost more than the rows.
struct Statements {
  Statement find_job;
  Statement add_job;
  Statement set_next_slice_id;
  Statement put_partition;
  Statement put_slice;
  Statement delete_slice;
  Statement add_gap;
  Statement put_execution;
  Statement last_execution;
  Statement partitions;
  Statement slices;
  Statement gaps;
  Statement settings;
  Statement set_settings;
  Statement forget_start_from;
  Statement add_first_count;
  Statement first_counts;
};

template <typename Row>
std::string insert_sql(const std::string& table) {
  const ColumnNames columns = columns_of<Row>();
  return "INSERT INTO " + table + "(job, " + columns.names + ") VALUES (?, " + columns.marks + ")";
}

/// Merged rows come again with every commit. REPLACE of a row and its lane costs 3.8 us of CPU;
/// with ON CONFLICT DO UPDATE and an index by partition it was 4.8 (10,000 rows a commit).
template <typename Row>
std::string replace_sql(const std::string& table) {
  const ColumnNames columns = columns_of<Row>();
  return "REPLACE INTO " + table + "(job, " + columns.names + ") VALUES (?, " + columns.marks + ")";
}

/// The last parameters: whether it is a reset wherever the frontier was, and the lane's reset_id if
/// it is one.
std::string upsert_partition_sql() {
  const ColumnNames columns = columns_of<PartitionRow>();
  return "INSERT INTO frontier(job, " + columns.names + ", reset_id) VALUES (?, " + columns.marks +
         ", 0) ON CONFLICT(job, topic, partition, lane) DO UPDATE SET " + columns.updates +
         ", reset_id = iif(excluded.frontier < frontier.frontier OR ?, ?, reset_id)";
}

template <typename Row>
std::string get_sql(const std::string& rest) {
  return "SELECT " + columns_of<Row>().names + rest;
}

/// Not settled; settled above the frontier, which parked ones would else be replayed (S5); and each
/// lane's completed row that ends at the frontier. Rows from before a reset are history, and
/// settled ones of an earlier incarnation: counted in, they would skip what is to be done again, or
/// do it under a number that the audit takes for history.
constexpr const char* kOpenSlices =
    " FROM slice WHERE job = ?1 AND ((state IN (0, 1, 3, 4) AND NOT EXISTS ("
    "SELECT 1 FROM frontier f WHERE f.job = ?1 AND f.topic = slice.topic AND "
    "f.partition = slice.partition AND f.lane = slice.lane AND slice.id < f.reset_id)) OR EXISTS ("
    "SELECT 1 FROM frontier f WHERE f.job = ?1 AND f.topic = slice.topic AND "
    "f.partition = slice.partition AND f.lane = slice.lane AND "
    "f.topic_incarnation = slice.topic_incarnation AND slice.id >= f.reset_id AND "
    "(slice.end_offset > f.frontier OR (slice.state = 2 AND slice.end_offset = f.frontier)))) "
    "ORDER BY topic, partition, lane, start_offset, id";

/// Of one execution: leaves_gap(), and a parked range only while its slice is still parked (S6).
constexpr const char* kCountGaps =
    "SELECT count(*) FROM ledger WHERE job = ?1 AND execution = ?2 AND records_max > 0 AND "
    "(cause IN (1, 2, 3, 4, 11) OR "
    "(cause = 5 AND EXISTS (SELECT 1 FROM slice s WHERE s.job = ?1 AND s.id = slice_id AND "
    "s.state = 5)))";

Result<Statements> prepare_all(Database& database) {
  Statements all;
  const std::pair<Statement*, std::string> list[] = {
      {&all.find_job, "SELECT no, next_slice_id FROM job WHERE name = ?1"},
      {&all.add_job, "INSERT INTO job(name, next_slice_id) VALUES (?1, 1)"},
      {&all.set_next_slice_id, "UPDATE job SET next_slice_id = ?2 WHERE no = ?1"},
      {&all.put_partition, upsert_partition_sql()},
      {&all.put_slice, replace_sql<SliceRow>("slice")},
      {&all.delete_slice, "DELETE FROM slice WHERE job = ?1 AND id = ?2"},
      {&all.add_gap, insert_sql<GapRow>("ledger") + " ON CONFLICT DO NOTHING"},
      {&all.put_execution, replace_sql<ExecutionRow>("execution")},
      {&all.last_execution,
       get_sql<ExecutionRow>(" FROM execution WHERE job = ?1 ORDER BY number DESC LIMIT 1")},
      {&all.partitions,
       get_sql<PartitionRow>(" FROM frontier WHERE job = ?1 ORDER BY topic, partition, lane")},
      {&all.slices, get_sql<SliceRow>(kOpenSlices)},
      {&all.gaps, kCountGaps},
      {&all.settings, "SELECT target, start_from FROM job WHERE name = ?1"},
      {&all.set_settings, "UPDATE job SET target = ?2, start_from = ?3 WHERE no = ?1"},
      {&all.add_first_count, insert_sql<FirstCountRow>("first_count") + " ON CONFLICT DO NOTHING"},
      {&all.first_counts, get_sql<FirstCountRow>(" FROM first_count WHERE job = ?1")},
      {&all.forget_start_from, "UPDATE job SET start_from = '' WHERE no = ?1"},
  };
  for (const auto& [statement, sql] : list) {
    auto prepared = database.prepare(sql);
    if (!prepared) return prepared.error();
    *statement = *std::move(prepared);
  }
  return all;
}

class SqliteStore final : public StateStore {
 public:
  SqliteStore(OpenedStore opened, Statements statements)
      : database_{std::move(opened.database)},
        identity_{std::move(opened.identity)},
        files_{std::move(opened.files)},
        sql_{std::move(statements)} {}

  const StoreIdentity& identity() const override { return identity_; }

  Result<JobState> load_job(std::string_view job) override {
    JobState state;
    const auto entry = find(job);
    if (!entry) return entry.error();
    if (entry->no == 0) return state;
    state.next_slice_id = entry->next_slice_id;
    sql_.last_execution.bind(1, entry->no);
    const auto executions = read_rows<ExecutionRow>(database_, sql_.last_execution);
    if (!executions) return executions.error();
    if (!executions->empty()) state.execution = executions->front();
    sql_.partitions.bind(1, entry->no);
    auto partitions = read_rows<PartitionRow>(database_, sql_.partitions);
    if (!partitions) return partitions.error();
    state.partitions = *std::move(partitions);
    sql_.slices.bind(1, entry->no);
    auto slices = read_rows<SliceRow>(database_, sql_.slices);
    if (!slices) return slices.error();
    state.slices = *std::move(slices);
    sql_.first_counts.bind(1, entry->no);
    auto first_counts = read_rows<FirstCountRow>(database_, sql_.first_counts);
    if (!first_counts) return first_counts.error();
    state.first_counts = *std::move(first_counts);
    if (!state.execution) return state;
    const auto gaps = count_gaps(entry->no, state.execution->number);
    if (!gaps) return gaps.error();
    state.gaps = *gaps;
    return state;
  }

  Result<std::vector<SliceRow>> recoverable(std::string_view job) override {
    const auto entry = find(job);
    if (!entry) return entry.error();
    return recoverable_slices(database_, entry->no);
  }

  Result<JobSettings> settings(std::string_view job) override {
    sql_.settings.bind(1, job);
    const auto row = sql_.settings.step();
    if (!row) return row.error();
    JobSettings settings;
    const auto target = *row ? sql_.settings.integer(0) : 0;
    if (*row) settings.start_from = sql_.settings.text(1);
    sql_.settings.reset();
    if (target < 0 || target > static_cast<int>(JobSettings::Target::Stopped)) {
      return damaged(database_.handle(), "a number is out of its range");
    }
    settings.target = static_cast<JobSettings::Target>(target);
    return settings;
  }

  Result<> set_settings(std::string_view job, const JobSettings& settings) override {
    auto transaction = Transaction::begin(database_);
    if (!transaction) return transaction.error();
    const auto entry = find_or_add(job);
    if (!entry) return entry.error();
    sql_.set_settings.bind(1, entry->no);
    sql_.set_settings.bind(2, static_cast<std::int64_t>(settings.target));
    sql_.set_settings.bind(3, std::string_view{settings.start_from});
    SLUICE_TRY(sql_.set_settings.run());
    return commit(*transaction);
  }

  Result<ExecutionRow> begin_execution(std::string_view job, ExecutionMode mode,
                                       std::int64_t now_ms) override {
    auto transaction = Transaction::begin(database_);
    if (!transaction) return transaction.error();
    const auto entry = find_or_add(job);
    if (!entry) return entry.error();
    const auto last = last_execution(entry->no);
    if (!last) return last.error();
    ExecutionRow row;
    row.number = *last ? (*last)->number + 1 : 1;
    row.mode = mode;
    row.started_ms = now_ms;
    SLUICE_TRY(put(sql_.put_execution, entry->no, row));
    SLUICE_TRY(commit(*transaction));
    return row;
  }

  Result<> set_execution_state(std::string_view job, std::uint64_t execution, ExecutionState state,
                               std::string_view reason, std::int64_t now_ms) override {
    auto transaction = Transaction::begin(database_);
    if (!transaction) return transaction.error();
    const auto entry = find(job);
    if (!entry) return entry.error();
    auto last = last_execution(entry->no);
    if (!last) return last.error();
    // Only the newest execution of a job ever changes; anything else is a bug of the caller.
    SLUICE_ASSERT(*last && (*last)->number == execution, std::string{job}, execution);
    ExecutionRow row = **last;
    row.state = state;
    row.reason = reason;
    row.ended_ms = state == ExecutionState::Running ? 0 : now_ms;
    SLUICE_TRY(put(sql_.put_execution, entry->no, row));
    return commit(*transaction);
  }

  Result<> apply(std::span<const JobChanges> batch) override {
    auto transaction = Transaction::begin(database_);
    if (!transaction) return transaction.error();
    for (const JobChanges& job_changes : batch) SLUICE_TRY(apply_one(job_changes));
    return commit(*transaction);
  }

  Result<std::uint64_t> fold(std::string_view job, const RetentionLimits& limits,
                             std::int64_t now_ms) override {
    const auto entry = find(job);
    if (!entry) return entry.error();
    if (entry->no == 0) return std::uint64_t{0};
    return fold_completed_slices(database_, entry->no, limits, now_ms);
  }

 private:
  /// Durable, and in files that the next host will find.
  Result<> commit(Transaction& transaction) {
    SLUICE_TRY(transaction.commit());
    return files_.check();
  }

  /// `no` 0: not known.
  Result<JobEntry> find(std::string_view job) {
    sql_.find_job.bind(1, job);
    const auto row = sql_.find_job.step();
    if (!row) return row.error();
    JobEntry entry;
    if (*row) {
      entry.no = sql_.find_job.integer(0);
      entry.next_slice_id = static_cast<std::uint64_t>(sql_.find_job.integer(1));
    }
    sql_.find_job.reset();
    return entry;
  }

  Result<JobEntry> find_or_add(std::string_view job) {
    auto entry = find(job);
    if (!entry || entry->no != 0) return entry;
    sql_.add_job.bind(1, job);
    SLUICE_TRY(sql_.add_job.run());
    return find(job);
  }

  Result<std::optional<ExecutionRow>> last_execution(std::int64_t job_no) {
    sql_.last_execution.bind(1, job_no);
    auto rows = read_rows<ExecutionRow>(database_, sql_.last_execution);
    if (!rows) return rows.error();
    return rows->empty() ? std::nullopt : std::optional{rows->front()};
  }

  Result<std::uint64_t> count_gaps(std::int64_t job_no, std::uint64_t execution) {
    sql_.gaps.bind(1, job_no);
    sql_.gaps.bind(2, static_cast<std::int64_t>(execution));
    const auto row = sql_.gaps.step();
    if (!row) return row.error();
    const auto count = static_cast<std::uint64_t>(sql_.gaps.integer(0));
    sql_.gaps.reset();
    return count;
  }

  template <typename Row>
  Result<> put(Statement& statement, std::int64_t job_no, const Row& row) {
    static_cast<void>(bind_row(statement, job_no, row));
    return statement.run();
  }

  Result<> put_partition(const JobEntry& job, const PartitionRow& row) {
    const int next = bind_row(sql_.put_partition, job.no, row);
    sql_.put_partition.bind(next, std::int64_t{row.reset ? 1 : 0});
    sql_.put_partition.bind(next + 1, static_cast<std::int64_t>(job.next_slice_id));
    return sql_.put_partition.run();
  }

  /// The index of the parameter after the row's.
  template <typename Row>
  int bind_row(Statement& statement, std::int64_t job_no, const Row& row) {
    statement.bind(1, job_no);
    ColumnBinder binder{statement, 2};
    visit_columns(row, binder);
    return binder.next_index();
  }

  Result<> apply_one(const JobChanges& job_changes) {
    const auto entry = find(job_changes.job);
    if (!entry) return entry.error();
    SLUICE_ASSERT(entry->no != 0, job_changes.job);
    const ChangeSet& changes = job_changes.changes;
    if (job_changes.start_from_used) {
      sql_.forget_start_from.bind(1, entry->no);
      SLUICE_TRY(sql_.forget_start_from.run());
    }
    for (const PartitionRow& row : changes.partitions) {
      SLUICE_TRY(put_partition(*entry, row));
    }
    std::uint64_t next_slice_id = std::max(entry->next_slice_id, changes.next_slice_id);
    for (const SliceRow& row : changes.slices_upserted) {
      SLUICE_TRY(put(sql_.put_slice, entry->no, row));
      next_slice_id = std::max(next_slice_id, row.id + 1);
    }
    for (const std::uint64_t id : changes.slices_deleted) {
      sql_.delete_slice.bind(1, entry->no);
      sql_.delete_slice.bind(2, static_cast<std::int64_t>(id));
      SLUICE_TRY(sql_.delete_slice.run());
      next_slice_id = std::max(next_slice_id, id + 1);
    }
    for (const GapRow& row : changes.gaps) SLUICE_TRY(put(sql_.add_gap, entry->no, row));
    for (const FirstCountRow& row : changes.first_counts) {
      SLUICE_TRY(put(sql_.add_first_count, entry->no, row));
    }
    if (next_slice_id == entry->next_slice_id) return {};
    sql_.set_next_slice_id.bind(1, entry->no);
    sql_.set_next_slice_id.bind(2, static_cast<std::int64_t>(next_slice_id));
    return sql_.set_next_slice_id.run();
  }

  Database database_;
  StoreIdentity identity_;
  FilesInPlace files_;
  Statements sql_;  // after database_: statements are closed first
};

}  // namespace

Result<std::unique_ptr<StateStore>> open_sqlite_store(const DirectoryLock& lock) {
  auto opened = open_store_files(lock.directory());
  if (!opened) return opened.error();
  auto statements = prepare_all(opened->database);
  if (!statements) return statements.error();
  std::unique_ptr<StateStore> store =
      std::make_unique<SqliteStore>(*std::move(opened), *std::move(statements));
  return store;
}

}  // namespace sluice::state
