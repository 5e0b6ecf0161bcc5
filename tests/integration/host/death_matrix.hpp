// The matrix of what can end or hold up a worker, and when (A17): its cells as jobs of one host.
// Each job has two partitions and two workers; one worker meets the fault, once; the other is its
// neighbour. What each cell must show is written down in death_matrix.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "integration/host/job_fixture.hpp"

namespace sluice::test {

/// When it happens: while the worker has nothing to do, in the plugin's put, flush, start, stop.
enum class When { Idle, Put, Flush, Start, Stop };

struct Cell {
  std::string name;   ///< WHEN-FAULT: the job's and its topic's
  std::string word;   ///< for the fault sink
  std::string lines;  ///< more of the job's file
  /// What the host's line about it has, each; none: it ends no worker.
  std::vector<std::string> told;
  std::string cause;  ///< of the loss, in the status of one of its workers; empty: none is lost
  std::string phase;
  bool told_later = false;  ///< only when work comes: an idle worker may sleep for ever
};

/// All cells of this column; without SLUICE_FULL=1 a third of them, another third in each.
std::vector<Cell> cells_of(When when);

/// One host with a job for each cell.
class DeathMatrix {
 public:
  explicit DeathMatrix(When when);

  const std::vector<Cell>& cells() const { return cells_; }
  void start() { host_ = kafka_.host(); }
  /// `count` records into each partition of each topic; `poisoned`: the cell's word in the middle
  /// of partition 0.
  enum class Records { Plain, Poisoned };
  void produce(std::int64_t count, Records records = Records::Plain);
  /// Until each record of each cell was delivered; fails the test naming the cells that wait.
  void require_all_delivered();
  /// Until each job's status has a worker with the cell's cause and phase as its last loss.
  void require_all_in_status();
  /// Until the host has said of each cell what it must.
  void require_all_told();
  /// Until the fault has happened in an idle worker of each cell, and what has died of it is told.
  void require_idle_faults_met();
  /// In each cell one partition was served by one and the same process throughout, each record
  /// once, and the other one's records came again at most once.
  void require_neighbours_undisturbed() const;
  /// Each record exactly once.
  void require_nothing_twice() const;
  /// SIGTERM; the host must drain and exit 0.
  void stop();

 private:
  std::vector<LedgerLine> ledger(const Cell& cell) const;
  /// The host's lines about lost workers and failed slices of this cell.
  std::vector<std::string> told_about(const Cell& cell) const;
  bool is_told(const Cell& cell) const;
  bool is_in_status(const Cell& cell) const;

  JobFixture kafka_;
  std::vector<Cell> cells_;
  std::int64_t produced_ = 0;  ///< per partition
  std::unique_ptr<Program> host_;
  std::string said_before_;  ///< by hosts that have ended
};

}  // namespace sluice::test
