#include <sluice/batch.hpp>

#include <catch2/catch.hpp>

#include <ranges>

#include "unit/sdk/fake_host.hpp"

using sluice::Bytes;
using sluice::Record;
using sluice::test::FakeHost;
using sluice::test::TestBatch;

static_assert(std::ranges::forward_range<sluice::Batch>);
static_assert(std::ranges::forward_range<sluice::Headers>);

// B09: null and empty are different.
TEST_CASE("null and empty are different for key, value and header", "[sdk]") {
  const TestBatch batch{
      1, 0, 0, {{std::nullopt, std::nullopt, {{"h", std::nullopt}}}, {"", "", {{"h", ""}}}}};
  const Record nulls{&batch[0]};
  const Record empties{&batch[1]};
  REQUIRE(nulls.key().is_null());
  REQUIRE(nulls.is_tombstone());
  REQUIRE(nulls.headers()[0].value().is_null());
  REQUIRE_FALSE(empties.key().is_null());
  REQUIRE_FALSE(empties.is_tombstone());
  REQUIRE_FALSE(empties.headers()[0].value().is_null());
  REQUIRE(empties.key().empty());
}

TEST_CASE("headers keep order and repeats, and the last of a name is found", "[sdk]") {
  const TestBatch batch{1, 0, 0, {{"k", "v", {{"a", "1"}, {"b", "2"}, {"a", "3"}}}}};
  const Record record{&batch[0]};
  std::string all;
  for (const auto& header : record.headers()) {
    all += std::string{header.name()} + std::string{header.value()};
  }
  REQUIRE(all == "a1b2a3");
  REQUIRE(record.headers().last("a")->value() == "3");
  REQUIRE_FALSE(record.headers().last("c").has_value());
}

TEST_CASE("a null that claims a size is null", "[sdk]") {
  REQUIRE(Bytes{sluice_bytes{nullptr, 10}}.empty());
}

TEST_CASE("a record tells where and when it was written", "[sdk]") {
  const TestBatch batch{1,
                        4,
                        9,
                        {{"k", "v", {}, 1234, SLUICE_TIMESTAMP_LOG_APPEND},
                         {"k", "v", {}, -1, SLUICE_TIMESTAMP_NONE}}};
  const Record record{&batch[0]};
  REQUIRE(record.offset() == 9);
  REQUIRE(record.partition() == 4);
  REQUIRE(record.timestamp_type() == sluice::TimestampType::LogAppend);
  REQUIRE(record.timestamp_ms() == 1234);
  REQUIRE(record.timestamp().time_since_epoch() == std::chrono::milliseconds{1234});
  REQUIRE(Record{&batch[1]}.timestamp_type() == sluice::TimestampType::None);
}

TEST_CASE("flags of a newer host do not change the timestamp's type", "[sdk]") {
  sluice_record raw{};
  raw.flags = 0xfffffff0u | SLUICE_TIMESTAMP_CREATE;
  REQUIRE(Record{&raw}.timestamp_type() == sluice::TimestampType::Create);
}

TEST_CASE("an owned record outlives its batch, nulls included", "[sdk]") {
  sluice::OwnedRecord owned;
  {
    const TestBatch batch{1, 2, 3, {{std::nullopt, "value", {{"h", std::nullopt}, {"i", ""}}}}};
    owned = sluice::OwnedRecord{Record{&batch[0]}};
  }
  REQUIRE_FALSE(owned.key.has_value());
  REQUIRE(owned.value == "value");
  REQUIRE(owned.offset == 3);
  REQUIRE(owned.partition == 2);
  REQUIRE_FALSE(owned.headers.at(0).second.has_value());
  REQUIRE(owned.headers.at(1).second == "");
}

TEST_CASE("a batch is a range: by index, by iterator, by view", "[sdk]") {
  FakeHost host;
  const TestBatch raw{1, 0, 5, {{"k", "a"}, {"k", "b"}, {"k", "c"}}};
  const sluice::Batch batch{raw.raw(), sluice::Host{&host.raw}};
  REQUIRE(batch.size() == 3);
  REQUIRE(batch[2].value() == "c");
  REQUIRE(host.position == 2);
  std::string odd;
  for (const Record record :
       batch | std::views::filter([](const Record& r) { return r.offset() % 2 == 1; })) {
    odd += record.value();
  }
  REQUIRE(odd == "ac");
}

TEST_CASE("without a host the everyday functions say how to get one", "[sdk]") {
  const sluice::Host detached;
  REQUIRE_THROWS_AS(detached.slice(1), std::logic_error);
  REQUIRE_THROWS_WITH(detached.request_flush(),
                      "the host is not there yet: take a const sluice::Start& in the constructor");
}

TEST_CASE("a slice that the host does not know is an error that names it", "[sdk]") {
  FakeHost host;
  REQUIRE_THROWS_WITH(sluice::Host{&host.raw}.slice(77), "slice 77 is not of this flush group");
  REQUIRE(sluice::Host{&host.raw}.topic(5).is_null());
}
