// A host of one plugin instance, in memory: it remembers what the plugin told it and answers from
// what the test arranged. One topic ("orders", index 0); every slice exists until slices are
// forgotten.
#pragma once

#include <sluice/abi.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "unit/sdk/test_records.hpp"

namespace sluice::test {

/// A sluice_error, kept.
struct ToldError {
  std::string message;
  std::string key;
  std::int32_t code = 0;
  std::int64_t retry_after_ms = -1;
};

/// A sluice_out, kept. The views stay as they are: the test reads them before the next call.
struct Emitted {
  std::uint32_t source_index = 0;
  TestRecord record;
  const void* value_address = nullptr;
};

struct FakeHost {
  FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  sluice_host raw{};
  std::string topic = "orders";
  std::uint32_t attempt = 1;
  std::map<std::uint64_t, sluice_slice> slices;
  std::uint32_t position = 0;

  ToldError error;                                                       ///< the last set_error
  std::map<std::pair<std::uint64_t, std::int64_t>, std::string> failed;  ///< (slice, offset) -> why
  std::vector<Emitted> emitted;
  std::vector<std::pair<sluice_log_level, std::string>> lines;
  int flush_requests = 0;
  int keep_alives = 0;

  /// Makes the slice of a batch known.
  void add_slice(std::uint64_t slice_id, std::int32_t partition, std::int64_t start_offset,
                 std::int64_t end_offset);
};

}  // namespace sluice::test
