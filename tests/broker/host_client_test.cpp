// HostClient and TopicAdmin against a real broker: what the mock cluster does not know.
#include <librdkafka/rdkafka.h>

#include <algorithm>

#include "broker/real_kafka.hpp"

namespace sluice::tests {

using kafka::CommitOutcome;
using kafka::LogPoint;

namespace {

kafka::CommitResult commit(kafka::HostClient& client, const std::string& group,
                           const std::vector<kafka::GroupOffset>& offsets) {
  std::optional<kafka::CommitResult> answer;
  client.commit(group, offsets, kTimeoutMs, [&](const auto& result) { answer = result; });
  while (!answer) {
    pollfd readable{client.event_fd(), POLLIN, 0};
    REQUIRE(::poll(&readable, 1, 2 * kTimeoutMs) == 1);
    client.poll();
  }
  return *answer;
}

/// A member of a group, as a running Kafka Connect sink is one.
class Member {
 public:
  Member(const RealKafka& kafka, const std::string& group, const std::string& topic) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    for (const auto& [name, value] :
         kafka.properties({{"group.id", group}, {"client.id", "the-connector"}})) {
      REQUIRE(rd_kafka_conf_set(conf, name.c_str(), value.c_str(), nullptr, 0) == RD_KAFKA_CONF_OK);
    }
    consumer_ = rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
    REQUIRE(consumer_ != nullptr);
    rd_kafka_topic_partition_list_t* topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, topic.c_str(), RD_KAFKA_PARTITION_UA);
    rd_kafka_subscribe(consumer_, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    const auto give_up = std::chrono::steady_clock::now() + kGiveUp;
    while (!assigned()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      if (rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer_, kLookAgainMs)) {
        rd_kafka_message_destroy(message);
      }
    }
  }
  ~Member() {
    rd_kafka_consumer_close(consumer_);
    rd_kafka_destroy(consumer_);
  }

 private:
  bool assigned() {
    rd_kafka_topic_partition_list_t* partitions = nullptr;
    rd_kafka_assignment(consumer_, &partitions);
    const bool any = partitions->cnt > 0;
    rd_kafka_topic_partition_list_destroy(partitions);
    return any;
  }
  rd_kafka_t* consumer_ = nullptr;
};

}  // namespace

TEST_CASE("committed offsets and their metadata survive in the group", "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("committed", 3);
  const auto group = "connect-" + topic;
  const std::vector<kafka::TopicPartition> wanted{{topic, 1}, {topic, 0}};
  const auto client = kafka.host();
  for (const auto& none : value_of(client->committed(group, wanted, kTimeoutMs))) {
    CHECK_FALSE(none.offset);
  }
  CHECK(commit(*client, group, {{{topic, 0}, 11, "sluice/1 s 1"}}).outcome ==
        CommitOutcome::Committed);
  CHECK(commit(*client, group, {{{topic, 0}, 12, "sluice/1 s 2"}}).outcome ==
        CommitOutcome::Committed);
  const auto found = value_of(kafka.host()->committed(group, wanted, kTimeoutMs));
  CHECK_FALSE(found[0].offset);
  CHECK(found[1].offset == 12);
  CHECK(found[1].metadata == "sluice/1 s 2");
}

TEST_CASE("a group with a live member refuses our commit as such and is described with it",
          "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("members");
  const auto group = "connect-" + topic;
  const auto client = kafka.host();
  {
    const Member member{kafka, group, topic};
    CHECK(commit(*client, group, {{{topic, 0}, 5, ""}}).outcome == CommitOutcome::ActiveMembers);
    const std::vector<kafka::GroupOffset> offsets{{{topic, 0}, 5, ""}};
    CHECK(client->commit_and_wait(group, offsets, kTimeoutMs).outcome ==
          CommitOutcome::ActiveMembers);
    const auto described = value_of(client->describe_group(group, kTimeoutMs));
    CHECK(described.state == "Stable");
    REQUIRE(described.members.size() == 1);
    CHECK(described.members[0].client_id == "the-connector");
  }
  CHECK(commit(*client, group, {{{topic, 0}, 5, ""}}).outcome == CommitOutcome::Committed);
  CHECK(value_of(client->describe_group(group, kTimeoutMs)).members.empty());
}

TEST_CASE("a group that nobody ever used has no members", "[broker]") {
  RealKafka kafka;
  const auto described = kafka.host()->describe_group("connect-never-seen", kTimeoutMs);
  if (described) {
    CHECK(described->members.empty());
  } else {
    CHECK(described.error().code() == ErrorCode::NotFound);
  }
}

TEST_CASE("a timestamp resolves to the first record at or after it", "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("times");
  const auto producer = kafka.producer();
  for (int i = 1; i <= 10; ++i) {
    kafka::OutRecord record;
    record.value = bytes_of("v");
    record.partition = 0;
    record.timestamp_ms = 1'700'000'000'000 + i * 1000;
    ok(producer->produce(topic, record));
  }
  ok(producer->flush(kTimeoutMs));
  CHECK(kafka.offset(topic, LogPoint::timestamp(0)) == 0);
  CHECK(kafka.offset(topic, LogPoint::timestamp(1'700'000'005'000)) == 4);
  CHECK(kafka.offset(topic, LogPoint::timestamp(1'700'000'005'001)) == 5);
  CHECK(kafka.offset(topic, LogPoint::timestamp(1'800'000'000'000)) == -1);  // none, no error
}

TEST_CASE("a missing topic is missing, and asking for it does not create it", "[broker]") {
  RealKafka kafka;
  const std::vector<std::string> names{"no-such-topic"};
  const auto client = kafka.host();
  for (int round = 0; round < 2; ++round) {
    const auto topics = value_of(client->describe_topics(names, kTimeoutMs));
    CHECK(topics[0].state == kafka::TopicState::Missing);
    CHECK(topics[0].partitions.empty());
  }
  const std::vector<kafka::TopicPartition> wanted{{"no-such-topic", 0}};
  const auto resolved = client->offsets(wanted, LogPoint::latest(), kTimeoutMs);
  REQUIRE(resolved[0].error);
  CHECK(resolved[0].error->code() == ErrorCode::NotFound);
}

TEST_CASE("asking for the number of brokers creates no topic that is remembered and gone",
          "[broker]") {
  // librdkafka's own question about no topic in particular names those that it remembers, and lets
  // the broker create them.
  RealKafka kafka;
  const auto topic = kafka.topic("remembered");
  const auto client = kafka.host();
  value_of(client->list_topics(kTimeoutMs));
  ok(kafka.admin->delete_topic(topic, kTimeoutMs));
  const auto is_there = [&] {
    const auto topics = value_of(kafka.host()->list_topics(kTimeoutMs));
    return std::any_of(topics.begin(), topics.end(),
                       [&](const auto& found) { return found.name == topic; });
  };
  const auto give_up = std::chrono::steady_clock::now() + kGiveUp;
  while (is_there()) REQUIRE(std::chrono::steady_clock::now() < give_up);
  CHECK(value_of(client->broker_count(kTimeoutMs)) == 1);
  ok(kafka.admin->create_topic(topic, 1, {}, kTimeoutMs));  // or it would exist already
}

TEST_CASE("topics are created once, grow, and go", "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("admin", 2);
  const auto again = kafka.admin->create_topic(topic, 2, {}, kTimeoutMs);
  REQUIRE_FALSE(again);
  CHECK(again.error().code() == ErrorCode::AlreadyExists);
  ok(kafka.admin->create_partitions(topic, 5, kTimeoutMs));
  const std::vector<std::string> names{topic};
  const auto client = kafka.host();
  CHECK(value_of(client->describe_topics(names, kTimeoutMs))[0].partitions.size() == 5);
  ok(kafka.admin->delete_topic(topic, kTimeoutMs));
  const auto give_up = std::chrono::steady_clock::now() + kGiveUp;
  while (value_of(client->describe_topics(names, kTimeoutMs))[0].state !=
         kafka::TopicState::Missing) {
    REQUIRE(std::chrono::steady_clock::now() < give_up);
  }
}

}  // namespace sluice::tests
