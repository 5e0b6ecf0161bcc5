#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "ipc/crc32c.hpp"
#include "ipc/spsc_ring.hpp"

namespace sluice::ipc {

TEST_CASE("the checksum is CRC-32C: it has the published check values", "[ipc]") {
  CHECK(crc32c("123456789", 9) == 0xE3069283U);
  const std::vector<char> zeros(32, '\0');  // RFC 3720 B.4
  CHECK(crc32c(zeros.data(), zeros.size()) == 0x8A9136AAU);
  CHECK(crc32c_by_table(zeros.data(), zeros.size()) == 0x8A9136AAU);
}

TEST_CASE("the table and the instruction agree at every length and alignment", "[ipc]") {
  std::vector<unsigned char> bytes(200);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 151 + 7);
  for (std::size_t from = 0; from < 9; ++from) {
    for (std::size_t size = 0; size + from <= bytes.size(); ++size) {
      REQUIRE(crc32c(bytes.data() + from, size) == crc32c_by_table(bytes.data() + from, size));
    }
  }
}

TEST_CASE("every single flipped bit of a report changes its checksum or is its checksum", "[ipc]") {
  Report report;
  report.slice_id = 0x1234567890ABCDEF;
  report.next_offset = 42;
  report.crc32c = slot_checksum(report);
  for (std::size_t bit = 0; bit < sizeof(Report) * 8; ++bit) {
    Report flipped = report;
    auto* bytes = reinterpret_cast<unsigned char*>(&flipped);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << (bit % 8)));
    REQUIRE(slot_checksum(flipped) != flipped.crc32c);
  }
}

}  // namespace sluice::ipc
