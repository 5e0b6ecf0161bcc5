#include "host/kafka/admin_call.hpp"

#include <algorithm>

namespace sluice::kafka {

namespace {

/// The library's own timeout comes first, with a better reason than ours.
constexpr int kGraceMs = 500;

}  // namespace

Owned<rd_kafka_AdminOptions_t> admin_options(rd_kafka_t* client, rd_kafka_admin_op_t operation,
                                             int timeout_ms) {
  Owned<rd_kafka_AdminOptions_t> options{rd_kafka_AdminOptions_new(client, operation)};
  char reason[256] = {};
  rd_kafka_AdminOptions_set_request_timeout(options.get(), std::max(timeout_ms, 1), reason,
                                            sizeof reason);
  return options;
}

AdminCall::AdminCall(rd_kafka_t* client, rd_kafka_admin_op_t operation, int timeout_ms,
                     int library_ms)
    : options_{admin_options(client, operation, library_ms)},
      queue_{rd_kafka_queue_new(client)},
      timeout_ms_{timeout_ms} {}

Result<Owned<rd_kafka_event_t>> AdminCall::wait(std::string_view what, std::string_view which) {
  Owned<rd_kafka_event_t> event{rd_kafka_queue_poll(queue_.get(), timeout_ms_ + kGraceMs)};
  error_ = event ? rd_kafka_event_error(event.get()) : RD_KAFKA_RESP_ERR__TIMED_OUT;
  if (error_ == RD_KAFKA_RESP_ERR_NO_ERROR) return event;
  const char* text = event ? rd_kafka_event_error_string(event.get()) : nullptr;
  std::string message{what};
  message.append(": ").append(which).append(": ");
  message += text != nullptr ? text : rd_kafka_err2str(error_);
  return Error{error_code_of(error_), std::move(message)};
}

}  // namespace sluice::kafka
