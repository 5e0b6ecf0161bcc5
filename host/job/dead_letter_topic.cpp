#include "host/job/dead_letter_topic.hpp"

#include <utility>

#include "host/kafka/topic_admin.hpp"

namespace sluice::job {
namespace {

constexpr int kTimeoutMs = 10'000;
constexpr int kPartitions = 1;  // as Connect: who wants more makes the topic before

EnsuredTopic refused(const DeadLetterTopic& wanted, const std::string& why) {
  EnsuredTopic ensured;
  ensured.refusal =
      Refusal{ErrorCode::Configuration, "dead letter topic " + wanted.name + ": " + why};
  return ensured;
}

std::string brokers(int count) {
  return std::to_string(count) + (count == 1 ? " broker" : " brokers");
}

Result<EnsuredTopic> create(kafka::HostClient& client, const DeadLetterTopic& wanted) {
  const auto count = client.broker_count(kTimeoutMs);
  if (!count) return count.error();
  const std::string factor =
      "errors.deadletterqueue.topic.replication.factor = " + std::to_string(wanted.replication);
  if (wanted.replication > *count) {
    return refused(wanted, "does not exist, and the cluster has " + brokers(*count) +
                               ", too few for " + factor +
                               "; set a lower factor or create the topic");
  }
  const auto admin = kafka::TopicAdmin::create(wanted.kafka);
  if (!admin) return admin.error();
  const auto created =
      (*admin)->create_topic(wanted.name, kPartitions, {}, kTimeoutMs, wanted.replication);
  if (created) return EnsuredTopic{true, std::nullopt};
  switch (created.error().code()) {
    case ErrorCode::AlreadyExists:  // somebody else was faster
      return EnsuredTopic{};
    case ErrorCode::KafkaUnavailable:
      return created.error();
    default:
      return refused(wanted, "does not exist and cannot be created with " + factor + ": " +
                                 created.error().message() + "; create it by hand");
  }
}

}  // namespace

std::optional<DeadLetterTopic> dead_letter_topic(const config::JobConfig& job,
                                                 const kafka::Properties& host_kafka) {
  if (job.errors_deadletterqueue_topic_name.empty()) return std::nullopt;
  return DeadLetterTopic{job.errors_deadletterqueue_topic_name,
                         static_cast<int>(job.errors_deadletterqueue_topic_replication_factor),
                         host_kafka};
}

Result<EnsuredTopic> ensure_topic(kafka::HostClient& client, const DeadLetterTopic& wanted) {
  const auto topics = client.describe_topics({&wanted.name, 1}, kTimeoutMs);
  if (!topics) return topics.error();
  switch (topics->front().state) {
    case kafka::TopicState::Present:
      return EnsuredTopic{};
    case kafka::TopicState::Unreadable:
      return refused(wanted, topics->front().why + "; the job could not write to it");
    case kafka::TopicState::Missing:
      break;
  }
  return create(client, wanted);
}

}  // namespace sluice::job
