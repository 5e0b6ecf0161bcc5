// The last words of a worker: its signal handler leaves signal, phase, plugin, slice, offset and up
// to 32 frames in the worker's segment and rings the host's doorbell, 50-70 us after the fault
// whatever the size of the process; the kernel's own notice (pidfd) comes after its memory is torn
// down, 8-50 ms later, seconds later with a core file. So a note starts the replacement, and only
// the reaped process moves slices (ipc facts 0.4, 3.6).
//
// The host reads a note as a hint from a process that has just gone wrong: every count is clamped,
// every name made printable. It may be read again after the reap, when the frames are complete.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ipc/pulse.hpp"

namespace sluice::ipc {

inline constexpr std::size_t kCrashFramesMax = 32;
inline constexpr std::size_t kModulesMax = 128;
inline constexpr std::size_t kModuleNameSize = 216;
inline constexpr std::size_t kBuildIdSizeMax = 32;

enum class CrashState : std::uint32_t {
  None,
  Signalled,  ///< everything but the frames is there, of those perhaps the first
  Complete,
};

/// The words in the worker's segment. Written once, by the worker's signal handler.
struct CrashNoteBlock {
  std::atomic<std::uint32_t> state;  ///< CrashState; stored last with release
  std::atomic<std::int32_t> signal;
  std::atomic<std::int32_t> code;      ///< si_code
  std::atomic<std::int32_t> sender;    ///< pid for a signal that was sent, 0 for a fault
  std::atomic<std::uint64_t> address;  ///< si_addr of a fault, 0 for a signal that was sent
  std::atomic<std::uint32_t> thread;
  std::atomic<std::uint32_t> on_task_thread;
  std::atomic<std::uint64_t> slice_id;
  std::atomic<std::int64_t> offset;
  std::atomic<std::uint32_t> phase;
  std::atomic<std::uint32_t> position;
  std::atomic<std::uint32_t> frame_count;
  std::atomic<std::uint32_t> module_count;
  /// Module index in the upper 16 bits, offset from its load address in the lower 48; index
  /// kNoModule: the lower 48 bits are an address in no known module.
  std::array<std::atomic<std::uint64_t>, kCrashFramesMax> frames;
  std::atomic<std::uint32_t> plugin_place;  ///< since layout 1.2; before it always 0
  std::uint32_t reserved;
};
static_assert(sizeof(CrashNoteBlock) == 328);
inline constexpr std::uint16_t kNoModule = 0xffff;

/// One loaded file of the worker, recorded before anything can crash (crash_handler.hpp).
struct ModuleEntry {
  std::uint16_t name_length;
  std::uint16_t build_id_length;
  std::uint32_t reserved;
  std::array<std::uint8_t, kBuildIdSizeMax> build_id;
  std::array<char, kModuleNameSize> name;  ///< the end of the path if it is too long
};
static_assert(sizeof(ModuleEntry) == 256);

struct CrashFrame {
  std::string module;    ///< path of the file, empty when the address is in none
  std::string build_id;  ///< hexadecimal
  std::uint64_t offset = 0;
};

/// Who runs the code of the fault: only a fault of the task thread can blame a record (F2).
enum class CrashThread { Task, Other };

struct CrashNote {
  CrashState state = CrashState::None;
  int signal = 0;
  int code = 0;
  int sender = 0;
  std::uint64_t address = 0;
  std::uint32_t thread_id = 0;
  CrashThread thread = CrashThread::Other;
  std::uint64_t slice_id = 0;
  std::int64_t offset = 0;
  Phase phase = Phase::Idle;
  std::uint32_t position = 0;
  std::uint32_t plugin_place = 0;  ///< as Pulse's
  std::vector<CrashFrame> frames;
};

struct WorkerSegment;

/// The note in `segment`, if its worker left one.
std::optional<CrashNote> read_crash_note(const WorkerSegment& segment);

}  // namespace sluice::ipc
