// A partition from its beginning to its end, once, with a client of its own: for whoever wants to
// know what lies in a small topic (the demo's dead letters, tests). Blocks the caller. Not for the
// host, which reads no records, nor for a worker, which has its reader.
#pragma once

#include <sluice/abi.h>

#include <functional>

#include "host/base/error.hpp"
#include "host/kafka/admin.hpp"

namespace sluice::kafka {

/// Calls `take` with every record in offset order; the views are valid during the call. The end is
/// the first end of the log that is met. KafkaUnavailable after `timeout_ms` without it.
Result<> read_whole_partition(const Properties& properties, const TopicPartition& where,
                              int timeout_ms,
                              const std::function<void(const sluice_record&)>& take);

}  // namespace sluice::kafka
