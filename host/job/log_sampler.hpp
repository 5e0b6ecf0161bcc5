// Asks the brokers where partitions begin and end, for the slicer (slicer.md C2): on the Kafka
// thread, one round for a whole list, answered on the loop. With each end comes whether the
// partition's leader changed since the last answer, because a new leader may end lower.
//
// Under read_committed a log ends where its oldest open transaction begins. A position above that
// is no sign of a log that was cut off: a job that read uncommitted, as Kafka Connect does unless
// it is told, was there before. So where an end is too low its records are asked about as well.
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
    /// The log reaches far enough, but for an open transaction: there is no end then.
    bool is_held_back = false;
  };
  /// A partition, and how far its log reached once (slicer.md F5).
  struct Question {
    kafka::TopicPartition where;
    std::int64_t promised = 0;
  };
  using Answer = std::function<void(const std::vector<Sample>&)>;

  /// `uncommitted`: sees what open transactions hide from `client`; may be the same.
  LogSampler(kafka::HostClient& client, kafka::HostClient& uncommitted, SerialThread& kafka_thread,
             EventLoop& loop);
  ~LogSampler();
  LogSampler(const LogSampler&) = delete;
  LogSampler& operator=(const LogSampler&) = delete;

  void ends(std::vector<Question> questions, Answer answer);
  void lows(std::vector<Question> questions, Answer answer);

 private:
  struct Leaders;

  kafka::HostClient& client_;
  kafka::HostClient& uncommitted_;
  SerialThread& kafka_thread_;
  EventLoop& loop_;
  std::shared_ptr<Leaders> leaders_;  ///< used by the Kafka thread only
  Lifetime lifetime_;
};

}  // namespace sluice::job
