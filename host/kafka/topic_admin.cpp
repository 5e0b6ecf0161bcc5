#include "host/kafka/topic_admin.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "host/kafka/admin_call.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

namespace {

constexpr int kLeaderPollMs = 20;

/// The one answer in an array of answers, as each of these requests names one topic.
Result<> first_topic_answer(std::string_view what, const rd_kafka_topic_result_t** answers,
                            std::size_t count) {
  if (count == 0) return Error{ErrorCode::Kafka, std::string{what} + ": no answer"};
  const auto error = rd_kafka_topic_result_error(answers[0]);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  const char* text = rd_kafka_topic_result_error_string(answers[0]);
  return Error{error_code_of(error), std::string{what} + ": " +
                                         rd_kafka_topic_result_name(answers[0]) + ": " +
                                         (text != nullptr ? text : rd_kafka_err2str(error))};
}

}  // namespace

Result<std::unique_ptr<TopicAdmin>> TopicAdmin::create(const Properties& properties) {
  std::unique_ptr<TopicAdmin> admin{new TopicAdmin};
  auto conf = make_conf(properties);
  if (!conf) return conf.error();
  rd_kafka_conf_set_log_cb(conf->get(), nullptr);  // every call returns its error
  auto client = make_client(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!client) return client.error();
  admin->client_ = std::move(*client);
  return admin;
}

Result<> TopicAdmin::create_topic(const std::string& topic, int partitions,
                                  const Properties& configs, int timeout_ms, int replication) {
  char reason[256] = {};
  const Owned<rd_kafka_NewTopic_t> request{
      rd_kafka_NewTopic_new(topic.c_str(), partitions, replication, reason, sizeof reason)};
  if (!request) return Error{ErrorCode::Usage, "create topic: " + topic + ": " + reason};
  for (const auto& [name, value] : configs) {
    rd_kafka_NewTopic_set_config(request.get(), name.c_str(), value.c_str());
  }
  AdminCall call{client_.get(), RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout_ms};
  rd_kafka_NewTopic_t* requests[] = {request.get()};
  rd_kafka_CreateTopics(client_.get(), requests, 1, call.options(), call.queue());
  const auto event = call.wait("create topic", topic);
  if (!event) return event.error();
  std::size_t count = 0;
  const auto* result = rd_kafka_event_CreateTopics_result(event->get());
  const auto** answers = rd_kafka_CreateTopics_result_topics(result, &count);
  SLUICE_TRY(first_topic_answer("create topic", answers, count));
  return wait_for_leaders(topic, partitions, timeout_ms);
}

Result<> TopicAdmin::create_partitions(const std::string& topic, int total, int timeout_ms) {
  char reason[256] = {};
  const Owned<rd_kafka_NewPartitions_t> request{rd_kafka_NewPartitions_new(
      topic.c_str(), static_cast<std::size_t>(total), reason, sizeof reason)};
  if (!request) return Error{ErrorCode::Usage, "create partitions: " + topic + ": " + reason};
  AdminCall call{client_.get(), RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, timeout_ms};
  rd_kafka_NewPartitions_t* requests[] = {request.get()};
  rd_kafka_CreatePartitions(client_.get(), requests, 1, call.options(), call.queue());
  const auto event = call.wait("create partitions", topic);
  if (!event) return event.error();
  std::size_t count = 0;
  const auto* result = rd_kafka_event_CreatePartitions_result(event->get());
  const auto** answers = rd_kafka_CreatePartitions_result_topics(result, &count);
  SLUICE_TRY(first_topic_answer("create partitions", answers, count));
  return wait_for_leaders(topic, total, timeout_ms);
}

Result<> TopicAdmin::delete_topic(const std::string& topic, int timeout_ms) {
  const Owned<rd_kafka_DeleteTopic_t> request{rd_kafka_DeleteTopic_new(topic.c_str())};
  AdminCall call{client_.get(), RD_KAFKA_ADMIN_OP_DELETETOPICS, timeout_ms};
  rd_kafka_DeleteTopic_t* requests[] = {request.get()};
  rd_kafka_DeleteTopics(client_.get(), requests, 1, call.options(), call.queue());
  const auto event = call.wait("delete topic", topic);
  if (!event) return event.error();
  std::size_t count = 0;
  const auto* result = rd_kafka_event_DeleteTopics_result(event->get());
  const auto** answers = rd_kafka_DeleteTopics_result_topics(result, &count);
  return first_topic_answer("delete topic", answers, count);
}

Result<> TopicAdmin::delete_records(const std::string& topic, std::int32_t partition,
                                    std::int64_t before, int timeout_ms) {
  const Handle<rd_kafka_topic_partition_list_t> list{rd_kafka_topic_partition_list_new(1)};
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = before;
  const Owned<rd_kafka_DeleteRecords_t> request{rd_kafka_DeleteRecords_new(list.get())};
  AdminCall call{client_.get(), RD_KAFKA_ADMIN_OP_DELETERECORDS, timeout_ms};
  rd_kafka_DeleteRecords_t* requests[] = {request.get()};
  rd_kafka_DeleteRecords(client_.get(), requests, 1, call.options(), call.queue());
  const auto where = partition_name(topic, partition);
  const auto event = call.wait("delete records", where);
  if (!event) return event.error();
  const auto* answers =
      rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event->get()));
  if (answers->cnt == 1 && answers->elems[0].err == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return kafka_error("delete records", where,
                     answers->cnt == 1 ? answers->elems[0].err : RD_KAFKA_RESP_ERR__FAIL);
}

// A topic answers "not leader" for some milliseconds after its creation; callers write at once.
Result<> TopicAdmin::wait_for_leaders(const std::string& topic, int partitions, int timeout_ms) {
  const Handle<rd_kafka_topic_t> handle{rd_kafka_topic_new(client_.get(), topic.c_str(), nullptr)};
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds{timeout_ms};
  while (std::chrono::steady_clock::now() < give_up) {
    const struct rd_kafka_metadata* answer = nullptr;
    const auto error = rd_kafka_metadata(client_.get(), 0, handle.get(), &answer, timeout_ms);
    const Owned<const struct rd_kafka_metadata> metadata{answer};
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR && answer->topic_cnt == 1) {
      const auto& found = answer->topics[0];
      const auto led = std::count_if(found.partitions, found.partitions + found.partition_cnt,
                                     [](const auto& partition) { return partition.leader >= 0; });
      if (led >= partitions) return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{kLeaderPollMs});
  }
  return Error{ErrorCode::KafkaUnavailable,
               "create topic: " + topic + ": no leader for every partition in time"};
}

}  // namespace sluice::kafka
