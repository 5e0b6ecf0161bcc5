#include "host/kafka/record_block.hpp"

#include "unit/kafka/mock_kafka.hpp"

namespace sluice::kafka {

namespace {

/// One block with everything of partition 0 from offset 0 on.
FetchResult fetch_all(Reader& reader, PartitionReader& partition, std::size_t count) {
  while (partition.queued() < count) wait_for(reader);
  return partition.fetch(count);
}

}  // namespace

// B09: ten shapes of null, empty and not text.
TEST_CASE("null and empty are kept apart in keys, values and header values", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const std::string binary{"\xFF\x00\xFE\n\r\"", 6};
  const sluice_header headers[] = {
      {bytes_of("null"), {nullptr, 0}},          {bytes_of("empty"), bytes_of("")},
      {bytes_of("twice"), bytes_of("1")},        {bytes_of("twice"), bytes_of("2")},
      {bytes_of("n\xC3\xA9"), bytes_of(binary)}, {bytes_of(""), bytes_of("no name")}};
  OutRecord nulls, empties, tombstone, full;
  empties.key = bytes_of("");
  empties.value = bytes_of("");
  tombstone.key = bytes_of("k");
  full.key = bytes_of(binary);
  full.value = bytes_of(binary);
  full.headers = headers;
  full.timestamp_ms = 1'234'567'890'123;
  for (auto* record : {&nulls, &empties, &tombstone, &full}) {
    record->partition = 0;
    ok(kafka.producer().produce("t", *record));
  }
  ok(kafka.producer().flush(kTimeoutMs));
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 5, 0, 0));
  const auto result = fetch_all(*reader, partition, 4);
  const auto seen = result.block.records();
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].key.data == nullptr);
  CHECK(seen[0].value.data == nullptr);
  CHECK(seen[1].key.data != nullptr);
  CHECK(seen[1].key.size == 0);
  CHECK(seen[1].value.data != nullptr);
  CHECK(seen[1].value.size == 0);
  CHECK(text_of(seen[2].key) == "k");
  CHECK(seen[2].value.data == nullptr);
  CHECK(text_of(seen[3].key) == binary);
  CHECK(text_of(seen[3].value) == binary);
  CHECK(seen[3].timestamp_ms == 1'234'567'890'123);
  CHECK((seen[3].flags & SLUICE_TIMESTAMP_MASK) == SLUICE_TIMESTAMP_CREATE);
  CHECK(seen[3].topic_index == 5);
  CHECK(seen[3].partition == 0);
  CHECK(seen[2].header_count == 0);
  CHECK(seen[2].headers == nullptr);
  REQUIRE(seen[3].header_count == 6);
  CHECK(text_of(seen[3].headers[0].name) == "null");
  CHECK(seen[3].headers[0].value.data == nullptr);
  CHECK(seen[3].headers[1].value.data != nullptr);
  CHECK(seen[3].headers[1].value.size == 0);
  CHECK(text_of(seen[3].headers[2].value) == "1");
  CHECK(text_of(seen[3].headers[3].name) == "twice");
  CHECK(text_of(seen[3].headers[3].value) == "2");
  CHECK(text_of(seen[3].headers[4].name) == "n\xC3\xA9");
  CHECK(text_of(seen[3].headers[4].value) == binary);
  CHECK(text_of(seen[3].headers[5].name).empty());
}

// Where a record has no headers the library is not asked (is_bare): no record may be mistaken,
// whatever its bytes, its place in a page, and the codec of its set.
TEST_CASE("headers are seen where they are, for every size of value and every codec", "[kafka]") {
  constexpr int kRecords = 3000;
  const auto* codec = GENERATE("none", "gzip", "snappy", "lz4", "zstd");
  INFO(codec);
  MockKafka kafka;
  kafka.create("t");
  const auto producer = value_of(
      Producer::create(with_overrides(kafka.properties(), {{"compression.codec", codec}})));
  const sluice_header header{bytes_of("h"), bytes_of("v")};
  const auto has_header = [](int i) { return i % 3 == 0; };
  for (int i = 0; i < kRecords; ++i) {
    const std::string value(static_cast<std::size_t>(i % 97), i % 2 == 0 ? '\0' : 'x');
    OutRecord record;
    record.value = bytes_of(value);
    record.partition = 0;
    if (has_header(i)) record.headers = {&header, 1};
    ok(producer->produce("t", record));
  }
  ok(producer->flush(kTimeoutMs));
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  int seen = 0;
  while (seen < kRecords) {
    const auto fetched = partition.fetch(100);
    for (const auto& record : fetched.block.records()) {
      REQUIRE(record.value.size == static_cast<std::size_t>(seen % 97));
      REQUIRE(record.header_count == (has_header(seen) ? 1U : 0U));
      if (has_header(seen)) REQUIRE(text_of(record.headers[0].name) == "h");
      ++seen;
    }
    if (fetched.block.empty()) wait_for(*reader);
  }
}

TEST_CASE("a split keeps what is below the offset, in place, and hands over the rest", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  const sluice_header headers[] = {{bytes_of("h"), bytes_of("v")}, {bytes_of("h2"), bytes_of("")}};
  for (int i = 0; i < 10; ++i) {
    OutRecord record;
    const auto value = std::to_string(i);
    record.value = bytes_of(value);
    record.partition = 0;
    if (i % 2 == 1) record.headers = headers;
    ok(kafka.producer().produce("t", record));
  }
  ok(kafka.producer().flush(kTimeoutMs));
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  auto kept = fetch_all(*reader, partition, 10).block;
  REQUIRE(kept.size() == 10);
  const auto bytes = kept.bytes();
  CHECK(bytes == 10 + 5 * 4);
  const void* first_value = kept.records()[0].value.data;
  const void* last_value = kept.records()[9].value.data;

  auto rest = kept.split_at(7);
  CHECK(kept.size() == 7);
  CHECK(kept.last_offset() == 6);
  CHECK(rest.size() == 3);
  CHECK(rest.first_offset() == 7);
  CHECK(kept.bytes() + rest.bytes() == bytes);
  CHECK(kept.records()[0].value.data == first_value);
  CHECK(rest.records()[2].value.data == last_value);
  REQUIRE(rest.records()[0].header_count == 2);
  CHECK(text_of(rest.records()[0].headers[1].name) == "h2");
  CHECK(rest.records()[1].header_count == 0);
  CHECK(text_of(rest.records()[2].headers[0].value) == "v");

  kept = {};  // the rest does not lean on it
  CHECK(text_of(rest.records()[2].value) == "9");
  CHECK(text_of(rest.records()[0].headers[0].name) == "h");
}

TEST_CASE("a split at an end takes all or nothing", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 4);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  auto block = fetch_all(*reader, partition, 4).block;
  REQUIRE(block.size() == 4);
  CHECK(block.split_at(4).empty());
  CHECK(block.size() == 4);
  const auto all = block.split_at(0);
  CHECK(block.empty());
  CHECK(all.size() == 4);
  CHECK(block.split_at(1).empty());
}

TEST_CASE("blocks reuse the arrays of blocks that are gone", "[kafka]") {
  MockKafka kafka;
  kafka.create("t");
  kafka.fill("t", 100);
  const auto reader = kafka.reader();
  auto& partition = *value_of(reader->open("t", 0, 0, 0));
  while (partition.queued() < 100) wait_for(*reader);
  const sluice_record* first = partition.fetch(10).block.records().data();
  for (int i = 0; i < 5; ++i) {
    CHECK(partition.fetch(10).block.records().data() == first);
  }
}

}  // namespace sluice::kafka
