// A worker process as its host can see it: it takes commands from its ring, runs slices in flush
// groups (delivery.md D2, D4, D5), reports, and dies in every way there is. The honest parts follow
// the contract of host/worker; what is not honest is flagged, so that a checker can tell whether a
// violation was deserved.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/base/random.hpp"
#include "host/supervisor/exit_status.hpp"
#include "ipc/crash_note.hpp"
#include "ipc/pulse.hpp"
#include "ipc/slice_descriptor.hpp"
#include "ipc/slice_report.hpp"
#include "ipc/slice_terms.hpp"
#include "sim/scenario.hpp"

namespace sluice::sim {

class World;

class WorkerProcess {
 public:
  WorkerProcess(World& world, std::uint32_t slot, std::uint64_t incarnation, std::uint64_t seed);

  // --- The host's end
  void send(const ipc::Command& command, ipc::SliceTerms terms = {});
  std::optional<std::pair<ipc::Report, std::string>> take_report();
  void signal(int number);
  ipc::Pulse pulse() const { return pulse_; }
  std::optional<ipc::CrashNote> crash_note() const { return note_; }
  const std::optional<supervisor::ExitStatus>& exit_status() const { return exit_status_; }
  bool has_work() const { return !ring_.empty() || !queue_.empty() || current_ || !group_.empty(); }

  // --- The world's end
  std::uint64_t incarnation() const { return incarnation_; }
  std::uint32_t slot() const { return slot_; }
  bool gone() const { return exit_status_.has_value(); }
  bool honest() const { return honest_; }
  void come_up();
  void grew(std::int32_t partition);
  void freeze(std::int64_t for_us);
  void leave(int code);
  void send_garbage();
  void host_is_gone();

 private:
  struct Running {
    ipc::Command command;
    std::int64_t position = 0;
    std::uint32_t records = 0;
    std::size_t puts = 0;  ///< of it, in `volatile_`
    std::int64_t last = -1;
    std::uint32_t last_writing = 0;
  };
  struct Put {
    RecordAt at;
    std::uint32_t writing = 0;
  };
  struct Finished {
    Running slice;
    std::int64_t next = 0;
  };

  World* world_;
  std::uint32_t slot_;
  std::uint64_t incarnation_;
  Random random_;
  std::deque<ipc::Command> ring_;                   ///< commands that were not read yet
  std::map<std::uint64_t, ipc::SliceTerms> terms_;  ///< by slice, of those that came with some
  std::deque<ipc::Command> queue_;                  ///< slices that were read and wait
  std::deque<std::pair<ipc::Report, std::string>> reports_;
  std::optional<Running> current_;
  std::vector<Finished> group_;
  std::vector<Put> volatile_;  ///< put, not flushed
  std::size_t singly_ = 0;     ///< slices of a failed group that re-run one by one (D5)
  std::map<std::int32_t, std::uint32_t> returned_;  ///< fences up to which slices go back
  std::map<std::int32_t, std::int64_t> opened_;     ///< partition -> visible end last reported
  ipc::Pulse pulse_;
  std::optional<ipc::CrashNote> note_;
  std::optional<supervisor::ExitStatus> exit_status_;
  std::int64_t frozen_until_us_ = -1;
  bool up_ = false;
  bool stopping_ = false;
  bool hung_ = false;
  bool scheduled_ = false;
  bool honest_ = true;

  void schedule(std::int64_t delay_us);
  void turn();
  void read_ring();
  bool start_next();
  void batch();
  void look_at_record();
  void put(const std::vector<std::int64_t>& offsets);
  bool survives(const RecordAt& record, Badness badness);
  bool is_excluded(const ipc::Command& command, std::int64_t offset) const;
  void end_probe();
  void flush();
  void flushed();
  void end_current(std::int64_t next);
  void fail_current(ipc::FailureClass failure);
  void expire_current();
  void forget(std::size_t puts);
  bool writes_by_name() const;
  void write_by_name(std::size_t slices);
  bool must_return(const ipc::Command& command) const;
  void return_lane(std::int32_t partition, std::uint32_t fence);
  void enter(ipc::Phase phase, std::uint64_t slice_id, std::int64_t offset);
  void see(std::int32_t partition);
  void report(ipc::ReportKind kind, const Running& slice, std::int64_t next,
              ipc::FailureClass failure = ipc::FailureClass::None);
  void push(ipc::Report report, std::string text = {});
  void die(supervisor::ExitStatus status);
  void crash(int number);
};

}  // namespace sluice::sim
