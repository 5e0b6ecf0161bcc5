#include "host/kafka/producer.hpp"

#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

namespace {

/// How long one wait for room in the library's queue lasts before delivery reports are looked at
/// again.
constexpr int kRoomWaitMs = 10;
constexpr std::size_t kBulkRecordsMax = 10'000;

Properties producer_defaults(const ProducerOptions& options) {
  Properties defaults{
      {"enable.idempotence", "true"},
      {"linger.ms", "5"},
      // More than one, and 2.0.2 loses a refused request's records and calls them delivered: the
      // next one was taken, so it believes that they had been as well.
      {"max.in.flight", "1"},
      {"partitioner", "murmur2_random"},  // the same partition for a key as Java's producer
      {"socket.nagle.disable", "true"},
      {"log.queue", "true"},
  };
  if (!options.transactional_id.empty()) {
    defaults.emplace_back("transactional.id", options.transactional_id);
  }
  return defaults;
}

Owned<rd_kafka_headers_t> headers_of(std::span<const sluice_header> headers) {
  if (headers.empty()) return nullptr;
  Owned<rd_kafka_headers_t> made{rd_kafka_headers_new(headers.size())};
  for (const auto& header : headers) {
    rd_kafka_header_add(made.get(), static_cast<const char*>(header.name.data),
                        static_cast<ssize_t>(header.name.size), header.value.data,
                        static_cast<ssize_t>(header.value.size));
  }
  return made;
}

/// The library keeps a pointer per record for its owner; ours is a number.
void* pointer_of(std::uint64_t tag) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(tag));
}

// The library takes void*, and copies: RD_KAFKA_MSG_F_COPY.
void* unconst(const void* bytes) {
  return const_cast<void*>(bytes);
}

rd_kafka_resp_err_t produce_one(rd_kafka_t* client, rd_kafka_topic_t* topic,
                                const OutRecord& record) {
  auto headers = headers_of(record.headers);
  const auto error = rd_kafka_producev(
      client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(record.partition),
      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_KEY(unconst(record.key.data), record.key.size),
      RD_KAFKA_V_VALUE(unconst(record.value.data), record.value.size),
      RD_KAFKA_V_TIMESTAMP(record.timestamp_ms), RD_KAFKA_V_HEADERS(headers.get()),
      RD_KAFKA_V_OPAQUE(pointer_of(record.tag)), RD_KAFKA_V_END);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) static_cast<void>(headers.release());
  return error;
}

}  // namespace

Result<std::unique_ptr<Producer>> Producer::create(const Properties& overrides,
                                                   ProducerOptions options) {
  std::unique_ptr<Producer> producer{new Producer};
  producer->tell_delivery_ = std::move(options.on_delivery);
  auto conf = make_conf(with_overrides(producer_defaults(options), overrides));
  if (!conf) return conf.error();
  // Callbacks, all of them called from poll() and flush(): a delivery report as an event would cost
  // an allocation a batch more.
  rd_kafka_conf_set_dr_msg_cb(conf->get(), &Producer::on_delivery);
  rd_kafka_conf_set_error_cb(conf->get(), &Producer::on_error);
  rd_kafka_conf_set_log_cb(conf->get(), &Producer::on_log);
  rd_kafka_conf_set_opaque(conf->get(), producer.get());
  auto client = make_client(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!client) return client.error();
  producer->client_ = std::move(*client);
  SLUICE_TRY(result_of("log queue", "kafka producer",
                       rd_kafka_set_log_queue(producer->client_.get(), nullptr)));
  return producer;
}

Producer::~Producer() {
  if (!client_) return;
  // What was not flushed is given up: ending must not wait for a broker.
  rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

void Producer::on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  auto& producer = *static_cast<Producer*>(opaque);
  const auto tag = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(message->_private));
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++producer.counts_.delivered;
    if (producer.tell_delivery_) producer.tell_delivery_(tag, nullptr);
    return;
  }
  ++producer.counts_.failed;
  const Error failure =
      kafka_error("produce", partition_name(rd_kafka_topic_name(message->rkt), message->partition),
                  message->err);
  if (!producer.first_failure_) producer.first_failure_ = failure;
  if (producer.tell_delivery_) producer.tell_delivery_(tag, &failure);
}

void Producer::on_error(rd_kafka_t*, int error, const char* reason, void* opaque) {
  const auto kind = kind_of(static_cast<rd_kafka_resp_err_t>(error), reason);
  static_cast<Producer*>(opaque)->events_.push_back({kind, reason});
}

void Producer::on_log(const rd_kafka_t* client, int level, const char* facility, const char* text) {
  if (level > kLogWarning) return;
  auto& producer = *static_cast<Producer*>(rd_kafka_opaque(client));
  producer.events_.push_back({ClientEventKind::Log, std::string{facility} + ": " + text});
}

ClientEvents Producer::take_client_events() {
  return std::exchange(events_, {});
}

Result<rd_kafka_topic_t*> Producer::topic_handle(const std::string& topic) {
  if (const auto known = topics_.find(topic); known != topics_.end()) return known->second.get();
  Handle<rd_kafka_topic_t> handle{rd_kafka_topic_new(client_.get(), topic.c_str(), nullptr)};
  if (!handle) return kafka_error("produce", topic, rd_kafka_last_error());
  return topics_.emplace(topic, std::move(handle)).first->second.get();
}

Result<> Producer::produce(const std::string& topic, const OutRecord& record) {
  for (;;) {
    const auto taken = try_produce(topic, record);
    if (!taken) return taken.error();
    if (*taken) return {};
    rd_kafka_poll(client_.get(), kRoomWaitMs);
  }
}

Result<bool> Producer::try_produce(const std::string& topic, const OutRecord& record) {
  const auto handle = topic_handle(topic);
  if (!handle) return handle.error();
  const auto error = produce_one(client_.get(), *handle, record);
  if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) return false;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_error("produce", topic, error);
  ++counts_.sent;
  return true;
}

Result<> Producer::produce_bulk(const std::string& topic, std::span<const OutRecord> records) {
  const auto handle = topic_handle(topic);
  if (!handle) return handle.error();
  while (!records.empty()) {
    const auto part = records.first(std::min(records.size(), kBulkRecordsMax));
    records = records.subspan(part.size());
    bulk_.assign(part.size(), rd_kafka_message_t{});
    for (std::size_t i = 0; i < part.size(); ++i) {
      bulk_[i].partition = part[i].partition;
      bulk_[i].key = unconst(part[i].key.data);
      bulk_[i].key_len = part[i].key.size;
      bulk_[i].payload = unconst(part[i].value.data);
      bulk_[i].len = part[i].value.size;
    }
    SLUICE_TRY(send_bulk(topic, *handle));
  }
  return {};
}

// Records that found no room are tried again, in order; any other refusal ends the call.
Result<> Producer::send_bulk(const std::string& topic, rd_kafka_topic_t* handle) {
  while (!bulk_.empty()) {
    const int taken = rd_kafka_produce_batch(handle, RD_KAFKA_PARTITION_UA,
                                             RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_PARTITION,
                                             bulk_.data(), static_cast<int>(bulk_.size()));
    counts_.sent += static_cast<std::uint64_t>(std::max(taken, 0));
    std::erase_if(bulk_, [](const auto& m) { return m.err == RD_KAFKA_RESP_ERR_NO_ERROR; });
    for (auto& message : bulk_) {
      if (message.err != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        return kafka_error("produce", topic, message.err);
      }
      message.err = RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    rd_kafka_poll(client_.get(), bulk_.empty() ? 0 : kRoomWaitMs);
  }
  return {};
}

void Producer::poll() {
  wait(0);
}

void Producer::wait(int timeout_ms) {
  rd_kafka_poll(client_.get(), timeout_ms);
}

Result<> Producer::flush(int timeout_ms) {
  const auto error = rd_kafka_flush(client_.get(), timeout_ms);
  if (first_failure_) return *std::exchange(first_failure_, std::nullopt);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return kafka_error("flush", std::to_string(rd_kafka_outq_len(client_.get())) + " records", error);
}

Result<> Producer::begin(int timeout_ms) {
  if (!transactions_ready_) {
    SLUICE_TRY(
        result_of("transaction", "init", rd_kafka_init_transactions(client_.get(), timeout_ms)));
    transactions_ready_ = true;
  }
  return result_of("transaction", "begin", rd_kafka_begin_transaction(client_.get()));
}

Result<> Producer::commit(int timeout_ms) {
  return result_of("transaction", "commit", rd_kafka_commit_transaction(client_.get(), timeout_ms));
}

Result<> Producer::abort(int timeout_ms) {
  return result_of("transaction", "abort", rd_kafka_abort_transaction(client_.get(), timeout_ms));
}

}  // namespace sluice::kafka
