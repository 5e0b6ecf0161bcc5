// Logs built by hand for the task loop: holes, ends, markers and faults where a test wants them.
// Each of the facts that end a slice (slicer.md C4) can be taken away, to show that the others
// suffice. Counts its blocks, so that a test sees what is kept in memory.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/worker/record_source.hpp"

namespace sluice::worker::fixture {

struct FakeLog {
  std::int64_t low = 0;
  std::int64_t high = 0;  ///< log end; offsets without a record are holes
  std::map<std::int64_t, std::string> values;

  bool is_silent = false;      ///< fetches bring nothing at all, as with a broker that is away
  bool tells_eof = true;       ///< PARTITION_EOF events
  bool tells_position = true;  ///< position() moves over holes at the end
  std::size_t block_records = 1000;
  std::optional<std::string> error;       ///< told with the next fetch
  std::optional<std::string> open_error;  ///< open() fails with it

  void append(std::size_t count, const std::string& value = "v") {
    for (std::size_t i = 0; i < count; ++i) values[high++] = value;
  }
  void append_holes(std::int64_t count) { high += count; }
};

class FakeSource final : public RecordSource {
 public:
  FakeLog& log(std::int32_t partition) { return logs_[partition]; }
  /// "open 0@5", "seek 0@7", "refetch 0@7", "close 0": what costs something.
  std::vector<std::string> moves;
  std::vector<SourceEvent> events;
  std::size_t live_blocks = 0;

  Result<PartitionSource*> open(std::string_view, std::uint32_t topic_index, std::int32_t partition,
                                std::int64_t offset) override {
    FakeLog& log = logs_[partition];
    if (log.open_error) return Error{ErrorCode::Kafka, *log.open_error};
    note("open", partition, offset);
    partitions_.push_back(std::make_unique<Partition>(*this, log, topic_index, partition, offset));
    return partitions_.back().get();
  }
  void close(PartitionSource& partition) override {
    const auto at = std::find_if(partitions_.begin(), partitions_.end(),
                                 [&](const auto& open) { return open.get() == &partition; });
    moves.push_back("close " + std::to_string((*at)->partition));
    partitions_.erase(at);
  }
  std::vector<SourceEvent> poll() override { return std::exchange(events, {}); }

 private:
  struct Storage {
    FakeSource* source;
    std::vector<sluice_record> records;
    std::vector<std::string> values;
  };

  struct Partition final : PartitionSource {
    Partition(FakeSource& source_, FakeLog& log_, std::uint32_t topic_, std::int32_t partition_,
              std::int64_t offset)
        : source{source_}, log{log_}, topic{topic_}, partition{partition_}, next{offset} {}

    Fetched fetch(std::size_t records_max) override {
      Fetched fetched;
      if (log.error) fetched.error = Error{ErrorCode::Kafka, *std::exchange(log.error, {})};
      if (log.is_silent) return fetched;
      if (next < log.low || next > log.high) {
        fetched.expired = true;
        return fetched;
      }
      auto storage = std::make_unique<Storage>();
      storage->source = &source;
      auto at = log.values.lower_bound(next);
      const std::size_t count_max = std::min(records_max, log.block_records);
      for (; at != log.values.end() && storage->values.size() < count_max; ++at) {
        storage->values.push_back(at->second);
        storage->records.push_back({});
        storage->records.back().offset = at->first;
        storage->records.back().timestamp_ms = at->first * 10;
        storage->records.back().topic_index = topic;
        storage->records.back().partition = partition;
      }
      if (!storage->records.empty()) next = storage->records.back().offset + 1;
      fetched.drained = at == log.values.end();
      if (fetched.drained && log.tells_eof && eof_told != log.high) {
        next = log.high;
        eof_told = log.high;
        fetched.eof_offset = log.high;
      }
      if (!storage->records.empty()) fetched.block = block_of(std::move(storage));
      return fetched;
    }
    std::int64_t position() const override {
      const bool at_end = log.values.lower_bound(next) == log.values.end();
      return log.tells_position && at_end && !log.is_silent ? std::max(next, log.high) : next;
    }
    void seek(std::int64_t offset) override {
      source.note("seek", partition, offset);
      restart(offset);
    }
    Result<> refetch(std::int64_t offset) override {
      source.note("refetch", partition, offset);
      restart(offset);
      return {};
    }
    void restart(std::int64_t offset) {
      next = offset;
      eof_told = -1;
    }

    static Block block_of(std::unique_ptr<Storage> storage) {
      std::uint64_t bytes = 0;
      for (std::size_t i = 0; i < storage->records.size(); ++i) {
        storage->records[i].value = {storage->values[i].data(), storage->values[i].size()};
        bytes += storage->values[i].size();
      }
      Storage* owner = storage.release();
      ++owner->source->live_blocks;
      return Block{owner->records, bytes, owner, [](void* used) noexcept {
                     auto* freed = static_cast<Storage*>(used);
                     --freed->source->live_blocks;
                     delete freed;
                   }};
    }

    FakeSource& source;
    FakeLog& log;
    std::uint32_t topic;
    std::int32_t partition;
    std::int64_t next;
    std::int64_t eof_told = -1;
  };

  void note(const char* what, std::int32_t partition, std::int64_t offset) {
    moves.push_back(std::string{what} + " " + std::to_string(partition) + "@" +
                    std::to_string(offset));
  }

  std::map<std::int32_t, FakeLog> logs_;
  std::vector<std::unique_ptr<Partition>> partitions_;
};

}  // namespace sluice::worker::fixture
