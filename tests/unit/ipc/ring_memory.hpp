// A ring over plain memory, without host, worker or descriptors. One mapping for both ends, so that
// ThreadSanitizer sees every access of both (over two mappings of one page it sees strangers).
// The test owns the memory; each end belongs to one thread.
#pragma once

#include <memory>

#include "ipc/spsc_ring.hpp"

namespace sluice::ipc::test {

template <typename Value>
struct RingMemory {
  explicit RingMemory(std::uint64_t start = 0) : writer_start{start} {
    tail.store(start);
    head.store(start);
  }
  RingWriter<Value> writer() { return {*slots, tail, head, writer_start}; }
  RingReader<Value> reader() { return {*slots, tail, head, writer_start}; }

  std::uint64_t writer_start;
  std::unique_ptr<RingSlots<Value>> slots = std::make_unique<RingSlots<Value>>();
  alignas(kLineGap) std::atomic<std::uint64_t> tail;
  alignas(kLineGap) std::atomic<std::uint64_t> head;
};

}  // namespace sluice::ipc::test
