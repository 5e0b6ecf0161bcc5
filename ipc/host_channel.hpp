// The host's end of one worker incarnation: publishes commands, drains reports, reads pulse,
// counters and crash note. It makes both segments and both doorbells; spawn_worker() hands them
// over.
//
// Everything that comes from the worker is treated as bytes from the network: indices are checked
// as distances, a slot is copied once and only the copy is looked at, texts are made printable. The
// first violation is final: every later drain returns the same Error, and the worker must be
// killed. After the worker is reaped, drain() once more: complete reports that it left count
// (facts 3.6). Owned and used by one thread, the host's loop. Nothing here blocks or waits for the
// worker.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "ipc/crash_note.hpp"
#include "ipc/doorbell.hpp"
#include "ipc/report_receiver.hpp"
#include "ipc/segment.hpp"
#include "ipc/spsc_ring.hpp"
#include "ipc/worker_fds.hpp"

namespace sluice::ipc {

class HostChannel {
 public:
  static Result<HostChannel> create(std::uint32_t worker_no, std::uint64_t incarnation);

  /// Numbers for the spawner; owned by this channel and invalid after close_worker_fds().
  WorkerFds worker_fds() const;
  /// After the spawn: the host needs no descriptor of the segments, only its mappings.
  void close_worker_fds();

  /// All of `commands` or, with an Error, none of them. Full: the worker has stopped reading and is
  /// suspect. seq and crc32c are filled in here. Rings the doorbell if the worker sleeps.
  Result<> publish(std::span<const Command> commands);
  /// A slice with kDeadLetterOnly, and why its record is set aside. Fills in `filter`. Full also
  /// when the worker has not taken kVerdictsMax such commands.
  Result<> publish_dead_letter(Command command, const Verdict& verdict);
  /// A slice with kProbe or kExclude, and its terms. Full also when an older command's terms are in
  /// the way that the worker has not taken.
  Result<> publish_with_terms(const Command& command, const SliceTerms& terms);

  /// Fills topic table entry `index`, then publishes its Topic command. Each index once.
  Result<> publish_topic(std::uint16_t index, std::string_view name, std::uint32_t incarnation);

  /// Copies up to out.size() sound reports (at most kReportsPerDrain, so that a worker that spams
  /// cannot starve the others) and gives their slots back. Reports before a bad one are returned
  /// first; the Error comes with the next call.
  Result<std::size_t> drain(std::span<ReceivedReport> out);

  /// Readable after the worker rang: reports, or a crash note.
  int doorbell_fd() const { return doorbell_to_host_.fd(); }
  /// Sleeping: prepare_to_sleep(); if (!has_reports()) wait for doorbell_fd(); woken().
  void prepare_to_sleep() noexcept { sleeper_.prepare(); }
  bool has_reports() const noexcept { return receiver_.has_more(); }
  void woken() noexcept;

  /// One turn of the host's loop, which a worker may look at.
  void beat() noexcept;

  /// Hints. loops never goes back, an unknown phase reads as the last known one, and a time in the
  /// future as 0, so that a wild store cannot extend a deadline for ever.
  Pulse pulse() noexcept;
  /// Hints. No value ever goes back.
  Counters counters() noexcept;
  std::optional<CrashNote> crash_note() const { return read_crash_note(*worker_segment_); }

 private:
  /// Whether the worker has taken the command of this number; looks at its head anew.
  Result<bool> is_taken(std::uint64_t seq);

  HostChannel(CreatedSegment<HostSegment> host, CreatedSegment<const WorkerSegment> worker,
              Doorbell to_worker, Doorbell to_host);

  Mapped<HostSegment> host_segment_;
  Mapped<const WorkerSegment> worker_segment_;
  OwnedFd host_segment_fd_;
  OwnedFd worker_segment_fd_;
  Doorbell doorbell_to_worker_;
  Doorbell doorbell_to_host_;
  RingWriter<Command> commands_;
  ReportReceiver receiver_;
  Waker waker_;
  Sleeper sleeper_;
  std::bitset<kTopicsMax> topics_published_;
  std::uint64_t verdicts_published_ = 0;
  std::array<std::uint64_t, kVerdictsMax> verdict_commands_{};  ///< by entry: seq of its command
  /// By entry: one past the seq of its command; 0: never used.
  std::array<std::uint64_t, kSliceTermsMax> terms_commands_{};
  Pulse last_pulse_;
  Counters last_counters_;
};

}  // namespace sluice::ipc
