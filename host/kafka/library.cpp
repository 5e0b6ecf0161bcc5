#include "host/kafka/library.hpp"

#include <charconv>
#include <cstring>

#include "host/base/assert.hpp"

namespace sluice::kafka {

namespace {

constexpr std::uint64_t kEventFdOne = 1;
constexpr std::size_t kReasonBytes = 512;  // what librdkafka itself uses for its error texts

Error property_error(const std::string& name, rd_kafka_conf_res_t result, const char* reason) {
  std::string message = "kafka property: " + name + ": ";
  if (result == RD_KAFKA_CONF_UNKNOWN) {
    message += "not known to this librdkafka (" + std::string{rd_kafka_version_str()} +
               "); correct the name or remove it";
  } else {
    message.append(reason).append("; correct the value");
  }
  return Error{ErrorCode::Configuration, std::move(message)};
}

}  // namespace

void HandleDeleter::operator()(rd_kafka_t* client) const noexcept {
  // Closing a consumer would talk to its group's coordinator; ours never joined one, and ending
  // must not wait for a broker.
  const bool consumer = rd_kafka_type(client) == RD_KAFKA_CONSUMER;
  rd_kafka_destroy_flags(client, consumer ? RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE : 0);
}
void HandleDeleter::operator()(rd_kafka_topic_t* topic) const noexcept {
  rd_kafka_topic_destroy(topic);
}
void HandleDeleter::operator()(rd_kafka_queue_t* queue) const noexcept {
  rd_kafka_queue_destroy(queue);
}
void HandleDeleter::operator()(rd_kafka_topic_partition_list_t* list) const noexcept {
  rd_kafka_topic_partition_list_destroy(list);
}
void HandleDeleter::operator()(rd_kafka_mock_cluster_t* cluster) const noexcept {
  rd_kafka_mock_cluster_destroy(cluster);
}

std::string_view find_property(const Properties& properties, std::string_view name,
                               std::string_view otherwise) {
  for (auto it = properties.rbegin(); it != properties.rend(); ++it) {
    if (it->first == name) return it->second;
  }
  return otherwise;
}

Properties with_overrides(Properties base, const Properties& overrides) {
  base.insert(base.end(), overrides.begin(), overrides.end());
  return base;
}

std::string_view client_event_name(ClientEventKind kind) {
  switch (kind) {
    case ClientEventKind::Log:
      return "log";
    case ClientEventKind::BrokerDown:
      return "broker_down";
    case ClientEventKind::AllBrokersDown:
      return "all_brokers_down";
    case ClientEventKind::Authentication:
      return "authentication";
    case ClientEventKind::ResponseTooLarge:
      return "response_too_large";
    case ClientEventKind::Fatal:
      return "fatal";
    case ClientEventKind::Other:
      return "other";
  }
  return "unknown";
}

ErrorCode error_code_of(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__RETRY:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
      return ErrorCode::KafkaUnavailable;
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return ErrorCode::Configuration;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return ErrorCode::TooLarge;
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
      return ErrorCode::OffsetOutOfRange;
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
      return ErrorCode::NotFound;
    case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS:
      return ErrorCode::AlreadyExists;
    default:
      return ErrorCode::Kafka;
  }
}

Error kafka_error(std::string_view what, std::string_view which, rd_kafka_resp_err_t error) {
  std::string message{what};
  message.append(": ").append(which).append(": ").append(rd_kafka_err2str(error));
  return Error{error_code_of(error), std::move(message)};
}

Result<> result_of(std::string_view what, std::string_view which, rd_kafka_error_t* error) {
  if (error == nullptr) return {};
  const Owned<rd_kafka_error_t> owned{error};
  std::string message{what};
  message.append(": ").append(which).append(": ").append(rd_kafka_error_string(error));
  return Error{error_code_of(rd_kafka_error_code(error)), std::move(message)};
}

Result<> result_of(std::string_view what, std::string_view which, rd_kafka_resp_err_t error) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return kafka_error(what, which, error);
}

Result<Owned<rd_kafka_conf_t>> make_conf(const Properties& properties) {
  Owned<rd_kafka_conf_t> conf{rd_kafka_conf_new()};
  for (const auto& [name, value] : properties) {
    char reason[kReasonBytes] = {};
    const auto set =
        rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), reason, sizeof reason);
    if (set != RD_KAFKA_CONF_OK) return property_error(name, set, reason);
  }
  return conf;
}

Result<Handle<rd_kafka_t>> make_client(rd_kafka_type_t type, Owned<rd_kafka_conf_t> conf) {
  char reason[kReasonBytes] = {};
  rd_kafka_t* client = rd_kafka_new(type, conf.get(), reason, sizeof reason);
  if (client == nullptr) {
    return Error{ErrorCode::Configuration,
                 std::string{"kafka client: not made: "} + reason +
                     "; correct [kafka] of the host, or consumer.override.* of the job"};
  }
  static_cast<void>(conf.release());  // the client's now
  return Handle<rd_kafka_t>{client};
}

std::uint64_t conf_number(const rd_kafka_conf_t* conf, const char* name) {
  char text[32] = {};
  std::size_t size = sizeof text;
  const auto found = rd_kafka_conf_get(conf, name, text, &size);
  SLUICE_ASSERT(found == RD_KAFKA_CONF_OK, name);
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text, text + std::strlen(text), number);
  SLUICE_ASSERT(parsed.ec == std::errc{}, name, text);
  return number;
}

void ask_for_events(rd_kafka_conf_t* conf) {
  rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
}

Result<EventClient> make_event_client(const Properties& properties, int wake_fd) {
  auto conf = make_conf(with_overrides(properties, {{"log.queue", "true"}}));
  if (!conf) return conf.error();
  ask_for_events(conf->get());
  auto client = make_client(RD_KAFKA_CONSUMER, std::move(*conf));
  if (!client) return client.error();
  EventClient made{std::move(*client), nullptr};
  made.main_queue.reset(rd_kafka_queue_get_main(made.client.get()));
  SLUICE_TRY(result_of("log queue", "kafka client",
                       rd_kafka_set_log_queue(made.client.get(), made.main_queue.get())));
  rd_kafka_queue_io_event_enable(made.main_queue.get(), wake_fd, &kEventFdOne, sizeof kEventFdOne);
  return made;
}

ClientEventKind kind_of(rd_kafka_resp_err_t error, std::string_view text) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
      return ClientEventKind::AllBrokersDown;
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
      return ClientEventKind::BrokerDown;
    case RD_KAFKA_RESP_ERR__FATAL:
      return ClientEventKind::Fatal;
    default:
      break;
  }
  // Nothing but the text tells an answer above the limit from a garbled one (2.0.2, B11).
  if (text.find("receive.message.max.bytes") != std::string_view::npos) {
    return ClientEventKind::ResponseTooLarge;
  }
  return error_code_of(error) == ErrorCode::Configuration ? ClientEventKind::Authentication
                                                          : ClientEventKind::Other;
}

void append_client_event(rd_kafka_event_t* event, ClientEvents& events) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_ERROR: {
      const auto error = rd_kafka_event_error(event);
      const char* text = rd_kafka_event_error_string(event);
      std::string said = text != nullptr ? text : rd_kafka_err2str(error);
      const auto kind =
          rd_kafka_event_error_is_fatal(event) != 0 ? ClientEventKind::Fatal : kind_of(error, said);
      events.push_back({kind, std::move(said)});
      break;
    }
    case RD_KAFKA_EVENT_LOG: {
      const char* facility = nullptr;
      const char* text = nullptr;
      int level = 0;
      if (rd_kafka_event_log(event, &facility, &text, &level) == 0 && level <= kLogWarning) {
        events.push_back({ClientEventKind::Log, std::string{facility} + ": " + text});
      }
      break;
    }
    default:
      break;
  }
}

std::string partition_name(std::string_view topic, std::int32_t partition) {
  return std::string{topic} + "[" + std::to_string(partition) + "]";
}

}  // namespace sluice::kafka
