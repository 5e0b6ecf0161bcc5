// Asks the brokers where partitions begin and end, for the slicer (slicer.md C2): on the Kafka
// thread, one round for a whole list, answered on the loop. With each end comes whether the
// partition's leader changed since the last answer, because a new leader may end lower.
//
// Loop thread. An answer is always given; a partition that could not be asked for says why.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/job/background_call.hpp"
#include "host/job/event_loop.hpp"
#include "host/job/serial_thread.hpp"
#include "host/kafka/admin.hpp"
#include "host/slicer/slicer.hpp"

namespace sluice::job {

class LogSampler {
 public:
  struct Sample {
    kafka::TopicPartition where;
    std::optional<std::int64_t> low;  ///< lows() only
    std::optional<std::int64_t> end;
    slicer::LeaderChange leader = slicer::LeaderChange::None;
    std::string why;  ///< where an offset is missing
  };
  using Answer = std::function<void(const std::vector<Sample>&)>;

  LogSampler(kafka::HostClient& client, SerialThread& kafka_thread, EventLoop& loop);
  ~LogSampler();
  LogSampler(const LogSampler&) = delete;
  LogSampler& operator=(const LogSampler&) = delete;

  void ends(std::vector<kafka::TopicPartition> partitions, Answer answer);
  void lows(std::vector<kafka::TopicPartition> partitions, Answer answer);

 private:
  struct Leaders;

  kafka::HostClient& client_;
  SerialThread& kafka_thread_;
  EventLoop& loop_;
  std::shared_ptr<Leaders> leaders_;  ///< used by the Kafka thread only
  Lifetime lifetime_;
};

}  // namespace sluice::job
