// What the fingerprint of a record tells apart (slicer.md F5).
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/worker/fingerprint.hpp"

namespace sluice::worker {
namespace {

sluice_bytes bytes(std::string_view text) {
  return {text.data(), text.size()};
}
constexpr sluice_bytes kNull{nullptr, 0};

std::uint32_t digest_of(sluice_bytes key, sluice_bytes value,
                        const std::vector<sluice_header>& headers = {}) {
  sluice_record record{};
  record.key = key;
  record.value = value;
  record.header_count = static_cast<std::uint32_t>(headers.size());
  record.headers = headers.empty() ? nullptr : headers.data();
  return fingerprint_of(record).digest;
}

}  // namespace

TEST_CASE("a fingerprint has offset and timestamp as they are", "[worker]") {
  sluice_record record{};
  record.offset = 41;
  record.timestamp_ms = 1'700'000'000'123;
  const Fingerprint fingerprint = fingerprint_of(record);
  CHECK(fingerprint.offset == 41);
  CHECK(fingerprint.timestamp == 1'700'000'000'123);
}

TEST_CASE("the same content has the same digest, wherever it lies in memory", "[worker]") {
  const std::string here = "value";
  const std::string there = std::string{"val"} + "ue";
  CHECK(digest_of(bytes("k"), bytes(here), {{bytes("h"), bytes("1")}}) ==
        digest_of(bytes("k"), bytes(there), {{bytes("h"), bytes("1")}}));
}

TEST_CASE("null, empty, and bytes that only stand elsewhere are different records", "[worker]") {
  const std::set<std::uint32_t> digests{
      digest_of(kNull, kNull),
      digest_of(bytes(""), kNull),
      digest_of(kNull, bytes("")),
      digest_of(bytes(""), bytes("")),
      digest_of(bytes("a"), bytes("b")),
      digest_of(bytes("ab"), bytes("")),
      digest_of(bytes(""), bytes("ab")),
      digest_of(bytes("b"), bytes("a")),
      digest_of(bytes("a"), bytes("b"), {{bytes("h"), bytes("")}}),
      digest_of(bytes("a"), bytes("b"), {{bytes("h"), kNull}}),
      digest_of(bytes("a"), bytes("b"), {{bytes("h"), bytes("1")}, {bytes("h"), bytes("2")}}),
      digest_of(bytes("a"), bytes("b"), {{bytes("h"), bytes("2")}, {bytes("h"), bytes("1")}}),
  };
  CHECK(digests.size() == 12);
}

}  // namespace sluice::worker
