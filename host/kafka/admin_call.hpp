// One blocking request of librdkafka's admin interface: its options, the queue its answer comes to,
// and a wait that ends a little after the library's own timeout. The queue lives as long as the
// call: an answer that comes later is dropped by the library. Internal to host/kafka.
//
// A request to a group's coordinator must not time out inside the library. There the search for the
// coordinator outlives the request, and when the brokers come back it touches what was freed: the
// process aborts (librdkafka issue 4605; seen with 2.0.2 after 20 s without brokers). So such
// requests have a longer timeout there than our own wait (group_client.hpp).
#pragma once

#include <string_view>

#include "host/kafka/library.hpp"

namespace sluice::kafka {

class AdminCall {
 public:
  AdminCall(rd_kafka_t* client, rd_kafka_admin_op_t operation, int timeout_ms)
      : AdminCall{client, operation, timeout_ms, timeout_ms} {}
  /// `library_ms`: when the library gives up; wait() does it a little after `timeout_ms`.
  AdminCall(rd_kafka_t* client, rd_kafka_admin_op_t operation, int timeout_ms, int library_ms);

  rd_kafka_AdminOptions_t* options() const { return options_.get(); }
  rd_kafka_queue_t* queue() const { return queue_.get(); }
  /// The answer, or the error that is the whole call's. An answer that comes later is dropped.
  Result<Owned<rd_kafka_event_t>> wait(std::string_view what, std::string_view which);
  /// The library's own word for what wait() returned.
  rd_kafka_resp_err_t error() const { return error_; }

 private:
  Owned<rd_kafka_AdminOptions_t> options_;
  Handle<rd_kafka_queue_t> queue_;
  int timeout_ms_;
  rd_kafka_resp_err_t error_ = RD_KAFKA_RESP_ERR__IN_PROGRESS;
};

/// Options for a request with this timeout over all: finding the broker, and its answer.
Owned<rd_kafka_AdminOptions_t> admin_options(rd_kafka_t* client, rd_kafka_admin_op_t operation,
                                             int timeout_ms);

}  // namespace sluice::kafka
