// What a worker says it is doing: a few relaxed stores per batch by the worker, relaxed loads by
// the host whenever it likes. The host judges liveness from it and, after a death, whom to blame:
// phase, slice, offset and position then name the record (slicer.md F1, F3), plugin_place whose
// code it was.
//
// It is a hint, never a proof: no offset moves because of it. Fields are single words, not a
// snapshot; while the worker runs a reader may see a new slice with an old offset. After a death
// nothing changes any more and the last stores stand.
// One writer thread (the task thread), except keep_alive(), which any thread may call.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::ipc {

enum class Phase : std::uint32_t { Idle, Start, Fetch, Wait, Process, Put, Flush, State, Stop };
inline constexpr std::uint32_t kPhaseLast = static_cast<std::uint32_t>(Phase::Stop);

std::string_view phase_name(Phase phase);

/// As the host reads it: clamped, see HostChannel::pulse.
struct Pulse {
  std::uint64_t loops = 0;  ///< turns of the worker's loop; the heartbeat
  std::uint64_t slice_id = 0;
  std::int64_t offset = 0;  ///< first offset of the batch in hand
  Phase phase = Phase::Idle;
  std::uint32_t position = 0;      ///< index in the batch of the record in the plugin's hands
  std::uint32_t plugin_place = 0;  ///< of the plugin called last: 1 for the chain's first; 0: none
  std::uint64_t phase_since_ns = 0;  ///< CLOCK_MONOTONIC_COARSE
  std::uint64_t deadline_extended_ns =
      0;  ///< last keep_alive(); a deadline counts from the later one
};

/// The words in the worker's segment. Written by the worker alone.
struct PulseBlock {
  std::atomic<std::uint64_t> loops;
  std::atomic<std::uint64_t> slice_id;
  std::atomic<std::int64_t> offset;
  std::atomic<std::uint32_t> phase;
  std::atomic<std::uint32_t> position;
  std::atomic<std::uint64_t> phase_since_ns;
  std::atomic<std::uint64_t> deadline_extended_ns;
  std::atomic<std::uint32_t> plugin_place;  ///< since layout 1.2; before it always 0
  std::uint32_t reserved;
};
static_assert(sizeof(PulseBlock) == 56);

/// CLOCK_MONOTONIC_COARSE: 11 ns against 36 for the fine clock, and 4 ms are enough here.
inline std::uint64_t coarse_now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class PulseWriter {
 public:
  explicit PulseWriter(PulseBlock& block) : block_{&block} {}

  /// One turn of the worker's loop.
  void beat() noexcept { block_->loops.store(++loops_, std::memory_order_relaxed); }

  /// The same slice and offset go on in another phase.
  void enter(Phase phase) noexcept {
    block_->phase_since_ns.store(coarse_now_ns(), std::memory_order_relaxed);
    block_->phase.store(static_cast<std::uint32_t>(phase), std::memory_order_relaxed);
  }

  /// A batch that begins at `offset` of `slice_id` enters `phase`. The phase is stored last: a
  /// death in between blames the phase before, never a record that the plugin has not seen.
  void enter(Phase phase, std::uint64_t slice_id, std::int64_t offset) noexcept {
    block_->slice_id.store(slice_id, std::memory_order_relaxed);
    block_->offset.store(offset, std::memory_order_relaxed);
    block_->position.store(0, std::memory_order_relaxed);
    enter(phase);
  }

  /// The next call is into the plugin at `index` of the chain.
  void call_into(std::size_t index) noexcept {
    block_->plugin_place.store(static_cast<std::uint32_t>(index) + 1, std::memory_order_relaxed);
  }

  /// [any-thread] The deadline of the running call counts from now.
  void keep_alive() noexcept {
    block_->deadline_extended_ns.store(coarse_now_ns(), std::memory_order_relaxed);
  }

  /// The word behind sluice_host::position: plugins store a record's index with one plain store.
  std::uint32_t* position_word() noexcept {
    return reinterpret_cast<std::uint32_t*>(&block_->position);
  }

 private:
  PulseBlock* block_;
  std::uint64_t loops_ = 0;
};

}  // namespace sluice::ipc
