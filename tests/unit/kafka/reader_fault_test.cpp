// What a reader does while brokers fail: cases B07 and B11 of the open acceptance cases.
#include "unit/kafka/mock_kafka.hpp"
#include "unit/kafka/raw_produce.hpp"

namespace sluice::kafka {

TEST_CASE("when a partition's leader moves its records go on, each once", "[kafka]") {
  MockKafka kafka{2};
  kafka.create("t");
  ok(kafka.cluster.set_leader("t", 0, 1));
  kafka.fill("t", 50);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  CHECK(read_until(*reader, partition, records(50)).offsets == offsets_between(0, 50));
  ok(kafka.cluster.set_leader("t", 0, 2));
  kafka.fill("t", 10);
  CHECK(read_until(*reader, partition, records(10)).offsets == offsets_between(50, 60));
}

TEST_CASE("while all brokers are down a fetch is empty and the client says so, then it goes on",
          "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 50);
  const auto reader = kafka.reader({{"reconnect.backoff.max.ms", "200"}});
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  read_until(*reader, partition, at_eof);
  ok(kafka.cluster.set_down(1));
  CHECK(says(*reader, partition, ClientEventKind::AllBrokersDown));
  const auto while_down = partition.fetch(100);
  CHECK(while_down.block.empty());
  CHECK_FALSE(while_down.expired);
  CHECK(partition.position() == 50);
  ok(kafka.cluster.set_up(1));
  kafka.fill("t", 10);
  CHECK(read_until(*reader, partition, records(10)).offsets == offsets_between(50, 60));
}

// Facts 4.5 and models/eos_rule_e.c: records that are in the log and not here yet are no gap.
TEST_CASE("a broker that goes down in the middle of a log does not look like the log's end",
          "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  for (int i = 0; i < 20; ++i) kafka.fill("t", 50);
  const auto reader = kafka.reader({{"queued.min.messages", "100"},
                                    {"queued.max.messages.kbytes", "1"},
                                    {"reconnect.backoff.max.ms", "200"}});
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  auto seen = read_until(*reader, partition, records(200), 50);
  ok(kafka.cluster.set_down(1));
  CHECK(says(*reader, partition, ClientEventKind::AllBrokersDown));
  CHECK(partition.position() < 1000);
  CHECK_FALSE(partition.eof_offset());
  const auto from = partition.position();
  ok(kafka.cluster.set_up(1));
  CHECK(read_until(*reader, partition, at_eof).offsets == offsets_between(from, 1000));
}

TEST_CASE("a reader ends at once while its brokers are down", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 50);
  auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  read_until(*reader, partition, at_eof);
  ok(kafka.cluster.set_down(1));
  CHECK(says(*reader, partition, ClientEventKind::AllBrokersDown));
  reader.reset();  // ctest's timeout is the check
}

TEST_CASE("a record above the receive limit stands still, loses nothing and is told", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const auto large_producer = value_of(
      Producer::create(with_overrides(kafka.properties(), {{"message.max.bytes", "4000000"}})));
  const std::string large(3'000'000, 'x');
  for (const std::string_view value :
       {std::string_view{"a"}, std::string_view{large}, std::string_view{"b"}}) {
    OutRecord record;
    record.value = bytes_of(value);
    record.partition = 0;
    ok(large_producer->produce("t", record));
    ok(large_producer->flush(kTimeoutMs));
  }
  const auto limited = kafka.reader({{"message.max.bytes", "900000"},
                                     {"max.partition.fetch.bytes", "900000"},
                                     {"fetch.max.bytes", "900000"},
                                     {"receive.message.max.bytes", "1000000"}});
  auto& stuck = *value_of(limited->open("t", 0, 0, 0));
  CHECK(read_until(*limited, stuck, records(1)).offsets == offsets_between(0, 1));
  CHECK(says(*limited, stuck, ClientEventKind::ResponseTooLarge));
  CHECK(stuck.position() == 1);

  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 1));
  const auto seen = read_until(*reader, partition, at_eof);
  REQUIRE(seen.offsets == offsets_between(1, 3));
  CHECK(seen.values[0] == large);
}

TEST_CASE("a damaged record set is told, and nothing behind it is handed out before a seek",
          "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 5);
  produce_raw(kafka.cluster.bootstrap_servers(), "t", damaged_record_set("broken"));
  kafka.fill("t", 5);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  const auto seen =
      read_until(*reader, partition, [](const Seen& so_far) { return so_far.errors.size() == 5; });
  CHECK(seen.offsets == offsets_between(0, 5));
  CHECK(seen.errors[0].message().find("CRC") != std::string::npos);
  // A slice to the end would have ended unread.
  CHECK(partition.position() == 5);
  ok(partition.seek(6));
  CHECK(read_until(*reader, partition, at_eof).offsets == offsets_between(6, 11));
}

// The seek back before it does not undo the library's back-off: 20 fetches a second by default.
TEST_CASE("a damaged record set is fetched again only after fetch.error.backoff.ms", "[kafka]") {
  constexpr int kLooks = 20;
  MockKafka kafka;
  kafka.create("t");
  produce_raw(kafka.cluster.bootstrap_servers(), "t", damaged_record_set("broken"));
  const auto reader = kafka.reader({{"fetch.error.backoff.ms", "300000"}});
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  auto seen =
      read_until(*reader, partition, [](const Seen& so_far) { return !so_far.errors.empty(); });
  for (int look = 0; look < kLooks; ++look) {
    wait_for(*reader);
    take(partition, seen);
  }
  CHECK(seen.errors.size() == 1);
}

}  // namespace sluice::kafka
