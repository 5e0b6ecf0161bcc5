// The checks between a worker's report ring and the host: ipc facts 3.4, steps 1-3 and 6. Apart
// from HostChannel so that the corruption fuzzer can drive it at full speed over any memory.
// Host's loop thread. It owns no memory, and the first violation is final.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "ipc/error.hpp"
#include "ipc/layout.hpp"
#include "ipc/slice_report.hpp"
#include "ipc/spsc_ring.hpp"

namespace sluice::ipc {

inline constexpr std::size_t kReportsPerDrain = 256;

class ReportReceiver {
 public:
  /// `report_head` is in the host's segment. `start`: as in RingReader.
  ReportReceiver(const WorkerSegment& worker, std::atomic<std::uint64_t>& report_head,
                 std::uint64_t start = 0);

  /// See HostChannel::drain.
  Result<std::size_t> drain(std::span<ReceivedReport> out);
  bool has_more() const noexcept { return ring_.has_more(); }

 private:
  Rule receive(ReceivedReport& out);

  const Arena* arena_;
  RingReader<Report> ring_;
  std::optional<Violation> violation_;  ///< the first one is final
};

}  // namespace sluice::ipc
