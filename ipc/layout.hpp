// The bytes that host and worker share. Two segments per worker incarnation, one writer each:
//
//   H, HostSegment, 512 KiB: written by the host, mapped read-only by the worker
//        0 header | 128 command_tail | 256 report_head | 384 host_sleep | 512 host_beat_ns
//     4096 commands, 1024 x 64 B
//    69632 slice terms, 256 x 152 B: entry seq & 255 of a command with kProbe or kExclude
//   131072 topic table, 1024 x 256 B, append-only
//   393216 verdicts, 128 x 1 KiB: entry `filter` of a command with kDeadLetterOnly
//
//   W, WorkerSegment, 1188 KiB: written by the worker, mapped read-only by the host
//        0 header | 128 report_tail  | 256 command_head | 384 worker_sleep
//      512 pulse  | 1024 crash note  | 2048 counters
//     4096 reports, 1024 x 128 B
//   135168 modules, 128 x 256 B (for the crash note's frames)
//   167936 arena, 1024 x 1 KiB: entry n is the text of report slot n
//
// A reader's index lives in the reader's segment, so nobody ever writes where the other one does.
// Indices run freely over 64 bits; the slot is index & 1023. Words of different writers or readers
// are 128 bytes apart, because the hardware prefetches lines in pairs.
// A wild store of a worker reaches W only; the host reads W with the checks of host_channel.cpp.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "ipc/counters.hpp"
#include "ipc/crash_note.hpp"
#include "ipc/pulse.hpp"
#include "ipc/slice_descriptor.hpp"
#include "ipc/slice_report.hpp"
#include "ipc/slice_terms.hpp"
#include "ipc/verdict.hpp"

namespace sluice::ipc {

static_assert(std::endian::native == std::endian::little, "x86-64 and little-endian aarch64 only");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

inline constexpr std::uint16_t kLayoutMajor = 1;  ///< a different one is refused
inline constexpr std::uint16_t kLayoutMinor = 2;  ///< a newer one may bring unknown kinds
inline constexpr std::uint64_t kRingSlots =
    1024;  ///< above any credit: a full ring is a broken peer
inline constexpr std::uint64_t kSlotMask = kRingSlots - 1;
inline constexpr std::size_t kLineGap = 128;
inline constexpr std::size_t kTopicsMax = 1024;
inline constexpr std::size_t kTopicNameSizeMax = 249;  ///< Kafka's own limit
inline constexpr std::size_t kArenaEntrySize = 1024;   ///< sdk.md 5.6: messages of at most 1 KiB
inline constexpr std::uint64_t kHostMagic = 0x482d454349554c53;    // "SLUICE-H"
inline constexpr std::uint64_t kWorkerMagic = 0x572d454349554c53;  // "SLUICE-W"
inline constexpr std::uint32_t kEndianMark = 0x01020304;

/// A value as shared words: copied whole by relaxed loads and stores, so that the copy is taken
/// once (the compiler may not look again) and ThreadSanitizer sees no race.
template <typename Value>
struct Slot {
  static_assert(sizeof(Value) % sizeof(std::uint64_t) == 0);
  static constexpr std::size_t kWords = sizeof(Value) / sizeof(std::uint64_t);
  using Words = std::array<std::uint64_t, kWords>;

  std::array<std::atomic<std::uint64_t>, kWords> words;

  void store(const Value& value) noexcept {
    const auto plain = std::bit_cast<Words>(value);
    for (std::size_t i = 0; i < kWords; ++i) words[i].store(plain[i], std::memory_order_relaxed);
  }
  Value load() const noexcept {
    Words plain;
    for (std::size_t i = 0; i < kWords; ++i) plain[i] = words[i].load(std::memory_order_relaxed);
    return std::bit_cast<Value>(plain);
  }
};

template <typename Value>
using RingSlots = std::array<Slot<Value>, kRingSlots>;

using ArenaText = std::array<char, kArenaEntrySize>;
using Arena = RingSlots<ArenaText>;

/// Written by the host before the worker exists, in both segments, and never read back by it. The
/// worker compares it with its own constants: host and worker of different builds must not meet.
struct SegmentHeader {
  std::atomic<std::uint64_t> magic;  ///< stored last, release
  std::uint16_t layout_major;
  std::uint16_t layout_minor;
  std::uint32_t header_size;
  std::uint64_t total_size;
  std::uint32_t slots;
  std::uint32_t slot_size;
  std::uint32_t entry_size;  ///< of H's topic table, of W's arena
  std::uint32_t worker_no;
  std::uint64_t incarnation;
  std::uint32_t endian_mark;
  std::uint32_t host_pid;  ///< the worker's parent, for its getppid() check
  std::uint32_t reserved;
  std::uint32_t crc32c;  ///< of the bytes from layout_major on
};
static_assert(sizeof(SegmentHeader) == 64 && offsetof(SegmentHeader, crc32c) == 60);

struct TopicSlot {
  std::uint32_t incarnation;
  std::uint16_t name_length;
  std::array<char, kTopicNameSizeMax + 1> name;
};
static_assert(sizeof(TopicSlot) == 256);

/// H. Writer of every field: the host.
struct HostSegment {
  SegmentHeader header;
  /// Release after the slots are filled; pairs with the acquire in the worker's RingReader.
  alignas(kLineGap) std::atomic<std::uint64_t> command_tail;
  /// Release after reports are copied out; pairs with the acquire in the worker's RingWriter, which
  /// must not overwrite a slot that is still being read.
  alignas(kLineGap) std::atomic<std::uint64_t> report_head;
  /// Sleep count of the host's loop: odd while it sleeps or is about to (doorbell.hpp).
  alignas(kLineGap) std::atomic<std::uint32_t> host_sleep;
  /// CLOCK_MONOTONIC_COARSE of the host's last turn; a worker can tell a stalled host by it.
  alignas(kLineGap) std::atomic<std::uint64_t> host_beat_ns;
  alignas(4096) RingSlots<Command> commands;
  /// As with verdicts: complete before the command that it belongs to, which it outlives.
  std::array<Slot<SliceTermsSlot>, kSliceTermsMax> slice_terms;
  std::array<std::byte, 22528> unused_before_topics;
  /// Entry n is complete before Topic command n is published, and never changes after.
  std::array<TopicSlot, kTopicsMax> topics;
  /// Entry n is complete before the command that names it is published, and stays as it is until
  /// the worker has taken that command.
  std::array<Slot<VerdictSlot>, kVerdictsMax> verdicts;
};
static_assert(alignof(HostSegment) == 4096, "more than a page is not what mmap promises");
static_assert(sizeof(HostSegment) == 512 * 1024);
static_assert(offsetof(HostSegment, command_tail) == 128);
static_assert(offsetof(HostSegment, report_head) == 256);
static_assert(offsetof(HostSegment, host_sleep) == 384);
static_assert(offsetof(HostSegment, host_beat_ns) == 512);
static_assert(offsetof(HostSegment, commands) == 4096);
static_assert(offsetof(HostSegment, slice_terms) == 69632);
static_assert(offsetof(HostSegment, topics) == 131072);
static_assert(offsetof(HostSegment, verdicts) == 393216);

/// W. Writer of every field but the header: the worker.
struct WorkerSegment {
  SegmentHeader header;  ///< writer: the host, before the worker is spawned
  /// Release after the slot and its arena entry are filled; pairs with the acquire in the host's
  /// RingReader.
  alignas(kLineGap) std::atomic<std::uint64_t> report_tail;
  /// Release after commands are copied out; pairs with the acquire in the host's RingWriter.
  alignas(kLineGap) std::atomic<std::uint64_t> command_head;
  /// Sleep count of the worker: odd while it sleeps or is about to (doorbell.hpp).
  alignas(kLineGap) std::atomic<std::uint32_t> worker_sleep;
  alignas(kLineGap) PulseBlock pulse;
  alignas(1024) CrashNoteBlock crash_note;
  alignas(2048) CounterBlock counters;
  alignas(4096) RingSlots<Report> reports;
  alignas(4096) std::array<Slot<ModuleEntry>, kModulesMax> modules;
  alignas(4096) Arena arena;
};
static_assert(alignof(WorkerSegment) == 4096);
static_assert(sizeof(WorkerSegment) == 1188 * 1024);
static_assert(offsetof(WorkerSegment, report_tail) == 128);
static_assert(offsetof(WorkerSegment, command_head) == 256);
static_assert(offsetof(WorkerSegment, worker_sleep) == 384);
static_assert(offsetof(WorkerSegment, pulse) == 512);
static_assert(offsetof(WorkerSegment, crash_note) == 1024);
static_assert(offsetof(WorkerSegment, counters) == 2048);
static_assert(offsetof(WorkerSegment, reports) == 4096);
static_assert(offsetof(WorkerSegment, modules) == 135168);
static_assert(offsetof(WorkerSegment, arena) == 167936);

}  // namespace sluice::ipc
