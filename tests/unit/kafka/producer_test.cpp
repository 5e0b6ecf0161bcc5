#include "host/kafka/producer.hpp"

#include "unit/kafka/mock_kafka.hpp"

namespace sluice::kafka {

TEST_CASE("a flush returns when every record is acknowledged, and they are counted", "[kafka]") {
  MockKafka kafka;
  kafka.create("t", 2);
  kafka.fill("t", 100, 0);
  kafka.fill("t", 11, 1);
  CHECK(kafka.producer().counts().sent == 111);
  CHECK(kafka.producer().counts().delivered == 111);
  CHECK(kafka.producer().counts().failed == 0);
}

TEST_CASE("a bulk goes through a queue that is smaller than it, complete and in order", "[kafka]") {
  MockKafka kafka;
  kafka.create("t", 2);
  const auto producer = value_of(Producer::create(
      with_overrides(kafka.properties(), {{"queue.buffering.max.messages", "500"}})));
  std::vector<std::string> values;
  for (int i = 0; i < 25'000; ++i) values.push_back(std::to_string(i));
  std::vector<OutRecord> bulk(values.size());
  for (std::size_t i = 0; i < bulk.size(); ++i) {
    bulk[i].key = bytes_of("k");
    bulk[i].value = bytes_of(values[i]);
    bulk[i].partition = 1;
  }
  ok(producer->produce_bulk("t", bulk));
  ok(producer->flush(kTimeoutMs));
  CHECK(producer->counts().delivered == values.size());
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 1, 0));
  CHECK(read_until(*reader, partition, at_eof).values == values);
}

// A real broker takes any first sequence number of a producer that it does not know: where it has
// refused the first request, because it is only about to lead the partition, and taken the second,
// the first one sent again is out of sequence, and 2.0.2 believes it written.
TEST_CASE("what follows a refused request waits until that is written", "[kafka]") {
  constexpr int kProduceApi = 0;
  constexpr int kNotLeader = 6;
  MockKafka kafka;
  kafka.create("t");
  const auto producer =
      value_of(Producer::create(with_overrides(kafka.properties(), {{"batch.num.messages", "1"}})));
  kafka.cluster.push_request_errors(kProduceApi, kNotLeader, 1);
  std::vector<std::string> values;
  for (int i = 0; i < 20; ++i) values.push_back(std::to_string(i));
  for (const auto& value : values) {
    OutRecord record;
    record.value = bytes_of(value);
    record.partition = 0;
    ok(producer->produce("t", record));
  }
  ok(producer->flush(kTimeoutMs));
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  CHECK(read_until(*reader, partition, at_eof).values == values);
}

TEST_CASE("single records wait for room in a full queue instead of being dropped", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const auto producer = value_of(Producer::create(
      with_overrides(kafka.properties(), {{"queue.buffering.max.messages", "10"}})));
  OutRecord record;
  record.value = bytes_of("v");
  record.partition = 0;
  for (int i = 0; i < 1000; ++i) ok(producer->produce("t", record));
  ok(producer->flush(kTimeoutMs));
  CHECK(producer->counts().delivered == 1000);
}

TEST_CASE("records of one key go to one partition", "[kafka]") {
  MockKafka kafka;
  kafka.create("t", 8);
  OutRecord record;
  record.key = bytes_of("customer-1");
  for (int i = 0; i < 20; ++i) ok(kafka.producer().produce("t", record));
  ok(kafka.producer().flush(kTimeoutMs));
  const auto reader = kafka.reader();
  int filled = 0;
  for (int p = 0; p < 8; ++p) {
    const auto seen = read_until(*reader, *value_of(reader->open("t", 0, p, 0)), at_eof);
    if (seen.offsets.empty()) continue;
    ++filled;
    CHECK(seen.offsets.size() == 20);
  }
  CHECK(filled == 1);
}

TEST_CASE("a record that was not acknowledged is counted, and the flush says why, once",
          "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const auto producer = value_of(
      Producer::create(with_overrides(kafka.properties(), {{"message.timeout.ms", "300"}})));
  ok(kafka.cluster.set_down(1));
  OutRecord record;
  record.partition = 0;
  ok(producer->produce("t", record));
  const auto flushed = producer->flush(kTimeoutMs);
  REQUIRE_FALSE(flushed);
  CHECK(flushed.error().code() == ErrorCode::KafkaUnavailable);
  CHECK(flushed.error().message().find("t[0]") != std::string::npos);
  CHECK(producer->counts().failed == 1);
  CHECK(producer->counts().delivered == 0);
  ok(producer->flush(kTimeoutMs));
}

TEST_CASE("a record above the producer's limit is refused at once", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const std::string large(2'000'000, 'x');
  OutRecord record;
  record.value = bytes_of(large);
  record.partition = 0;
  CHECK_FALSE(kafka.producer().produce("t", record));
  CHECK_FALSE(kafka.producer().produce_bulk("t", {&record, 1}));
  CHECK(kafka.producer().counts().sent == 0);
}

TEST_CASE("each record's delivery comes back with its tag, and with why it failed", "[kafka]") {
  constexpr std::int16_t kProduce = 0;
  constexpr int kMessageSizeTooLarge = 10;
  MockKafka kafka;
  kafka.create("t");
  std::vector<std::string> told;
  const auto producer = value_of(Producer::create(
      with_overrides(kafka.properties(), {{"batch.num.messages", "1"}}),
      {.on_delivery = [&](std::uint64_t tag, const Error* failure) {
        told.push_back(std::to_string(tag) + (failure == nullptr
                                                  ? " ok"
                                                  : " " + std::string{code_name(failure->code())}));
      }}));
  const auto send = [&](std::uint64_t tag) {
    OutRecord record;
    record.partition = 0;
    record.tag = tag;
    CHECK(value_of(producer->try_produce("t", record)));
    return producer->flush(kTimeoutMs);
  };
  ok(send(7));
  kafka.cluster.push_request_errors(kProduce, kMessageSizeTooLarge, 1);
  CHECK_FALSE(send(8));
  ok(send(9));  // an idempotent producer goes on after a record that was refused for good
  CHECK(told == std::vector<std::string>{"7 ok", "8 too_large", "9 ok"});
}

TEST_CASE("a queue without room says so to who may not wait", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const auto producer = value_of(Producer::create(
      with_overrides(kafka.properties(), {{"queue.buffering.max.messages", "2"}})));
  ok(kafka.cluster.set_down(1));
  OutRecord record;
  record.partition = 0;
  CHECK(value_of(producer->try_produce("t", record)));
  CHECK(value_of(producer->try_produce("t", record)));
  CHECK_FALSE(value_of(producer->try_produce("t", record)));
}

TEST_CASE("a producer ends at once with records that no broker took", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  auto producer = value_of(Producer::create(kafka.properties()));
  ok(kafka.cluster.set_down(1));
  OutRecord record;
  record.partition = 0;
  ok(producer->produce("t", record));
  producer.reset();  // ctest's timeout is the check
}

TEST_CASE("transactions begin, commit and abort", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const auto producer = value_of(Producer::create(kafka.properties(), {.transactional_id = "x"}));
  OutRecord record;
  record.partition = 0;
  ok(producer->begin(kTimeoutMs));
  ok(producer->produce("t", record));
  ok(producer->commit(kTimeoutMs));
  ok(producer->begin(kTimeoutMs));
  ok(producer->produce("t", record));
  ok(producer->abort(kTimeoutMs));
  CHECK(producer->counts().sent == 2);
}

}  // namespace sluice::kafka
