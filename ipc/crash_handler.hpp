// Leaves a crash note (crash_note.hpp) when the worker dies of SIGSEGV, SIGBUS, SIGILL, SIGFPE,
// SIGABRT or SIGSYS, then lets the signal kill it as it would have. The handler runs on a stack of
// its own (a stack overflow is a crash too) and uses only lock-free stores, write(2) and the
// unwinder, which was loaded beforehand; a second fault inside it kills at once, with the note but
// no frames.
//
// Process-wide by nature: signal dispositions and the one static pointer the handler starts from.
// For the worker's main() only; the host has no handlers of this kind.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipc/error.hpp"
#include "ipc/worker_channel.hpp"

namespace sluice::ipc {

/// Once, on the task thread, before plugins are loaded. The channel must live as long as the
/// process.
Result<> install_crash_handler(WorkerChannel& channel);

/// Records the files loaded by now (path, build id), which frames are named after. To be called
/// again when plugins have been loaded.
void record_modules(WorkerChannel& channel);

/// The offsets of the records that the plugin has in hand, `stride` bytes apart: behind a filter or
/// a hole an offset is not the batch's first one plus an index. A note in phase PROCESS or PUT then
/// names the record's own offset, with position 0. Must stay readable while the phase lasts; task
/// thread only; three stores.
void hold_offsets(const std::int64_t* first, std::size_t stride, std::size_t count) noexcept;

}  // namespace sluice::ipc
