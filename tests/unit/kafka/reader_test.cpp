#include "host/kafka/reader.hpp"

#include "unit/kafka/mock_kafka.hpp"

namespace sluice::kafka {

TEST_CASE("records arrive once, in offset order and without a hole", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 5000);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  const auto seen = read_until(*reader, partition, at_eof, 137);
  CHECK(seen.offsets == offsets_between(0, 5000));
  CHECK(seen.values.front() == "0");
  CHECK(seen.values.back() == "4999");
  CHECK(seen.errors.empty());
}

TEST_CASE("a read starts at the offset it was opened at", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 100);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 42));
  CHECK(partition.position() == 42);
  CHECK(read_until(*reader, partition, at_eof).offsets == offsets_between(42, 100));
}

TEST_CASE("a fetch returns no more records than asked for and says that more are there",
          "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 100);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  while (partition.queued() < 100) wait_for(*reader);
  const auto first = partition.fetch(30);
  CHECK(first.block.size() == 30);
  CHECK_FALSE(first.drained);
  const auto rest = partition.fetch(1000);
  CHECK(rest.block.first_offset() == 30);
  CHECK(rest.drained);
}

TEST_CASE("the end of a partition is told once and kept with it", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 10);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  CHECK_FALSE(partition.eof_offset());
  CHECK(read_until(*reader, partition, at_eof).eof_offset == 10);
  CHECK(partition.eof_offset() == 10);
  CHECK(partition.position() == 10);
  kafka.fill("t", 5);
  CHECK(read_until(*reader, partition, at_eof).eof_offset == 15);
}

TEST_CASE("an empty partition is at its end at once", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  CHECK(read_until(*reader, partition, at_eof).eof_offset == 0);
  CHECK(partition.position() == 0);
}

TEST_CASE("the wake fd becomes readable when a drained partition gets a record", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  read_until(*reader, partition, at_eof);
  while (!partition.fetch(10).drained) {
  }
  reader->woken();
  pollfd wake{reader->wake_fd(), POLLIN, 0};
  REQUIRE(::poll(&wake, 1, 0) == 0);
  kafka.fill("t", 1);
  REQUIRE(::poll(&wake, 1, kTimeoutMs) == 1);
  CHECK(partition.fetch(10).block.size() == 1);
}

TEST_CASE("all partitions of a reader share one wake fd and keep their records apart", "[kafka]") {
  constexpr int kPartitions = 64;
  MockKafka kafka;
  kafka.create("t", kPartitions);
  for (int p = 0; p < kPartitions; ++p) kafka.fill("t", 3, p);
  const auto reader = kafka.reader();
  std::vector<PartitionReader*> open;
  for (int p = 0; p < kPartitions; ++p) {
    open.push_back(value_of(reader->open("t", 7, p, 1)));
  }
  for (auto* partition : open) {
    const auto seen = read_until(*reader, *partition, records(2));
    CHECK(seen.offsets == offsets_between(1, 3));
    CHECK(seen.values.back() == std::to_string(partition->partition() * 3 + 2));
  }
}

// Seen without the guard in position(): the library's thread carries the seek out later and answers
// with the old place until then, so a slice [0, 50) would have ended unread.
TEST_CASE("after a seek back the position is the offset sought, not the old place", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 100);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  for (int round = 0; round < 50; ++round) {
    read_until(*reader, partition, records(100));
    REQUIRE(partition.position() == 100);
    if (round % 2 == 0) {
      ok(partition.seek(0));
    } else {
      ok(partition.refetch(0));
    }
    REQUIRE(partition.position() == 0);
    REQUIRE_FALSE(partition.eof_offset());
  }
}

TEST_CASE("after a seek no record from before it arrives", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 2000);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  for (const std::int64_t target : {1500, 3, 1990, 700, 0, 1995}) {
    read_until(*reader, partition, records(1), 5);
    ok(partition.seek(target));
    const auto seen = read_until(*reader, partition, records(2), 2);
    CHECK(seen.offsets == offsets_between(target, target + 2));
  }
}

TEST_CASE("a seek before anything was fetched is not lost", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 100);
  const auto reader = kafka.reader();
  for (int round = 0; round < 20; ++round) {
    auto& partition = *value_of(reader->open("t", 0, 0, 0));
    ok(partition.seek(60));
    ok(partition.seek(90));
    CHECK(read_until(*reader, partition, at_eof).offsets == offsets_between(90, 100));
    reader->close(partition);
  }
}

TEST_CASE("many fetches anew in a row end at the last offset asked for", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 1000);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  for (int i = 0; i < 200; ++i) {
    ok(partition.refetch(i));
    if (i % 7 == 0) partition.fetch(10);
  }
  ok(partition.refetch(500));
  CHECK(read_until(*reader, partition, at_eof).offsets == offsets_between(500, 1000));
}

TEST_CASE("an offset above the log's end is expired, and a seek starts the partition again",
          "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 10);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 5000));
  const auto seen = read_until(*reader, partition, [](const Seen& s) { return s.expired; });
  CHECK(seen.offsets.empty());
  CHECK(partition.position() == 5000);
  ok(partition.seek(4));
  const auto again = read_until(*reader, partition, at_eof);
  CHECK(again.offsets == offsets_between(4, 10));
  CHECK_FALSE(again.expired);
}

TEST_CASE("an offset below the low watermark is expired", "[kafka]") {
  // The mock keeps 5 MiB of a partition: 8 records of 1 MB push the first ones out.
  MockKafka kafka;
  kafka.create("t");
  const std::string value(1'000'000 - 1000, 'x');
  for (int i = 0; i < 8; ++i) {
    OutRecord record;
    record.value = bytes_of(value);
    record.partition = 0;
    ok(kafka.producer().produce("t", record));
    ok(kafka.producer().flush(kTimeoutMs));
  }
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  const auto seen = read_until(*reader, partition, [](const Seen& s) { return s.expired; });
  CHECK(seen.offsets.empty());
}

TEST_CASE("an expired verdict that a seek has overtaken is not told, and the seek holds",
          "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 10);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  read_until(*reader, partition, at_eof);
  for (int round = 0; round < 10; ++round) {
    ok(partition.seek(100 + round));
    while (partition.queued() == 0) wait_for(*reader);  // the verdict waits, unread
    if (round % 2 == 0) {
      ok(partition.refetch(3));
    } else {
      ok(partition.seek(3));
    }
    const auto seen = read_until(*reader, partition, at_eof);
    CHECK(seen.offsets == offsets_between(3, 10));
  }
}

TEST_CASE("an expired verdict of a lower offset than the one sought is dropped", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 10);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 500));
  while (partition.queued() == 0) wait_for(*reader);
  kafka.fill("t", 600);
  ok(partition.seek(600));
  const auto seen = read_until(*reader, partition, at_eof);
  CHECK_FALSE(seen.expired);
  CHECK(seen.offsets == offsets_between(600, 610));
}

TEST_CASE("a partition closed and opened again has nothing left from its first life", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 1000);
  const auto reader = kafka.reader();
  for (int round = 0; round < 20; ++round) {
    auto& partition = *value_of(reader->open("t", 0, 0, round));
    CHECK(partition.position() == round);
    const auto seen = read_until(*reader, partition, records(10), 10);
    CHECK(seen.offsets == offsets_between(round, round + 10));
    reader->close(partition);
  }
}

TEST_CASE("a topic that the broker does not know is an error of that partition alone", "[kafka]") {
  constexpr int kUnknownTopicOrPart = 3;
  MockKafka kafka;
  kafka.create("t");
  kafka.create("gone");
  kafka.fill("t", 10);
  kafka.cluster.set_topic_error("gone", kUnknownTopicOrPart);
  const auto reader = kafka.reader({{"topic.metadata.propagation.max.ms", "100"}});
  auto& gone = *value_of(reader->open("gone", 1, 0, 0));
  auto& there = *value_of(reader->open("t", 0, 0, 0));
  CHECK(read_until(*reader, there, at_eof).offsets == offsets_between(0, 10));
  const auto seen = read_until(*reader, gone, [](const Seen& s) { return !s.errors.empty(); });
  CHECK(seen.errors.front().code() == ErrorCode::NotFound);
  CHECK(seen.errors.front().message().find("gone [0]") != std::string::npos);
}

TEST_CASE("a property that librdkafka does not know is a configuration error with its name",
          "[kafka]") {
  const auto reader = Reader::create({{"fetch.wurst", "1"}}, {});
  REQUIRE_FALSE(reader);
  CHECK(reader.error().code() == ErrorCode::Configuration);
  CHECK(reader.error().message().find("fetch.wurst") != std::string::npos);
}

TEST_CASE("a first wait above our longest one is the user's, and no configuration error",
          "[kafka]") {
  CHECK(Reader::create({{"reconnect.backoff.ms", "2000"}}, {}));
  CHECK_FALSE(Reader::create(
      {{"reconnect.backoff.ms", "2000"}, {"reconnect.backoff.max.ms", "1000"}}, {}));
}

TEST_CASE("a refused property value is a configuration error with its name", "[kafka]") {
  const auto reader = Reader::create({{"fetch.wait.max.ms", "often"}}, {});
  REQUIRE_FALSE(reader);
  CHECK(reader.error().code() == ErrorCode::Configuration);
  CHECK(reader.error().message().find("fetch.wait.max.ms") != std::string::npos);
}

TEST_CASE("a refused secret is not repeated", "[kafka]") {
  const auto reader =
      Reader::create({{"security.protocol", "ssl"}, {"ssl.key.pem", "hunter2"}}, {});
  REQUIRE_FALSE(reader);
  CHECK(reader.error().code() == ErrorCode::Configuration);
  CHECK(reader.error().message().find("hunter2") == std::string::npos);
}

TEST_CASE("overrides cannot switch off what the ends of slices rest on", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 3);
  const auto reader = kafka.reader({{"enable.partition.eof", "false"},
                                    {"auto.offset.reset", "latest"},
                                    {"enable.auto.commit", "true"}});
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  CHECK(read_until(*reader, partition, at_eof).offsets == offsets_between(0, 3));
}

}  // namespace sluice::kafka
