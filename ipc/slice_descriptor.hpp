// What the host tells a worker: one 64-byte slot of the command ring, a slice descriptor in most
// cases. Plain integers only (no bool, enum, bit-field or size inside), so that every bit pattern
// is a value that can be copied first and judged afterwards. The writer's end fills seq and crc32c.
//
// Stop and Revoke take effect at the next *batch* boundary; everything else in ring order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::ipc {

/// The values are part of the layout: append only. What each kind uses is said beside it.
enum class CommandKind : std::uint16_t {
  Slice = 1,  ///< run [start, end) of topic/partition
  Topic,      ///< topic table entry `topic` may be read from now on; of a known one: its
              ///< incarnation is `epoch` from now on
  Filter,     ///< defines key filter `filter` (a lane's): start = its function, end = its counts
  Revoke,     ///< give back topic/partition; slices with a fence up to `fence` are returned
  Control,    ///< set the position of keyed state and transactional sink of topic/partition to
              ///< `start`
  Stop,       ///< finish or return everything, then exit 0
};
inline constexpr std::uint16_t kCommandKindLast = static_cast<std::uint16_t>(CommandKind::Stop);

/// Bits of Command::flags.
enum CommandFlag : std::uint32_t {
  kDeadLetterOnly = 1U << 0,  ///< fetch, write to the dead letter topic, call no plugin; `filter`
                              ///< is the entry of the reason (verdict.hpp)
  kStateOnly = 1U << 1,       ///< processors run, their outputs are dropped
  kProbe = 1U << 2,           ///< isolation run: put, never flushed, and forgotten; plugins see the
                              ///< slice of its terms (slice_terms.hpp)
  kRecovered = 1U << 3,       ///< replay of a parked range: positions do not move
  kStable = 1U << 4,          ///< must run as it is: released only at its start
  kAlone = 1U << 5,           ///< a suspect: flush before it, run it as a group of its own
  kCompare = 1U << 6,         ///< [o, o+1): only say which record is there (last_offset -1: none);
                              ///< no plugin sees it
  kExclude = 1U << 7,         ///< without the records that its terms name (slice_terms.hpp)
};

struct Command {
  std::uint64_t seq = 0;
  std::uint64_t slice_id = 0;
  std::uint32_t fence = 0;  ///< ownership number of (partition, lane); echoed by every report
  std::uint16_t kind = 0;   ///< CommandKind
  std::uint16_t topic = 0;  ///< index in the job's topic table
  std::int32_t partition = 0;
  std::uint32_t attempt = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;  ///< exclusive
  std::uint32_t epoch = 0;
  std::uint16_t lane = 0;
  std::uint16_t filter = 0;
  std::uint32_t flags = 0;  ///< CommandFlag bits; unknown bits are ignored
  std::uint32_t crc32c = 0;
};

static_assert(sizeof(Command) == 64 && offsetof(Command, crc32c) == 60);
static_assert(offsetof(Command, kind) == 20 && offsetof(Command, start) == 32);
static_assert(std::is_trivially_copyable_v<Command> && std::is_standard_layout_v<Command>);

}  // namespace sluice::ipc
