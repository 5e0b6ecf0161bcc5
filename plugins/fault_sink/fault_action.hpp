// What the sink `fault` is told to do: a word, and for some a number or text after a colon. The
// words of cases/open.md (bad, again:N, throw, crash, half, hang, slow:MS, alloc), and those that
// the error table, the supervisor and the end of a flush group have cases for (lost:N, abort,
// exit:N, overflow, spin, block, deadlock, stuck, sigstop, config, kill, kill_flush, kill_flushed,
// crash_flush). Does not act: that is fault_sink.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::fault {

enum class Act {
  Nothing,
  Bad,          ///< fail the record; text: why, may be empty
  Again,        ///< RetriableError, number times, then fine
  Lost,         ///< NotConnected, number times, then fine
  Throw,        ///< std::runtime_error
  Config,       ///< ConfigError
  Crash,        ///< SIGSEGV
  Abort,        ///< SIGABRT
  Exit,         ///< _exit(number)
  Half,         ///< write half a line, then SIGKILL
  Kill,         ///< SIGKILL
  KillFlush,    ///< SIGKILL in the flush of this record, before it did anything
  KillFlushed,  ///< SIGKILL in the flush of this record, when all of it is durable
  CrashFlush,   ///< SIGSEGV in the flush of this record, before it did anything
  Overflow,     ///< recursion until SIGSEGV
  SigStop,      ///< SIGSTOP
  Hang,         ///< sleep for ever
  Block,        ///< a system call that never returns
  Deadlock,     ///< two threads that wait for each other's lock
  Stuck,        ///< never returns, while another thread of the plugin goes on
  Spin,         ///< burn CPU for ever
  Slow,         ///< sleep number milliseconds
  Alloc,        ///< take memory until killed, or until alloc.max
};

struct Action {
  Act act = Act::Nothing;
  std::int64_t number = 0;
  std::string text;
};

/// A word that is none is Nothing: most values of a test are just values. A word whose number is
/// not one is nullopt.
std::optional<Action> parse_action(std::string_view word);

}  // namespace sluice::fault
