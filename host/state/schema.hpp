// The tables, and the one list of columns per row type that both writing and reading use
// (row_columns.cpp). A change here is a new kSchemaVersion and a migration.
//
// `slice` has a row for what slicer.md R3 lists and merged rows for the rest; `ledger` is R4.
// Numbers of enums are those of rows.hpp. Nothing here refers to a payload of a record.
#pragma once

namespace sluice::state {

constexpr const char* kSchema = R"sql(
BEGIN;
CREATE TABLE store(
  id TEXT NOT NULL,
  host_incarnation INTEGER NOT NULL
) STRICT;

CREATE TABLE job(
  no INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  next_slice_id INTEGER NOT NULL,
  target INTEGER NOT NULL DEFAULT 0,
  start_from TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE execution(
  job INTEGER NOT NULL,
  number INTEGER NOT NULL,
  mode INTEGER NOT NULL,
  state INTEGER NOT NULL,
  started_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY(job, number)
) STRICT, WITHOUT ROWID;

-- reset_id: settled slices with a lower id were settled before the last reset.
CREATE TABLE frontier(
  job INTEGER NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  topic_incarnation INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  start_offset INTEGER NOT NULL,
  frontier INTEGER NOT NULL,
  worker_slot INTEGER NOT NULL,
  once_end INTEGER,
  slices_settled INTEGER NOT NULL,
  records_in INTEGER NOT NULL,
  records_out INTEGER NOT NULL,
  records_filtered INTEGER NOT NULL,
  records_errant INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  reset_id INTEGER NOT NULL,
  fingerprints TEXT NOT NULL DEFAULT '',
  lowered_from INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(job, topic, partition, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE slice(
  job INTEGER NOT NULL,
  id INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  topic_incarnation INTEGER NOT NULL,
  start_offset INTEGER NOT NULL,
  end_offset INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  worker_slot INTEGER NOT NULL,
  worker_pid INTEGER NOT NULL,
  worker_incarnation INTEGER NOT NULL,
  state INTEGER NOT NULL,
  halted INTEGER NOT NULL,
  stable INTEGER NOT NULL,
  slice_count INTEGER NOT NULL,
  records_in INTEGER NOT NULL,
  records_out INTEGER NOT NULL,
  records_filtered INTEGER NOT NULL,
  records_errant INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  fetch_us INTEGER NOT NULL,
  process_us INTEGER NOT NULL,
  put_us INTEGER NOT NULL,
  flush_us INTEGER NOT NULL,
  state_us INTEGER NOT NULL,
  wait_us INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  dispatched_ms INTEGER NOT NULL,
  settled_ms INTEGER NOT NULL,
  cause INTEGER NOT NULL,
  excluded TEXT NOT NULL DEFAULT '',
  error_stage TEXT,
  error_plugin TEXT,
  error_code INTEGER,
  error_message TEXT,
  PRIMARY KEY(job, id)
) STRICT, WITHOUT ROWID;
-- No index over merged rows, which change with every commit (slicer.md R3): pages of one partition
-- walk the key, whose completed rows retention bounds.
CREATE INDEX slice_not_completed ON slice(job, state, id) WHERE state <> 2;

CREATE TABLE ledger(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  job INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  topic_incarnation INTEGER NOT NULL,
  start_offset INTEGER NOT NULL,
  end_offset INTEGER NOT NULL,
  cause INTEGER NOT NULL,
  records_max INTEGER NOT NULL,
  slice_id INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX ledger_of_job ON ledger(job, no);
-- A set that is applied again leaves one row of each of its gaps.
CREATE UNIQUE INDEX ledger_once ON ledger(job, execution, topic, partition, lane,
  topic_incarnation, start_offset, end_offset, cause, slice_id, at_ms);

-- What linear assignment hashes with (slicer.md A3). Topic '': the job's workers.
CREATE TABLE first_count(
  job INTEGER NOT NULL,
  topic TEXT NOT NULL,
  topic_incarnation INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(job, topic, topic_incarnation)
) STRICT, WITHOUT ROWID;

PRAGMA application_id = 1397511491;
PRAGMA user_version = 5;
COMMIT;
)sql";

/// Migrations, from kOldestSchema on: each takes a store to the next version, whole or not at all.
constexpr const char* kMigrations[] = {
    // 1 to 2: what users said about a job (JobSettings).
    R"sql(
BEGIN IMMEDIATE;
ALTER TABLE job ADD COLUMN target INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN start_from TEXT NOT NULL DEFAULT '';
PRAGMA user_version = 2;
COMMIT;
)sql",
    // 2 to 3: which log a partition's frontier is of (slicer.md F5).
    R"sql(
BEGIN IMMEDIATE;
ALTER TABLE frontier ADD COLUMN fingerprints TEXT NOT NULL DEFAULT '';
ALTER TABLE frontier ADD COLUMN lowered_from INTEGER NOT NULL DEFAULT 0;
PRAGMA user_version = 3;
COMMIT;
)sql",
    // 3 to 4: what linear assignment hashes with.
    R"sql(
BEGIN IMMEDIATE;
CREATE TABLE first_count(
  job INTEGER NOT NULL,
  topic TEXT NOT NULL,
  topic_incarnation INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(job, topic, topic_incarnation)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 4;
COMMIT;
)sql",
    // 4 to 5: what is left out of a slice (slicer.md F3.4).
    R"sql(
BEGIN IMMEDIATE;
ALTER TABLE slice ADD COLUMN excluded TEXT NOT NULL DEFAULT '';
PRAGMA user_version = 5;
COMMIT;
)sql",
};

}  // namespace sluice::state
