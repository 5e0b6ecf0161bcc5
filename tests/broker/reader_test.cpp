// The reader on logs that only a real broker has: markers, aborted records, holes, damage.
#include <fstream>
#include <set>

#include "broker/log_shapes.hpp"

namespace sluice::tests {

using kafka::LogPoint;

namespace {

/// The slice sizes that models/ends.c was run with, and one larger than the log.
constexpr std::int64_t kSliceSizes[] = {1, 7, 18, 29, 40, 1000};

/// Every slice size ends every slice, and shows exactly the committed records.
void check_all_slice_sizes(RealKafka& kafka, const std::string& topic, std::int64_t log_end,
                           std::size_t committed) {
  await_end(kafka, topic, log_end);
  for (const auto slice_size : kSliceSizes) {
    INFO("slices of " << slice_size << " offsets");
    const auto reader = kafka.reader();
    auto& partition = *value_of(reader->open(topic, 0, 0, 0));
    const auto all = SliceReader{*reader, partition}.read(0, log_end, slice_size);
    CHECK(all.offsets.size() == committed);
    CHECK(std::set(all.offsets.begin(), all.offsets.end()).size() == committed);
    CHECK(std::count(all.values.begin(), all.values.end(), "dropped") == 0);
    CHECK(partition.position() == log_end);
  }
}

}  // namespace

TEST_CASE("B04 a: slices end where the last offset is a commit marker", "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("b04a");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  transaction(*producer, topic, 100, true);
  check_all_slice_sizes(kafka, topic, 101, 100);
}

TEST_CASE("B04 b: slices end between many small transactions", "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("b04b");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  for (int i = 0; i < 10; ++i) transaction(*producer, topic, 10, true);
  check_all_slice_sizes(kafka, topic, 110, 100);
}

TEST_CASE("B04 c: slices end in and behind aborted records", "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("b04c");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  transaction(*producer, topic, 100, true);
  transaction(*producer, topic, 20, false);
  check_all_slice_sizes(kafka, topic, 122, 100);
}

TEST_CASE("an open transaction lies beyond the end of a reader of committed records", "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("open");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  transaction(*producer, topic, 5, true);
  ok(producer->begin(kTimeoutMs));
  send(*producer, topic, "k", "open");
  ok(producer->flush(kTimeoutMs));
  await_end(kafka, topic, 6);
  CHECK(kafka.offset(topic, LogPoint::latest(), kafka::IsolationLevel::ReadUncommitted) == 7);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open(topic, 0, 0, 0));
  CHECK(SliceReader{*reader, partition}.read(0, 6, 100).offsets.size() == 5);
  CHECK(partition.position() == 6);
  ok(producer->commit(kTimeoutMs));
  CHECK(SliceReader{*reader, partition}.read(6, 8, 100).values == std::vector<std::string>{"open"});
}

TEST_CASE("B06: in a log full of holes every surviving record is read once, and no slice waits",
          "[broker]") {
  RealKafka kafka;
  const CompactedLog log{kafka, "b06", 300};
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open(log.topic, 0, 0, 0));
  const auto all = SliceReader{*reader, partition}.read(0, log.end, 100);
  CHECK(all.empty_slices > 0);
  CHECK(std::is_sorted(all.offsets.begin(), all.offsets.end()));
  CHECK(std::set(all.offsets.begin(), all.offsets.end()).size() == all.offsets.size());
  std::map<std::string, std::string> seen;
  for (std::size_t i = 0; i < all.keys.size(); ++i) seen[all.keys[i]] = all.values[i];
  CHECK(seen == log.latest);
  CHECK(partition.position() == log.end);
}

TEST_CASE("records deleted from under a position make it expired", "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("deleted");
  const auto producer = kafka.producer();
  for (int i = 0; i < 100; ++i) send(*producer, topic, "k", std::to_string(i));
  ok(producer->flush(kTimeoutMs));
  ok(kafka.admin->delete_records(topic, 0, 40, kTimeoutMs));
  CHECK(kafka.offset(topic, LogPoint::earliest()) == 40);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open(topic, 0, 0, 10));
  bool expired = false;
  while (!expired) {
    const auto fetched = partition.fetch(10);
    REQUIRE(fetched.block.empty());
    expired = fetched.expired;
    if (!expired) wait_for(*reader);
  }
  ok(partition.seek(40));
  CHECK(SliceReader{*reader, partition}.read(40, 100, 25).offsets.size() == 60);
}

// librdkafka reports the record set and goes on behind it: its records would be lost without a
// trace.
TEST_CASE("a record set that fails its checksum stops the partition and is not skipped",
          "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("damaged");
  const auto producer = kafka.producer();
  const std::string marker = "the-record-that-will-be-damaged";
  for (const std::string& value : {std::string{"before"}, marker, std::string{"after"}}) {
    send(*producer, topic, "k", value);
    ok(producer->flush(kTimeoutMs));  // a record set each
  }
  const auto file = kafka.log_folder(topic, 0) / "00000000000000000000.log";
  std::fstream log{file, std::ios::in | std::ios::out | std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{log}, {}};
  const auto at = bytes.find(marker);
  REQUIRE(at != std::string::npos);
  log.clear();
  log.seekp(static_cast<std::streamoff>(at));
  log.put('T');
  log.flush();

  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open(topic, 0, 0, 0));
  int refusals = 0;
  std::vector<std::string> seen;
  while (refusals < 3) {
    const auto fetched = partition.fetch(10);
    for (const auto& record : fetched.block.records()) seen.push_back(text_of(record.value));
    if (fetched.error) {
      ++refusals;
      CHECK(fetched.error->message().find("CRC") != std::string::npos);
      CHECK(fetched.error->message().find("at offset 1") != std::string::npos);
    }
    wait_for(*reader);
  }
  CHECK(seen == std::vector<std::string>{"before"});
  CHECK(partition.position() == 1);

  log.seekp(static_cast<std::streamoff>(at));
  log.put('t');
  log.flush();
  ok(partition.refetch(1));
  CHECK(SliceReader{*reader, partition}.read(1, 3, 10).values ==
        std::vector<std::string>{marker, "after"});
}

TEST_CASE("B11: a record of 12 MB is read whole with default limits", "[broker]") {
  RealKafka kafka;
  const auto topic = kafka.topic("large", 1, {{"max.message.bytes", "16000000"}});
  const auto producer = kafka.producer({{"message.max.bytes", "16000000"}});
  std::string large(12'000'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 + i / 4096);
  send(*producer, topic, "k", "small");
  send(*producer, topic, "k", large);
  send(*producer, topic, "k", "small too");
  ok(producer->flush(kTimeoutMs));
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open(topic, 0, 0, 0));
  const auto all = SliceReader{*reader, partition}.read(0, 3, 1);
  REQUIRE(all.values.size() == 3);
  CHECK(all.values[0] == "small");
  CHECK((all.values[1] == large));
  CHECK(all.values[2] == "small too");
}

}  // namespace sluice::tests
