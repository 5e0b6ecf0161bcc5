// Inside host/kafka only: what its .cpp files share to speak to librdkafka (the one include of
// rdkafka.h in a header). Making a client from properties, turning the library's errors into ours,
// and reading the events of a client's own queue.
#pragma once

#include <librdkafka/rdkafka.h>
// After rdkafka.h, which it needs and does not include.
#include <librdkafka/rdkafka_mock.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/error.hpp"
#include "host/kafka/client_event.hpp"
#include "host/kafka/handles.hpp"
#include "host/kafka/properties.hpp"

namespace sluice::kafka {

struct LibraryDeleter {
  void operator()(rd_kafka_conf_t* conf) const noexcept { rd_kafka_conf_destroy(conf); }
  void operator()(rd_kafka_event_t* event) const noexcept { rd_kafka_event_destroy(event); }
  void operator()(rd_kafka_error_t* error) const noexcept { rd_kafka_error_destroy(error); }
  void operator()(rd_kafka_AdminOptions_t* o) const noexcept { rd_kafka_AdminOptions_destroy(o); }
  void operator()(const struct rd_kafka_metadata* m) const noexcept {
    rd_kafka_metadata_destroy(m);
  }
  void operator()(rd_kafka_headers_t* headers) const noexcept { rd_kafka_headers_destroy(headers); }
  void operator()(rd_kafka_NewTopic_t* r) const noexcept { rd_kafka_NewTopic_destroy(r); }
  void operator()(rd_kafka_NewPartitions_t* r) const noexcept { rd_kafka_NewPartitions_destroy(r); }
  void operator()(rd_kafka_DeleteTopic_t* r) const noexcept { rd_kafka_DeleteTopic_destroy(r); }
  void operator()(rd_kafka_DeleteRecords_t* r) const noexcept { rd_kafka_DeleteRecords_destroy(r); }
  void operator()(rd_kafka_ListConsumerGroupOffsets_t* r) const noexcept {
    rd_kafka_ListConsumerGroupOffsets_destroy(r);
  }
  void operator()(rd_kafka_AlterConsumerGroupOffsets_t* r) const noexcept {
    rd_kafka_AlterConsumerGroupOffsets_destroy(r);
  }
};

/// A syslog level; lower is more severe. Lines above it are the library talking to itself.
inline constexpr int kLogWarning = 4;

template <typename Object>
using Owned = std::unique_ptr<Object, LibraryDeleter>;

/// KafkaUnavailable for what may pass by itself (no broker, no leader, a timeout), Configuration
/// for credentials and rights, OffsetOutOfRange, NotFound for a topic or partition that is not
/// there.
ErrorCode error_code_of(rd_kafka_resp_err_t error);
Error kafka_error(std::string_view what, std::string_view which, rd_kafka_resp_err_t error);
/// Takes ownership; an empty Result for nullptr.
Result<> result_of(std::string_view what, std::string_view which, rd_kafka_error_t* error);
Result<> result_of(std::string_view what, std::string_view which, rd_kafka_resp_err_t error);

Result<Owned<rd_kafka_conf_t>> make_conf(const Properties& properties);
Result<Handle<rd_kafka_t>> make_client(rd_kafka_type_t type, Owned<rd_kafka_conf_t> conf);
std::uint64_t conf_number(const rd_kafka_conf_t* conf, const char* name);

/// Turns a client's log lines and errors into events instead of callbacks.
void ask_for_events(rd_kafka_conf_t* conf);
/// A client whose log lines, errors and answers are events on its main queue.
struct EventClient {
  Handle<rd_kafka_t> client;
  Handle<rd_kafka_queue_t> main_queue;
};
/// `wake_fd`, an eventfd that outlives the client, becomes readable when the queue has events.
Result<EventClient> make_event_client(const Properties& properties, int wake_fd);
/// Appends what `event` says about the client; nothing for the kinds that are no such event.
void append_client_event(rd_kafka_event_t* event, ClientEvents& events);

ClientEventKind kind_of(rd_kafka_resp_err_t error, std::string_view text);

/// `topic[partition]`, the way our messages name a partition.
std::string partition_name(std::string_view topic, std::int32_t partition);

}  // namespace sluice::kafka
