// Which fingerprints a partition keeps (slicer.md F5).
#include "host/slicer/fingerprint.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "host/slicer/lineage.hpp"

namespace sluice::slicer {
namespace {

std::vector<std::int64_t> offsets_of(const Fingerprints& known) {
  std::vector<std::int64_t> offsets;
  for (const Fingerprint& one : known) offsets.push_back(one.offset);
  return offsets;
}

}  // namespace

TEST_CASE("the newest and the oldest fingerprint stay, those between are ever further apart",
          "[slicer]") {
  Fingerprints known;
  for (std::int64_t slice = 1; slice <= 10'000; ++slice) remember(known, {slice * 100, 0, 7});
  REQUIRE(known.size() == kFingerprintsMax);
  CHECK(known.front().offset == 1'000'000);
  CHECK(known.back().offset == 100);
  for (std::size_t i = 1; i + 1 < known.size(); ++i) {
    CHECK(known[i].offset > known[i + 1].offset);
    // None is alone in more than nine tenths of what lies behind it.
    const auto gap = static_cast<double>(known[i - 1].offset - known[i].offset);
    CHECK(gap / static_cast<double>(1'000'000 - known[i].offset) <= 1.0);
  }
  CHECK(known[1].offset > 900'000);
}

TEST_CASE("the newest fingerprint that is vouched for stays, whatever comes behind it",
          "[slicer]") {
  Fingerprints known;
  for (std::int64_t offset = 1; offset <= 1'000; ++offset) remember(known, {offset, 0, 7}, 500);
  CHECK(known.size() == kFingerprintsMax);
  CHECK(std::count(known.begin(), known.end(), Fingerprint{499, 0, 7}) == 1);
}

TEST_CASE("fingerprints that come out of order stand in order", "[slicer]") {
  Fingerprints known;
  for (const std::int64_t offset : {30, 10, 20}) remember(known, {offset, 0, 1});
  CHECK(offsets_of(known) == std::vector<std::int64_t>{30, 20, 10});
  remember(known, {20, 0, 2});
  CHECK(offsets_of(known) == std::vector<std::int64_t>{30, 20, 10});
  CHECK(known[1].digest == 2);
}

TEST_CASE("what is below the log, or was cut off, is forgotten", "[slicer]") {
  Fingerprints known;
  for (const std::int64_t offset : {10, 20, 30}) remember(known, {offset, 0, 1});
  forget_below(known, 11);
  forget_from(known, 30);
  CHECK(offsets_of(known) == std::vector<std::int64_t>{20});
}

TEST_CASE("fingerprints survive the store, whatever the timestamp", "[slicer]") {
  Fingerprints known;
  remember(known, {5, -1, 4'294'967'295});
  remember(known, {9'000'000'000'000, 1'700'000'000'000, 0});
  CHECK(encode(known) == "9000000000000:1700000000000:0 5:-1:4294967295");
  CHECK(decode_fingerprints(encode(known)) == known);
  CHECK(decode_fingerprints("").empty());
}

TEST_CASE("what is known of a log that was cut off or absent survives the store", "[slicer]") {
  const bool seen_absent = GENERATE(false, true);
  for (const Fingerprints& known :
       {Fingerprints{}, Fingerprints{{5, -1, 1}}, Fingerprints{{9, 1, 2}, {5, 1, 2}}}) {
    for (const bool cut_seen : {false, true}) {
      Lineage lineage;
      lineage.fingerprints = known;
      lineage.cut_seen = cut_seen;
      lineage.seen_absent = seen_absent;
      lineage.vouched = 10;
      Lineage again;
      restore(again, stored_text(lineage));
      CHECK(again.seen_absent == seen_absent);
      CHECK(again.fingerprints == known);
      CHECK(again.cut_seen == cut_seen);
      CHECK(again.vouched == (cut_seen ? 10 : -1));
    }
  }
  for (const char* const text : {"?", "?x", "?-1 5:1:1", "?99999999999999999999"}) {
    INFO(text);
    Lineage lineage;
    restore(lineage, text);
    CHECK_FALSE(lineage.cut_seen);
    CHECK(lineage.fingerprints.empty());
  }
}

TEST_CASE("a text that is no list of fingerprints is none at all", "[slicer]") {
  for (const char* const text : {"1:2", "1:2:x", "1:2:3 4", "1:2:3 7:8:9", "-1:2:3", "1;2;3",
                                 "1:2:4294967296", "1:2:3  0:1:2"}) {
    INFO(text);
    CHECK(decode_fingerprints(text).empty());
  }
}

}  // namespace sluice::slicer
