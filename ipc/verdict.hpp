// Why a record is set aside without a plugin seeing it again (slicer.md F3): what a command with
// kDeadLetterOnly cannot carry in its 64 bytes. The host writes a verdict into an entry of H before
// it publishes the command, whose `filter` is the entry's number (a lane's filter has nothing to
// say about one known record); the worker copies it when it takes the command.
//
// Texts are cut to fit. The reader is the worker, which trusts the host: lengths are bounded, and
// nothing else is checked. A plain value.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ipc/failure_text.hpp"

namespace sluice::ipc {

/// More than a host may ever have published and the worker not taken.
inline constexpr std::size_t kVerdictsMax = 128;

struct Verdict {
  /// plugin: its alias; stage: CRASH, HANG or the failed call (put, flush, process); message: what
  /// is known: the plugin's words, or signal and frames.
  FailureText text;
  std::uint32_t worker_slot = 0;
  std::int32_t worker_pid = 0;  ///< of the one that died; 0: not known, or none did
  std::int32_t signal = 0;
  std::string plugin_sha256;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// A verdict as it lies in H. Plain integers and bytes, as in slice_descriptor.hpp.
struct VerdictSlot {
  std::uint32_t worker_slot = 0;
  std::int32_t worker_pid = 0;
  std::int32_t signal = 0;
  std::uint32_t text_size = 0;
  std::array<char, 64> plugin_sha256{};  ///< hex digits; zeros: unknown
  std::array<char, 944> text{};          ///< as encode_failure_text
};
static_assert(sizeof(VerdictSlot) == 1024);

VerdictSlot encode_verdict(const Verdict& verdict);
Verdict decode_verdict(const VerdictSlot& slot);

}  // namespace sluice::ipc
