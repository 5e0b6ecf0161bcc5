#include "ipc/crash_note.hpp"

#include <algorithm>

#include "ipc/failure_text.hpp"
#include "ipc/layout.hpp"

namespace sluice::ipc {
namespace {

constexpr unsigned kModuleShift = 48;
constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kModuleShift) - 1;

template <typename Word>
Word read(const std::atomic<Word>& word) {
  return word.load(std::memory_order_relaxed);
}

std::string hexadecimal(const std::uint8_t* bytes, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 0xF];
  }
  return text;
}

CrashFrame read_frame(const WorkerSegment& segment, std::uint64_t packed) {
  CrashFrame frame;
  frame.offset = packed & kOffsetMask;
  const std::size_t index = packed >> kModuleShift;
  const std::size_t known =
      std::min<std::size_t>(read(segment.crash_note.module_count), kModulesMax);
  if (index >= known) return frame;
  const ModuleEntry copy = segment.modules[index].load();
  const std::size_t name_length = std::min<std::size_t>(copy.name_length, kModuleNameSize);
  const std::size_t id_length = std::min<std::size_t>(copy.build_id_length, kBuildIdSizeMax);
  frame.module = sanitized({copy.name.data(), name_length}, 0);
  frame.build_id = hexadecimal(copy.build_id.data(), id_length);
  return frame;
}

}  // namespace

std::optional<CrashNote> read_crash_note(const WorkerSegment& segment) {
  const CrashNoteBlock& block = segment.crash_note;
  // Pairs with the release stores of the handler: what it wrote before is there.
  const std::uint32_t state = block.state.load(std::memory_order_acquire);
  if (state == 0 || state > static_cast<std::uint32_t>(CrashState::Complete)) return std::nullopt;
  CrashNote note;
  note.state = static_cast<CrashState>(state);
  note.signal = read(block.signal);
  note.code = read(block.code);
  note.sender = read(block.sender);
  note.address = read(block.address);
  note.thread_id = read(block.thread);
  note.thread = read(block.on_task_thread) == 1 ? CrashThread::Task : CrashThread::Other;
  note.slice_id = read(block.slice_id);
  note.offset = read(block.offset);
  const std::uint32_t phase = read(block.phase);
  note.phase = phase <= kPhaseLast ? static_cast<Phase>(phase) : Phase::Idle;
  note.position = read(block.position);
  note.plugin_place = read(block.plugin_place);
  const std::size_t count = std::min<std::size_t>(read(block.frame_count), kCrashFramesMax);
  note.frames.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    note.frames.push_back(read_frame(segment, read(block.frames[i])));
  }
  return note;
}

}  // namespace sluice::ipc
