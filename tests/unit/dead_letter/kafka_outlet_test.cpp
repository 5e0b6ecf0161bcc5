// The outlet that is a Kafka topic, on librdkafka's mock cluster.
#include "host/dead_letter/kafka_outlet.hpp"

#include <chrono>

#include "unit/kafka/mock_kafka.hpp"

namespace sluice::dead_letter {
namespace {

using kafka::bytes_of;
using kafka::MockKafka;
using kafka::ok;
using kafka::value_of;

constexpr std::int16_t kProduce = 0;
constexpr int kInvalidRecord = 87;
constexpr int kServeMs = 100;

kafka::OutRecord letter(std::string_view value, std::uint64_t tag) {
  kafka::OutRecord record;
  record.value = bytes_of(value);
  record.tag = tag;
  return record;
}

Answer answer_of(Outlet& outlet) {
  const auto give_up = std::chrono::steady_clock::now() + kafka::kGiveUp;
  while (std::chrono::steady_clock::now() < give_up) {
    const auto answers = outlet.serve(kServeMs);
    if (!answers.empty()) return answers.front();
  }
  FAIL("no answer");
  return {};
}

}  // namespace

TEST_CASE("a letter is acknowledged under its tag and lies in the topic", "[dead_letter]") {
  MockKafka kafka;
  kafka.create("dlq");
  const auto outlet = value_of(open_kafka_outlet(kafka.properties(), "dlq"));
  REQUIRE(value_of(outlet->send(letter("v", 42))));
  const Answer answer = answer_of(*outlet);
  CHECK(answer.tag == 42);
  CHECK_FALSE(answer.failure);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("dlq", 0, 0, 0));
  CHECK(read_until(*reader, partition, kafka::at_eof).values == std::vector<std::string>{"v"});
}

TEST_CASE("a refusal of the broker is the letter's answer, and the next one is taken",
          "[dead_letter]") {
  MockKafka kafka;
  kafka.create("dlq");
  const auto outlet = value_of(open_kafka_outlet(kafka.properties(), "dlq"));
  kafka.cluster.push_request_errors(kProduce, kInvalidRecord, 1);
  REQUIRE(value_of(outlet->send(letter("a", 1))));
  const Answer refused = answer_of(*outlet);
  REQUIRE(refused.failure);
  CHECK(refused.failure->code() == ErrorCode::Kafka);
  REQUIRE(value_of(outlet->send(letter("b", 2))));
  CHECK_FALSE(answer_of(*outlet).failure);
  CHECK_FALSE(outlet->is_broken());
}

TEST_CASE("while no broker answers a letter stays under way, and the trouble is told",
          "[dead_letter]") {
  MockKafka kafka;
  kafka.create("dlq");
  const auto outlet = value_of(open_kafka_outlet(kafka.properties(), "dlq"));
  REQUIRE(value_of(outlet->send(letter("a", 1))));
  CHECK_FALSE(answer_of(*outlet).failure);
  ok(kafka.cluster.set_down(1));
  REQUIRE(value_of(outlet->send(letter("b", 2))));
  const auto give_up = std::chrono::steady_clock::now() + kafka::kGiveUp;
  while (outlet->trouble().empty() && std::chrono::steady_clock::now() < give_up) {
    CHECK(outlet->serve(kServeMs).empty());
  }
  CHECK_FALSE(outlet->trouble().empty());
  ok(kafka.cluster.set_up(1));
  CHECK_FALSE(answer_of(*outlet).failure);
  CHECK(outlet->trouble().empty());
}

}  // namespace sluice::dead_letter
