// One JSON line per record for tests that must account for every one (cases/open.md): where it came
// from, its bytes in base64 (null stays null), which worker and which attempt wrote it. Shared by
// the sinks `ledger` and `fault`, so that one reader understands both.
#pragma once

#include <sluice/sink.hpp>

namespace sluice::lines {

/// With LF. The keys, in this order: topic, partition, offset, timestamp, timestamp_type, key,
/// value, headers [[name, value]], pid, slice, start, end, attempt.
void append_ledger_line(std::string& lines, const Slice& slice, const Record& record);

}  // namespace sluice::lines
