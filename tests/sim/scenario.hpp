// Everything about a run that its seed decides before it begins: how large the world is, which
// options the cores get, which records are bad, which troubles come how often. From then on the run
// draws from its own Random, so that a change of a core changes what happens, never what was
// planned.
//
// Sabotage breaks the world on purpose, one rule at a time: each checker must notice its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "host/slicer/options.hpp"
#include "host/supervisor/supervisor.hpp"

namespace sluice::sim {

/// What a record does to the plugin that gets it.
enum class Badness : std::uint8_t {
  Crash,         ///< in put, every time
  CrashInFlush,  ///< in the flush of its group, every time
  CrashOnce,     ///< in put, the first time
  Hang,          ///< in put, every time
  Fail,          ///< FAIL, every time
  FailTwice,     ///< FAIL, twice
  NotConnected,  ///< used up its retries, twice
};

struct RecordAt {
  std::int32_t partition = 0;
  std::int64_t offset = 0;

  auto operator<=>(const RecordAt&) const = default;
};

enum class Sabotage : std::uint8_t {
  None,
  SkipRecord,         ///< a worker reports a slice done of which it has not put one record
  ReverseLane,        ///< a worker runs the slices of a group backwards
  ReleaseBeforeReap,  ///< the host calls a worker lost before it is reaped
  ForgetDeletes,      ///< the store keeps rows that were merged into others
  StaleWrite,         ///< the store applies a change set after its successor
  CommitEarly,        ///< the host commits frontiers that are not durable
  IgnoreCredit,       ///< the slicer is given twice the credit that the checker knows
  MoveAtWill,         ///< the host shrinks and grows the slots without a reason
  StayAway,           ///< the slicer is given a delay after which nobody goes home any more
  ForgetOpenRows,     ///< a host that starts is not told of the slices that were open
  BlameKills,         ///< the supervisor's verdict on a SIGKILL is passed on as a crash
  ExceedEnd,          ///< a worker that counts as honest sees more than there is
  LoseReport,         ///< the ring loses a report
  DeliverTwice,       ///< a sink writes a record twice
  BlindComparison,    ///< to a worker all records look the same
  FlushProbe,         ///< a worker flushes a probe and calls it done
  PutCulprits,        ///< a worker puts what it is to leave out of a slice
};

/// How often things go wrong: one in N, 0 = never. Per batch, per call, or per second, as said.
struct Troubles {
  std::uint32_t kill_one_in_s = 0;     ///< SIGKILL from outside, per worker and second
  std::uint32_t exit_one_in_s = 0;     ///< leaves by itself
  std::uint32_t freeze_one_in_s = 0;   ///< stands still; half of them go on later
  std::uint32_t garbage_one_in_s = 0;  ///< a report that breaks a rule
  std::uint32_t lost_hint_one_in = 0;  ///< per hint
  std::uint32_t failed_sample_one_in = 0;
  std::uint32_t short_end_one_in = 0;     ///< per batch: gives the rest back although there is more
  std::uint32_t false_expiry_one_in = 0;  ///< per batch: says expired although nothing is
  std::uint32_t host_crash_one_in_s = 0;
  std::uint32_t broker_away_one_in_s = 0;
  std::uint32_t slots_change_one_in_s = 0;
  std::uint32_t recover_one_in_s = 0;   ///< a user asks for what is parked
  std::uint32_t expire_one_in_s = 0;    ///< retention removes the beginning of a partition
  std::uint32_t truncate_one_in_s = 0;  ///< ... an unclean election its end
  std::uint32_t recreate_one_in_s = 0;  ///< the topic is deleted and created again, once
  std::int64_t disk_us_max = 2'000;
  std::int64_t doorbell_us_max = 200;
  std::int64_t reap_us_max = 5'000;
};

struct Scenario {
  std::uint64_t seed = 0;
  slicer::SlicerOptions slicer;
  supervisor::SupervisorOptions supervisor;
  std::int32_t partitions = 1;
  std::int32_t partitions_later = 0;  ///< appear while the job runs
  std::int64_t backlog = 0;           ///< records of each partition at the start
  std::int64_t produced = 0;          ///< records that come while it runs, all partitions together
  bool start_at_latest = false;       ///< auto.offset.reset
  std::uint32_t hole_one_in = 0;      ///< offsets without a record (compaction, markers)
  std::int64_t troubled_s = 10;       ///< how long troubles last; then everything must settle
  std::int64_t batch_records = 10;
  std::int64_t flush_records = 100;
  std::int64_t put_us = 20;  ///< per record
  std::int64_t flush_us = 500;
  std::uint32_t graceful_restarts = 0;
  std::map<RecordAt, Badness> bad;
  Troubles troubles;
  Sabotage sabotage = Sabotage::None;

  bool hole(std::int32_t partition, std::int64_t offset) const;
  bool quiet() const;  ///< nothing can go wrong: every record exactly once
  std::string summary() const;
};

Scenario scenario_of(std::uint64_t seed);

}  // namespace sluice::sim
