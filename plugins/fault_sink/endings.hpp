// The ways in which a plugin ends its process or never returns, as real plugins do it: real faults,
// real locks, real system calls. None of them returns, except take_memory() by exception. When one
// of them is due is fault_sink.cpp's.
#pragma once

#include <cstdint>
#include <functional>

namespace sluice::fault {

/// A real fault, not a raised signal: the crash note must show an address.
void crash();
/// Recursion until the guard page: the crash handler must have a stack of its own.
int overflow_stack(int depth);
/// As somebody else's kill -9 or the kernel's OOM killer would.
[[noreturn]] void die();
/// As an operator's kill -STOP, until somebody continues the process.
[[noreturn]] void stop_process();
/// Burns CPU.
[[noreturn]] void spin();
[[noreturn]] void sleep_for_ever();
/// In a system call that nobody answers: the read of a pipe.
[[noreturn]] void block();
/// Two threads, two locks, each has one and wants the other.
[[noreturn]] void deadlock();
/// The call never returns while another thread of the plugin goes on with `beat`.
[[noreturn]] void wait_beside(const std::function<void()>& beat);
/// Slowly enough that the host's sampling (100 ms) sees it pass the worker's limit; std::bad_alloc
/// at `bytes_max`.
[[noreturn]] void take_memory(std::uint64_t bytes_max);

}  // namespace sluice::fault
