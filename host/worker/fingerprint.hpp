// What identifies a record to the host, which never sees one (slicer.md F5): offset, timestamp, and
// a digest of key, value and headers. Two records that differ only in that one has null where the
// other has an empty value, or in how bytes are spread over headers, have different digests.
//
// Made of the last record of a slice, once a slice: it costs about as much as copying that record.
#pragma once

#include <sluice/abi.h>

#include <cstdint>

namespace sluice::worker {

struct Fingerprint {
  std::int64_t offset = -1;  ///< -1: of no record
  std::int64_t timestamp = 0;
  std::uint32_t digest = 0;

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

Fingerprint fingerprint_of(const sluice_record& record);

}  // namespace sluice::worker
