#include "unit/sdk/test_records.hpp"

#include <cstring>

namespace sluice::test {

TestBatch::TestBatch(std::uint64_t slice_id, std::int32_t partition, std::int64_t first_offset,
                     const std::vector<TestRecord>& records, std::uint32_t stride) {
  records_.resize(records.size() * stride / sizeof(std::max_align_t) + 1);
  auto* at = reinterpret_cast<char*>(records_.data());
  // What today's plugin does not know is filled, so that reading it would show.
  std::memset(at, 0xa5, records.size() * stride);
  std::int64_t offset = first_offset;
  for (const TestRecord& record : records) {
    std::vector<sluice_header>& headers = headers_.emplace_back();
    for (const auto& [name, value] : record.headers) {
      headers.push_back({keep(name), keep(value)});
    }
    const sluice_record raw{keep(record.key),
                            keep(record.value),
                            offset++,
                            record.timestamp_ms,
                            0,
                            partition,
                            record.timestamp_type,
                            static_cast<std::uint32_t>(headers.size()),
                            headers.empty() ? nullptr : headers.data()};
    std::memcpy(at, &raw, sizeof raw);
    at += stride;
  }
  raw_ = {sizeof raw_, stride,
          slice_id,    static_cast<std::uint32_t>(records.size()),
          0,           reinterpret_cast<const sluice_record*>(records_.data())};
}

sluice_bytes TestBatch::keep(const std::optional<std::string>& text) {
  if (!text) {
    return {nullptr, 0};
  }
  // One byte more than needed: the empty text must have an address.
  std::vector<char>& copy = texts_.emplace_back(text->begin(), text->end());
  copy.reserve(copy.size() + 1);
  return {copy.data(), text->size()};
}

}  // namespace sluice::test
