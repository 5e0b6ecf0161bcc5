// The worker's end: reads commands, reports what became of them, says in its pulse what it is
// doing. The host's segment is mapped read-only and cannot be made writable; the descriptors of
// both segments are closed once mapped, so that no plugin can cut or map them again.
//
// Used by the task thread alone, except for pulse().keep_alive(). The host is trusted, but not its
// version: attach() compares both headers with this program's constants.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>

#include "ipc/counters.hpp"
#include "ipc/doorbell.hpp"
#include "ipc/pulse.hpp"
#include "ipc/segment.hpp"
#include "ipc/spsc_ring.hpp"
#include "ipc/worker_fds.hpp"

namespace sluice::ipc {

/// Worth spinning before a sleep: a hand-over in 0.15 us instead of 7 us (measured).
inline constexpr std::uint64_t kSpinNs = 5'000;

struct TopicEntry {
  std::string_view name;  ///< empty: not announced by the host
  std::uint32_t incarnation = 0;
};

class WorkerChannel {
 public:
  /// Takes ownership of the four descriptors. Incompatible: exit 78.
  static Result<WorkerChannel> attach(WorkerFds fds, std::uint64_t incarnation);

  /// Copies up to out.size() commands and gives their slots back; kinds of a newer minor layout are
  /// left out. An Error means that the host is broken: exit.
  Result<std::size_t> read(std::span<Command> out);

  /// Publishes one report, with its text if any (cut to kArenaEntrySize; encode_failure_text makes
  /// it). Waits while the ring is full and never drops. Rings the doorbell if the host sleeps.
  /// seq, arena_len and crc32c are filled in here.
  Result<> report(Report report, std::string_view text = {});

  /// Readable after the host rang.
  int doorbell_fd() const { return doorbell_to_worker_.fd(); }
  /// Looks for commands for kSpinNs; true as soon as there are some.
  bool spin_for_commands() const noexcept;
  /// Sleeping: prepare_to_sleep(); if (!has_commands()) wait for doorbell_fd(); woken().
  void prepare_to_sleep() noexcept { sleeper_.prepare(); }
  bool has_commands() const noexcept { return commands_.has_more(); }
  void woken() noexcept;

  PulseWriter& pulse() { return pulse_; }
  CounterWriter& counters() { return counters_; }

  /// The views are valid as long as the channel. Known once its Topic command was read.
  TopicEntry topic(std::uint16_t index) const;

  /// Why the record of a command with kDeadLetterOnly is set aside: entry `filter` of it. Requires:
  /// asked between read() returning the command and the next read().
  Verdict verdict(std::uint16_t entry) const;
  /// The terms of a command with kProbe or kExclude, by its seq. Requires: as verdict().
  SliceTerms slice_terms(std::uint64_t seq) const;

  std::uint32_t worker_no() const { return host_segment_->header.worker_no; }
  /// To be compared with getppid() after PR_SET_PDEATHSIG.
  std::uint32_t host_pid() const { return host_segment_->header.host_pid; }
  /// CLOCK_MONOTONIC_COARSE of the host loop's last turn.
  std::uint64_t host_beat_ns() const noexcept {
    return host_segment_->host_beat_ns.load(std::memory_order_relaxed);
  }

 private:
  friend Result<> install_crash_handler(WorkerChannel& channel);
  friend void record_modules(WorkerChannel& channel);

  WorkerChannel(Mapped<const HostSegment> host, Mapped<WorkerSegment> worker, Doorbell to_worker,
                Doorbell to_host);
  Result<> wait_for_free_slot();

  Mapped<const HostSegment> host_segment_;
  Mapped<WorkerSegment> worker_segment_;
  Doorbell doorbell_to_worker_;
  Doorbell doorbell_to_host_;
  RingReader<Command> commands_;
  RingWriter<Report> reports_;
  Waker waker_;
  Sleeper sleeper_;
  PulseWriter pulse_;
  CounterWriter counters_;
  std::bitset<kTopicsMax> topics_known_;
};

}  // namespace sluice::ipc
