// A worker's reads: exactly the ranges it was given, at the speed of a bare librdkafka consumer.
//
// A Reader is one consumer without a group membership. Each open partition keeps its own queue and
// stays assigned from slice to slice, so librdkafka prefetches across the border and the next
// slice's first record waits for nothing (facts 4.3). Nothing here blocks: when no queue has
// anything, the worker sleeps on wake_fd(). Slices, their ends (slicer.md C4) and back-off are the
// worker's; here are the four facts that end a slice: records, EOF, position, and what only looks
// like an end (expired). All calls from one thread. PartitionReaders and blocks must be gone before
// their Reader.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"
#include "host/kafka/client_event.hpp"
#include "host/kafka/event_fd.hpp"
#include "host/kafka/handles.hpp"
#include "host/kafka/nudge.hpp"
#include "host/kafka/properties.hpp"
#include "host/kafka/record_block.hpp"

namespace sluice::kafka {

/// The worker configuration of facts 4.1 (without bootstrap.servers); overrides come after it.
Properties reader_defaults();

enum class Nudge {
  WhenNeeded,  ///< only where the library has the stall (2.0 and 2.1: no fetch.queue.backoff.ms)
  Never,       ///< to measure the stall
};

struct ReaderOptions {
  std::string group = "sluice";  ///< group.id: asked for by assign(), never joined
  Nudge nudge = Nudge::WhenNeeded;
};

struct FetchResult {
  RecordBlock block;
  /// A PARTITION_EOF that arrived in this fetch, after the block's records. The latest one is kept:
  /// PartitionReader::eof_offset().
  std::optional<std::int64_t> eof_offset;
  /// The position is outside the log. The partition stands still until seek() or refetch(); only
  /// the host's own ListOffsets may turn this into a verdict (slicer.md C3).
  bool expired = false;
  /// The queue was empty after this fetch. Otherwise fetch again before sleeping on wake_fd().
  bool drained = true;
  /// What the broker or the library said of this partition (topic unknown, no right to read, a
  /// record set that fails its checksum). Records after a damaged record set are not handed out.
  std::optional<Error> error;
};

class Reader;

class PartitionReader {
 public:
  ~PartitionReader();
  PartitionReader(const PartitionReader&) = delete;
  PartitionReader& operator=(const PartitionReader&) = delete;

  /// Never blocks. At most `records_max` records of this partition, in offset order; after a seek
  /// none from before it.
  FetchResult fetch(std::size_t records_max);

  /// One past everything the log has shown up to now, also past transaction markers and aborted
  /// records (C4: a slice whose end is <= this is done). The offset of open() or seek() until then.
  std::int64_t position() const;
  /// The latest PARTITION_EOF since open() or seek(): librdkafka says it once per position, so it
  /// belongs to the partition and not to a slice.
  std::optional<std::int64_t> eof_offset() const { return eof_offset_; }
  /// Where the prefetch queue stands: records waiting inside librdkafka.
  std::size_t queued() const;

  /// The next fetch starts at `offset`; what was prefetched is dropped.
  Result<> seek(std::int64_t offset);
  /// The same by a new assignment: the cure for a fetch that makes no progress (facts 4.5).
  Result<> refetch(std::int64_t offset);

  const std::string& topic() const { return topic_; }
  std::uint32_t topic_index() const { return topic_index_; }
  std::int32_t partition() const { return partition_; }

 private:
  friend class Reader;
  enum class Handing { On, Again };

  PartitionReader(Reader& reader, std::string topic, std::uint32_t topic_index,
                  std::int32_t partition);

  Result<> attach();
  Result<> assign(std::int64_t offset);
  void unassign();
  void restart_at(std::int64_t offset);
  void discard_queued();
  void again_at(std::int64_t offset, FetchResult& result);
  Handing take_event(const rd_kafka_message_t& event, FetchResult& result);
  std::int64_t library_position() const;

  Reader& reader_;
  std::string topic_;
  std::uint32_t topic_index_;
  std::int32_t partition_;
  Handle<rd_kafka_queue_t> queue_;
  Handle<rd_kafka_topic_partition_list_t> self_;  ///< this partition as a list, for library calls
  std::int64_t start_offset_ = 0;                 ///< of the last open, seek or refetch
  std::int64_t next_offset_ = 0;                  ///< one past the last record handed out
  std::optional<std::int64_t> eof_offset_;
  std::int64_t stale_position_ = 0;  ///< the library's answer from before the last seek
  bool position_is_stale_ = false;
  bool is_starting_ = false;  ///< nothing has come since the last open, seek or refetch
  bool stopped_ = false;      ///< expired: only a new assignment starts it again
};

class Reader {
 public:
  static Result<std::unique_ptr<Reader>> create(const Properties& overrides, ReaderOptions options);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// An eventfd: readable when a queue that was empty has got something. After it fired: woken(),
  /// then fetch every open partition that has work until it is drained.
  int wake_fd() const { return wake_.fd(); }
  void woken() { wake_.clear(); }

  /// Requires: offset >= 0, and this partition is not open.
  Result<PartitionReader*> open(std::string_view topic, std::uint32_t topic_index,
                                std::int32_t partition, std::int64_t offset);
  void close(PartitionReader& partition);

  /// A broker's thread may sleep for up to a second although there is something to fetch (facts
  /// 4.2): a partition has begun anew and nothing has come of it, or the last nudge was too close
  /// to the one before. Whoever waits for wake_fd() then waits kStallWait at most, and nudges when
  /// nothing came.
  bool may_stall() const;
  static constexpr std::chrono::milliseconds kStallWait{3};
  void nudge();

  /// Serves the client's own events and stray operations; call it now and then (100 ms).
  void poll();
  ClientEvents take_client_events();

 private:
  friend class PartitionReader;
  Reader() = default;

  static void on_error(rd_kafka_t* client, int error, const char* reason, void* opaque);
  Result<> connect(const Properties& properties);
  Result<> keep_topic(const std::string& topic);
  void await_stop();
  void nudge_if_low(std::size_t queued, const RecordBlock& last_block);

  EventFd wake_;  ///< outlives the queues that write to it
  Handle<rd_kafka_t> client_;
  Handle<rd_kafka_queue_t> client_queue_;
  Handle<rd_kafka_queue_t> log_queue_;
  std::map<std::string, Handle<rd_kafka_topic_t>, std::less<>> topics_;
  std::vector<std::unique_ptr<PartitionReader>> partitions_;
  std::vector<rd_kafka_message_t*> arrivals_;  ///< scratch of fetch()
  FetchResult* serving_ = nullptr;             ///< whose queue is being read
  BlockPool pool_;
  ClientEvents events_;
  bool nudges_ = false;
  std::uint64_t queue_records_max_ = 0;  ///< queued.min.messages
  std::uint64_t queue_bytes_max_ = 0;    ///< queued.max.messages.kbytes
  SaslCredentials credentials_;
  std::chrono::steady_clock::time_point last_nudge_{};
  bool owes_nudge_ = false;
  std::size_t starting_ = 0;  ///< partitions that are
  std::chrono::steady_clock::time_point last_start_{};
};

}  // namespace sluice::kafka
