// Records for tests, written as literals, and the C batch that a plugin gets of them. The batch
// owns fresh memory for everything it points to, in one block per batch, so that AddressSanitizer
// names the line that uses a view after its call. Its stride may be larger than today's record: a
// newer host (sdk-facts 3.8).
#pragma once

#include <sluice/abi.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

struct TestRecord {
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers{};
  std::int64_t timestamp_ms = 1'700'000'000'123;
  std::uint32_t timestamp_type = SLUICE_TIMESTAMP_CREATE;
};

/// Records of one partition, numbered from `first_offset`.
class TestBatch {
 public:
  TestBatch(std::uint64_t slice_id, std::int32_t partition, std::int64_t first_offset,
            const std::vector<TestRecord>& records, std::uint32_t stride = sizeof(sluice_record));
  TestBatch(const TestBatch&) = delete;
  TestBatch& operator=(const TestBatch&) = delete;

  const sluice_batch* raw() const { return &raw_; }
  const sluice_record& operator[](std::size_t index) const {
    return *sluice_record_at(&raw_, static_cast<std::uint32_t>(index));
  }

 private:
  sluice_bytes keep(const std::optional<std::string>& text);

  std::vector<std::vector<char>> texts_;
  std::vector<std::vector<sluice_header>> headers_;
  std::vector<std::max_align_t> records_;
  sluice_batch raw_{};
};

}  // namespace sluice::test
