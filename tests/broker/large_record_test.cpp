// B11 on a real broker, which has the record of 12 MB that the mock's log cannot hold.
#include <fstream>

#include "broker/real_product.hpp"

namespace sluice::tests {

TEST_CASE("a record of 12 MB reaches the sink whole between small ones, with default limits (B11)",
          "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("large", 1, {{"max.message.bytes", "16000000"}});
  const auto producer = kafka.producer({{"message.max.bytes", "16000000"}});
  std::string large(12'000'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<char>('a' + (i * 7 + i / 997) % 26);
  }
  for (const auto& value : {std::string{"small"}, large, std::string{"small too"}}) {
    send(*producer, topic, "k", value);
  }
  ok(producer->flush(kTimeoutMs));
  const auto run = kafka.run(kafka.job(topic,
                                       "mode = \"once\"\nconnector.class = \"FileStreamSink\"\n"
                                       "topics = [\"" +
                                           topic + "\"]\n"));
  const int exit = run->wait();
  INFO(run->err());
  REQUIRE(exit == 0);
  std::vector<std::string> lines;
  std::ifstream in{kafka.ledger_file(), std::ios::binary};
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "small");
  CHECK((lines[1] == large));
  CHECK(lines[2] == "small too");
}

// A real broker answers with the large record only where nothing else of that answer comes first,
// so the other partition gets its turn: it must not be the one that is blamed.
TEST_CASE("of two partitions the one with the record above the receive limit is named (B11)",
          "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("limit", 2, {{"max.message.bytes", "4000000"}});
  const auto producer = kafka.producer({{"message.max.bytes", "4000000"}});
  const std::string large(3'000'000, 'x');
  constexpr int kSmall = 500;
  for (int i = 0; i < kSmall; ++i) {
    kafka::OutRecord record;
    record.value = bytes_of("small");
    record.partition = 1;
    ok(producer->produce(topic, record));
  }
  for (const auto& value : {std::string{"small"}, large}) send(*producer, topic, "k", value);
  ok(producer->flush(kTimeoutMs));
  const auto run =
      kafka.run(kafka.ledger_job(topic,
                                 "mode = \"once\"\nconsumer.override.message.max.bytes = 900000\n"
                                 "consumer.override.max.partition.fetch.bytes = 900000\n"
                                 "consumer.override.fetch.max.bytes = 900000\n"
                                 "consumer.override.receive.message.max.bytes = 1000000\n"));
  const int exit = run->wait(std::chrono::seconds{30});
  INFO(run->err());
  REQUIRE(exit == 78);
  CHECK(run->err().find(topic + "-0 cannot be read at offset 1:") != std::string::npos);
  CHECK(run->err().find("raise consumer.override.receive.message.max.bytes") != std::string::npos);
  const auto delivered = kafka.deliveries();
  CHECK(delivered.size() == kSmall + 1);
  CHECK(delivered.contains({0, 0}));
}

}  // namespace sluice::tests
