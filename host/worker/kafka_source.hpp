// Records from Kafka: host/kafka's Reader behind the interface of the task loop
// (record_source.hpp), and the clock and pause that go with it. Adds nothing per record; a block's
// box is recycled, so that the steady state allocates nothing here. Task thread only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/kafka/reader.hpp"
#include "host/worker/record_source.hpp"
#include "host/worker/start_parameters.hpp"
#include "host/worker/task_time.hpp"

namespace sluice::worker {

class KafkaSource final : public RecordSource {
 public:
  /// `properties` with placeholders resolved. Requires: every block is gone before the source.
  static Result<std::unique_ptr<KafkaSource>> create(const Properties& properties,
                                                     const std::string& group);
  ~KafkaSource() override;

  Result<PartitionSource*> open(std::string_view topic, std::uint32_t topic_index,
                                std::int32_t partition, std::int64_t offset) override;
  void close(PartitionSource& partition) override;
  std::vector<SourceEvent> poll() override;

  /// Readable when there is something to fetch; woken() after that.
  int wake_fd() const { return reader_->wake_fd(); }
  void woken() { reader_->woken(); }
  bool may_stall() const { return reader_->may_stall(); }
  void nudge() { reader_->nudge(); }

 private:
  class Partition;

  struct EventWindow {
    std::int64_t until_ms = 0;
    std::uint32_t swallowed = 0;
  };

  explicit KafkaSource(std::unique_ptr<kafka::Reader> reader);
  Block box(kafka::RecordBlock block);

  struct Box {
    KafkaSource* source = nullptr;
    kafka::RecordBlock block;
  };

  std::unique_ptr<kafka::Reader> reader_;
  std::vector<std::unique_ptr<Partition>> partitions_;
  std::vector<std::unique_ptr<Box>> boxes_;  ///< all that were ever needed at a time
  std::vector<Box*> free_boxes_;
  std::map<kafka::ClientEventKind, EventWindow> windows_;
};

/// The worker's clock and sleep: CLOCK_MONOTONIC, poll(2).
class PollTime final : public TaskTime {
 public:
  PollTime(int doorbell_fd, KafkaSource& source) : doorbell_fd_{doorbell_fd}, source_{source} {}
  std::int64_t now_us() const override;
  void pause(std::int64_t timeout_us, Wake wake) override;

 private:
  int doorbell_fd_;
  KafkaSource& source_;
};

}  // namespace sluice::worker
