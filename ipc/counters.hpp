// Running totals of one worker incarnation, for metrics and `sluice stat`. Written by the worker's
// task thread with relaxed stores, read by the host whenever it likes. Hints like the pulse: the
// host shows them as "reported by the worker" and lets none of them go back.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::ipc {

/// The order is part of the layout: append before Last_, at most kCounterWords.
enum class Counter : std::size_t {
  Records,  ///< read from Kafka
  Bytes,    ///< of their keys and values
  Out,      ///< records put into the sink
  Filtered,
  Errant,
  Batches,  ///< put or process calls
  Slices,   ///< taken from the command ring
  FlushGroups,
  Retries,       ///< calls repeated after RETRY
  Resets,        ///< rollbacks and re-creations of the chain
  Refetches,     ///< partitions re-opened because nothing moved (ipc facts 4.5)
  Nudges,        ///< wake-ups of librdkafka's prefetch (ipc facts 4.2)
  Sleeps,        ///< waits on the doorbell
  ReportStalls,  ///< times that the report ring was full
  LogLinesLost,
  DeadLetters,         ///< acknowledged by the dead letter topic
  DeadLetterFailures,  ///< refusals of dead letters, each attempt counted
  Last_,
};
inline constexpr std::size_t kCounterCount = static_cast<std::size_t>(Counter::Last_);
inline constexpr std::size_t kCounterWords = 64;
static_assert(kCounterCount <= kCounterWords);

std::string_view counter_name(Counter counter);

struct Counters {
  std::array<std::uint64_t, kCounterCount> values{};
  std::uint64_t operator[](Counter counter) const {
    return values[static_cast<std::size_t>(counter)];
  }
};

using CounterBlock = std::array<std::atomic<std::uint64_t>, kCounterWords>;

class CounterWriter {
 public:
  explicit CounterWriter(CounterBlock& block) : block_{&block} {}

  /// Load and store instead of a locked add: there is one writer.
  void add(Counter counter, std::uint64_t amount = 1) noexcept {
    auto& word = (*block_)[static_cast<std::size_t>(counter)];
    word.store(word.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

 private:
  CounterBlock* block_;
};

}  // namespace sluice::ipc
