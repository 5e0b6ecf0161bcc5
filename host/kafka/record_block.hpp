// The records of one fetch: librdkafka's messages and the sluice_record views onto them, filled in
// bulk, so that between the socket buffer and the plugin no payload byte is copied.
//
// A block owns its messages: the views are valid while it lives. A retained record keeps the whole
// Fetch answer it came with (up to 1 MB) in memory, so what a flush group holds is counted by the
// worker. The three arrays of a block are reused through the pool of its Reader: the steady state
// allocates nothing (headers excepted: librdkafka parses them into objects of its own, only where
// present). Blocks are made and destroyed on the Reader's thread and must not outlive it.
#pragma once

#include <sluice/abi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/kafka/handles.hpp"

namespace sluice::kafka {

class BlockPool;

class RecordBlock {
 public:
  RecordBlock() = default;
  RecordBlock(RecordBlock&&) noexcept = default;
  RecordBlock& operator=(RecordBlock&&) noexcept = default;

  std::span<const sluice_record> records() const;
  bool empty() const { return size() == 0; }
  std::size_t size() const;
  /// Keys, values, header names and values.
  std::uint64_t bytes() const;

  /// Requires: !empty().
  std::int64_t first_offset() const;
  std::int64_t last_offset() const;

  /// Records with an offset >= `offset` leave this block for the returned one (a slice's end: they
  /// are kept for the partition's next slice). Views of records that stay are untouched.
  RecordBlock split_at(std::int64_t offset);

 private:
  friend class BlockPool;
  struct Storage;
  struct Recycle {
    Recycle() noexcept : pool{nullptr} {}
    explicit Recycle(BlockPool* of) noexcept : pool{of} {}
    BlockPool* pool;
    void operator()(Storage* storage) const noexcept;
  };
  explicit RecordBlock(std::unique_ptr<Storage, Recycle> storage);

  std::unique_ptr<Storage, Recycle> storage_;
};

/// Arrays of destroyed blocks, waiting for the next fetch; and the one place that fills a block.
class BlockPool {
 public:
  BlockPool();
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// Takes ownership of `messages`, all of them records (err == 0) of one partition in offset
  /// order.
  RecordBlock make(std::span<rd_kafka_message_t* const> messages, std::uint32_t topic_index);

  /// Blocks that are in somebody's hands.
  std::size_t live() const { return live_; }

 private:
  friend class RecordBlock;
  using Storage = RecordBlock::Storage;
  std::unique_ptr<Storage, RecordBlock::Recycle> take();
  void give_back(Storage* storage) noexcept;

  std::vector<std::unique_ptr<Storage>> free_;
  std::size_t live_ = 0;
};

}  // namespace sluice::kafka
