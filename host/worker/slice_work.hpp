// A slice in a worker's hands, from its command to its last report: what was asked for, what is
// durable of it, what became of its records and where the time went. Owned by the intake, pointed
// to by its partition's queue while it runs and by its flush group until it is durable.
#pragma once

#include <cstdint>
#include <memory>

#include "host/worker/fingerprint.hpp"
#include "ipc/slice_descriptor.hpp"
#include "ipc/slice_terms.hpp"
#include "ipc/verdict.hpp"

namespace sluice::worker {

/// What became of records; of a batch, of what a flush group holds of a slice, or of a slice.
struct RecordCounts {
  std::uint32_t records = 0;  ///< read
  std::uint32_t out = 0;      ///< put into the sink
  std::uint32_t filtered = 0;
  std::uint32_t errant = 0;
  std::uint64_t bytes = 0;
  std::uint64_t out_bytes = 0;

  void add(const RecordCounts& other) {
    records += other.records;
    out += other.out;
    filtered += other.filtered;
    errant += other.errant;
    bytes += other.bytes;
    out_bytes += other.out_bytes;
  }
};

/// Where the time went; repeated work counts each time.
struct PhaseTimes {
  std::uint64_t fetch_us = 0;
  std::uint64_t process_us = 0;
  std::uint64_t put_us = 0;
  std::uint64_t flush_us = 0;  ///< its share of its groups' flushes
  std::uint64_t wait_us = 0;   ///< for records, and between retries
};

struct SliceWork {
  ipc::Command command;
  std::int64_t durable = 0;  ///< everything below is flushed; starts at command.start
  RecordCounts counts;       ///< of what is durable
  PhaseTimes times;
  Fingerprint last;  ///< of what is durable
  /// Why its record is set aside; with kDeadLetterOnly alone.
  std::unique_ptr<ipc::Verdict> verdict;
  /// With kProbe or kExclude alone.
  std::unique_ptr<ipc::SliceTerms> terms;

  /// A suspect, a probe, or a record that is set aside: a group of its own (slicer.md F1, F3).
  bool is_alone() const {
    return has(ipc::kAlone) || has(ipc::kProbe) || has(ipc::kDeadLetterOnly);
  }
  /// Nothing of it may become durable before all of it is (slicer.md C5).
  bool is_indivisible() const { return has(ipc::kStable) || has(ipc::kProbe); }
  /// The range that plugins see as the slice's (slicer.md F3.4).
  std::int64_t shown_start() const { return terms ? terms->start : command.start; }
  std::int64_t shown_end() const { return terms ? terms->end : command.end; }
  bool has(ipc::CommandFlag flag) const { return (command.flags & flag) != 0; }
};

}  // namespace sluice::worker
