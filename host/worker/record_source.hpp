// Where a worker's records come from, as the task loop sees it: Kafka in production (kafka_source),
// blocks built by hand in tests, with holes, ends and faults. Virtual calls happen once per block
// of up to a thousand records, never per record.
//
// The facts that end a slice (slicer.md C4) come from here: records, end-of-partition offsets, the
// position. What they mean is partition_feed's business.
#pragma once

#include <sluice/abi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::worker {

/// Records of one partition in offset order, and the right to their memory: views stay valid, also
/// when the block is moved, until it is destroyed. Owns through a function pointer, so that a
/// source can recycle what is behind it without an allocation per block.
class Block {
 public:
  using Release = void (*)(void* owner) noexcept;

  Block() = default;
  Block(std::span<const sluice_record> records, std::uint64_t bytes, void* owner, Release release)
      : records_{records}, bytes_{bytes}, owner_{owner}, release_{release} {}
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block&& other) noexcept {
    Block taken{std::move(other)};
    swap(taken);
    return *this;
  }
  ~Block() {
    if (release_ != nullptr) release_(owner_);
  }

  std::span<const sluice_record> records() const { return records_; }
  bool empty() const { return records_.empty(); }
  /// Of keys, values and headers.
  std::uint64_t bytes() const { return bytes_; }

 private:
  void swap(Block& other) noexcept {
    std::swap(records_, other.records_);
    std::swap(bytes_, other.bytes_);
    std::swap(owner_, other.owner_);
    std::swap(release_, other.release_);
  }

  std::span<const sluice_record> records_;
  std::uint64_t bytes_ = 0;
  void* owner_ = nullptr;
  Release release_ = nullptr;
};

struct Fetched {
  Block block;
  /// End of partition, met after the block's records.
  std::optional<std::int64_t> eof_offset;
  /// The position is not in the log any more; nothing comes until refetch().
  bool expired = false;
  /// Nothing more is waiting; otherwise fetch again before sleeping.
  bool drained = true;
  /// What the broker says of this partition; it goes on trying.
  std::optional<Error> error;
};

class PartitionSource {
 public:
  virtual ~PartitionSource() = default;
  /// Never blocks. At most `records_max` records; after seek() none from before it.
  virtual Fetched fetch(std::size_t records_max) = 0;
  /// One past everything the log has shown, also past transaction markers and aborted records.
  virtual std::int64_t position() const = 0;
  /// The next fetch starts at `offset`; what was prefetched is dropped.
  virtual void seek(std::int64_t offset) = 0;
  /// The same by a new assignment: the cure for a fetch that makes no progress.
  virtual Result<> refetch(std::int64_t offset) = 0;
};

/// Something that the source says about itself and not about one partition.
struct SourceEvent {
  enum class Kind {
    Told,          ///< for the log
    Disconnected,  ///< a connection failed: what comes over it has to wait
    TooLarge,  ///< an answer above the client's receive limit: some partition stands still (B11)
    Fatal,     ///< the source is unusable: the worker must be started again
  };
  Kind kind = Kind::Told;
  std::string text;
  bool repeated = false;  ///< the log has had this kind within the last minute
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  virtual Result<PartitionSource*> open(std::string_view topic, std::uint32_t topic_index,
                                        std::int32_t partition, std::int64_t offset) = 0;
  virtual void close(PartitionSource& partition) = 0;
  /// Serves the source's own events; called a few times a second.
  virtual std::vector<SourceEvent> poll() = 0;
};

}  // namespace sluice::worker
