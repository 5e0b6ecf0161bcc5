// What the sinks `ledger` and `fault` wrote, read back: who delivered which record, in which slice.
// A last line without LF is still being written and is left out; any other line that does not parse
// fails the test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

/// One line of the ledger sink.
struct LedgerLine {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::int64_t pid = 0;  ///< of the worker that wrote it
  std::uint64_t slice = 0;
  std::int64_t slice_start = 0;
  std::int64_t slice_end = 0;
};

/// In the order of the file; empty if there is none.
std::vector<LedgerLine> read_ledger(const std::filesystem::path& file);

/// How often each (partition, offset) was delivered.
using Deliveries = std::map<std::pair<std::int32_t, std::int64_t>, int>;
Deliveries count_deliveries(const std::vector<LedgerLine>& lines);

/// The offsets of `partition` that were delivered more than once, in order.
std::vector<std::int64_t> delivered_again(const std::vector<LedgerLine>& lines,
                                          std::int32_t partition);

}  // namespace sluice::test
