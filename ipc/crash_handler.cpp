#include "ipc/crash_handler.hpp"

#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

namespace sluice::ipc {
namespace {

constexpr std::array kCrashSignals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
constexpr std::size_t kHandlerStackSize = 128U << 10U;  // the unwinder takes about 10 KiB of it
constexpr int kHandlerFramesMax = 8;                    // the handler's own, cut off again

struct ModuleRange {
  std::uint64_t base;
  std::uint64_t begin;
  std::uint64_t end;
};

// What the handler starts from. Static because a signal handler has no other way to find anything.
struct HandlerState {
  WorkerSegment* segment = nullptr;
  int doorbell_to_host = -1;
  pid_t task_thread = 0;
  std::array<ModuleRange, kModulesMax> modules{};
  std::atomic<std::size_t> module_count{0};
  std::atomic<bool> noting{false};
  std::atomic<const std::int64_t*> offsets{nullptr};
  std::atomic<std::size_t> offsets_stride{0};
  std::atomic<std::size_t> offsets_count{0};
};
HandlerState handler_state;

template <typename Word, typename Value>
void set(std::atomic<Word>& word, Value value) {
  word.store(static_cast<Word>(value), std::memory_order_relaxed);
}

template <typename Word>
Word get(const std::atomic<Word>& word) {
  return word.load(std::memory_order_relaxed);
}

// The two registers that an unwinder starts from, in the interrupted thread's saved context.
struct Registers {
#if defined(__x86_64__)
  explicit Registers(mcontext_t& machine)
      : counter{machine.gregs[REG_RIP]}, stack{machine.gregs[REG_RSP]} {}
  greg_t& counter;
  greg_t& stack;
#elif defined(__aarch64__)
  explicit Registers(mcontext_t& machine) : counter{machine.pc}, link{machine.regs[30]} {}
  decltype(mcontext_t::pc)& counter;
  decltype(mcontext_t::pc)& link;
#else
#error "the crash note knows x86-64 and aarch64"
#endif
};

// Whether 8 bytes can be read without a fault: rt_sigprocmask copies its argument (EFAULT if it
// cannot) before it refuses the operation (EINVAL). No descriptor, no lock, safe in a handler.
bool is_readable(std::uint64_t address) {
  constexpr int kNoOperation = ~0;
  constexpr std::size_t kKernelSetSize = 8;
  ::syscall(SYS_rt_sigprocmask, kNoOperation, address, nullptr, kKernelSetSize);
  return errno != EFAULT;
}

// After a call through a wild pointer the program counter itself is nowhere, and the unwinder would
// fault looking at it. The caller is what matters: go on as if the call had returned already.
// False if there is no caller that makes sense.
bool step_back_to_caller(Registers& registers) {
#if defined(__x86_64__)
  const auto stack = static_cast<std::uint64_t>(registers.stack);
  if (!is_readable(stack)) return false;
  std::uint64_t caller = 0;
  std::memcpy(&caller, reinterpret_cast<const void*>(stack), sizeof caller);
  if (!is_readable(caller)) return false;
  registers.counter = static_cast<greg_t>(caller);
  registers.stack += static_cast<greg_t>(sizeof caller);
#elif defined(__aarch64__)
  if (!is_readable(registers.link)) return false;
  registers.counter = registers.link;
#endif
  return true;
}

std::uint64_t pack_frame(std::uint64_t address) {
  constexpr unsigned kModuleShift = 48;
  const std::size_t count = handler_state.module_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const ModuleRange& module = handler_state.modules[i];
    if (address >= module.begin && address < module.end) {
      return (std::uint64_t{i} << kModuleShift) | (address - module.base);
    }
  }
  return (std::uint64_t{kNoModule} << kModuleShift) | (address << 16 >> 16);
}

// The record's own offset in place of the batch's first and an index, where it can be looked up.
void note_record(CrashNoteBlock& note) {
  const auto phase = static_cast<Phase>(get(note.phase));
  const std::size_t position = get(note.position);
  if (phase != Phase::Process && phase != Phase::Put) return;
  if (position >= get(handler_state.offsets_count)) return;
  const auto address = reinterpret_cast<std::uint64_t>(get(handler_state.offsets)) +
                       position * get(handler_state.offsets_stride);
  if (!is_readable(address)) return;
  std::int64_t offset = 0;
  std::memcpy(&offset, reinterpret_cast<const void*>(address), sizeof offset);
  if (offset < get(note.offset)) return;
  set(note.offset, offset);
  set(note.position, 0);
}

void note_signal(CrashNoteBlock& note, const PulseBlock& pulse, int signal, const siginfo_t& info) {
  const bool sent = info.si_code <= 0;  // SI_USER, SI_TKILL, SI_QUEUE: by a process, not a fault
  set(note.signal, signal);
  set(note.code, info.si_code);
  set(note.sender, sent ? info.si_pid : 0);
  set(note.address, sent ? 0 : reinterpret_cast<std::uint64_t>(info.si_addr));
  const pid_t thread = ::gettid();
  set(note.thread, thread);
  set(note.on_task_thread, thread == handler_state.task_thread ? 1 : 0);
  set(note.slice_id, get(pulse.slice_id));
  set(note.offset, get(pulse.offset));
  set(note.phase, get(pulse.phase));
  set(note.position, get(pulse.position));
  set(note.plugin_place, get(pulse.plugin_place));
  note_record(note);
  // Pairs with the acquire in read_crash_note.
  note.state.store(static_cast<std::uint32_t>(CrashState::Signalled), std::memory_order_release);
}

// The interrupted instruction first, alone: it stands even if the unwinder faults.
void note_frames(CrashNoteBlock& note, Registers registers) {
  const auto culprit = static_cast<std::uint64_t>(registers.counter);
  std::size_t count = 0;
  set(note.frames[count++], pack_frame(culprit));
  set(note.frame_count, count);
  const bool nowhere = !is_readable(culprit);
  if (!nowhere || step_back_to_caller(registers)) {
    const auto from = static_cast<std::uint64_t>(registers.counter);
    void* frames[kCrashFramesMax + kHandlerFramesMax];
    const int found = ::backtrace(frames, kCrashFramesMax + kHandlerFramesMax);
    int next = 0;  // the frames above the interrupted one are this handler's
    while (next < found && reinterpret_cast<std::uint64_t>(frames[next]) != from) ++next;
    if (!nowhere) ++next;
    for (; next < found && count < kCrashFramesMax; ++next) {
      set(note.frames[count++], pack_frame(reinterpret_cast<std::uint64_t>(frames[next])));
    }
  }
  set(note.frame_count, count);
  note.state.store(static_cast<std::uint32_t>(CrashState::Complete), std::memory_order_release);
}

void die_of(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);  // blocked in here: it kills when the handler returns
}

void on_crash(int signal, siginfo_t* info, void* context) {
  if (handler_state.noting.exchange(true)) {
    // Another thread is writing the note and ends the process; do not cut it short.
    constexpr timespec kPatience{0, 200'000'000};
    ::nanosleep(&kPatience, nullptr);
    return die_of(signal);
  }
  WorkerSegment& segment = *handler_state.segment;
  note_signal(segment.crash_note, segment.pulse, signal, *info);
  Doorbell::ring_fd(handler_state.doorbell_to_host);
  note_frames(segment.crash_note, Registers{static_cast<ucontext_t*>(context)->uc_mcontext});
  die_of(signal);
}

// A guard page below it: an overflow of this stack must not eat the heap.
Result<> set_handler_stack() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, page + kHandlerStackSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return system_error("map a stack for the crash handler", errno);
  ::mprotect(memory, page, PROT_NONE);
  stack_t stack{};
  stack.ss_sp = static_cast<char*>(memory) + page;
  stack.ss_size = kHandlerStackSize;
  if (::sigaltstack(&stack, nullptr) != 0) {
    return system_error("set the stack of the crash handler", errno);
  }
  return {};
}

void copy_name(ModuleEntry& entry, std::string_view path) {
  const std::string_view kept =
      path.size() > kModuleNameSize ? path.substr(path.size() - kModuleNameSize) : path;
  entry.name_length = static_cast<std::uint16_t>(kept.size());
  std::copy(kept.begin(), kept.end(), entry.name.begin());
}

// Notes are {name size, descriptor size, type}, name and descriptor, each padded to 4 bytes.
void copy_build_id(ModuleEntry& entry, const char* notes, std::size_t size) {
  constexpr auto padded = [](std::size_t length) { return (length + 3) & ~std::size_t{3}; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t total = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (total > size) return;
    const char* const name = notes + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      const std::size_t length = std::min<std::size_t>(note.n_descsz, kBuildIdSizeMax);
      entry.build_id_length = static_cast<std::uint16_t>(length);
      std::memcpy(entry.build_id.data(), name + padded(note.n_namesz), length);
      return;
    }
    notes += total;
    size -= total;
  }
}

int record_module(dl_phdr_info* info, std::size_t, void* context) {
  auto& segment = *static_cast<WorkerSegment*>(context);
  const std::size_t index = get(segment.crash_note.module_count);
  if (index == kModulesMax) return 1;
  ModuleRange range{info->dlpi_addr, UINT64_MAX, 0};
  ModuleEntry entry{};
  for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD) {
      range.begin = std::min<std::uint64_t>(range.begin, begin);
      range.end = std::max<std::uint64_t>(range.end, begin + header.p_memsz);
    } else if (header.p_type == PT_NOTE && entry.build_id_length == 0) {
      copy_build_id(entry, reinterpret_cast<const char*>(begin), header.p_memsz);
    }
  }
  char executable[PATH_MAX];
  if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
    copy_name(entry, info->dlpi_name);
  } else if (const ssize_t size = ::readlink("/proc/self/exe", executable, sizeof executable);
             size > 0) {
    copy_name(entry, {executable, static_cast<std::size_t>(size)});
  }
  segment.modules[index].store(entry);
  handler_state.modules[index] = range;
  set(segment.crash_note.module_count, index + 1);
  return 0;
}

}  // namespace

void record_modules(WorkerChannel& channel) {
  WorkerSegment& segment = *channel.worker_segment_;
  handler_state.module_count.store(0, std::memory_order_release);
  set(segment.crash_note.module_count, 0);
  ::dl_iterate_phdr(record_module, &segment);
  handler_state.module_count.store(get(segment.crash_note.module_count), std::memory_order_release);
}

Result<> install_crash_handler(WorkerChannel& channel) {
  handler_state.segment = channel.worker_segment_.get();
  handler_state.doorbell_to_host = channel.doorbell_to_host_.fd();
  handler_state.task_thread = ::gettid();
  record_modules(channel);
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // its first call loads the unwinder, which allocates
  if (auto stack = set_handler_stack(); !stack) return stack.error();
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigfillset(&action.sa_mask);  // a second fault inside the handler kills at once
  for (const int signal : kCrashSignals) {
    if (::sigaction(signal, &action, nullptr) != 0) {
      return system_error("install the crash handler", errno);
    }
  }
  return {};
}

void hold_offsets(const std::int64_t* first, std::size_t stride, std::size_t count) noexcept {
  // The count last, and 0 in between: a signal must not find a count of one batch and the offsets
  // of another.
  handler_state.offsets_count.store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  handler_state.offsets.store(first, std::memory_order_relaxed);
  handler_state.offsets_stride.store(stride, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  handler_state.offsets_count.store(count, std::memory_order_relaxed);
}

}  // namespace sluice::ipc
