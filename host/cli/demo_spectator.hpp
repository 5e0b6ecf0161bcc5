// Watches the demo's job, kills one of its workers with SIGKILL on the way, and remembers when what
// happened. Everything the demo tells about the kill is a figure from here.
//
// Called on the host's loop. Only public figures; the demo prints them when the job has ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/cli/demo_records.hpp"
#include "host/job/host.hpp"
#include "host/job/job_runtime.hpp"
#include "host/state/rows.hpp"

namespace sluice::cli {

class DemoSpectator final : public job::JobObserver {
 public:
  DemoSpectator(const DemoRecords& records, const Clock& clock)
      : records_{records}, clock_{clock} {}

  /// Requires: before the host runs; `host` outlives the job.
  void attend(job::Host& host, std::string job);

  void worker_ready(std::uint32_t slot, std::int32_t pid) override;
  void worker_lost(std::uint32_t slot, const slicer::Accusation& why) override;
  void reported(std::uint32_t slot, const ipc::Report& report) override;
  /// For a timer; the memory of a process is only visible while it lives.
  void sample_memory();

  std::map<std::uint32_t, std::int32_t> first_pids;  ///< by slot
  std::optional<std::int64_t> first_slice_ms;        ///< after attend()

  // The kill; all times count from it.
  std::uint32_t victim_slot = 0;
  std::int32_t victim_pid = 0;
  std::uint64_t done_at_kill = 0;
  std::size_t slices_at_kill = 0;
  std::set<std::int32_t> victim_partitions;
  std::optional<state::SliceRow> interrupted;  ///< the slice that its pulse named
  std::optional<std::int64_t> lost_ms;
  std::optional<std::int64_t> elsewhere_ms;
  std::optional<std::int64_t> respawned_ms;
  std::int32_t respawned_pid = 0;

  // The poison order.
  std::uint32_t crashes = 0;
  std::string crash_text;                    ///< of the first
  std::optional<std::int64_t> set_aside_ms;  ///< after the first crash: its dead letter is written
  std::set<std::int32_t> partitions_meanwhile;  ///< others that had a slice done between the two

  std::uint64_t host_rss_max = 0;
  std::uint64_t worker_rss_max = 0;

 private:
  void kill_a_busy_one(std::uint32_t reporter);
  std::vector<state::SliceRow> slices_of(std::uint32_t slot) const;
  std::int64_t since(Milliseconds then) const { return (clock_.monotonic() - then).count(); }

  const DemoRecords& records_;
  const Clock& clock_;
  job::Host* host_ = nullptr;
  std::string job_;
  Milliseconds attended_{0};
  std::map<std::uint32_t, std::int32_t> pids_;
  std::uint64_t done_ = 0;
  std::optional<Milliseconds> killed_at_;
  std::optional<Milliseconds> crashed_at_;
  std::vector<state::SliceRow> victim_slices_;
};

}  // namespace sluice::cli
