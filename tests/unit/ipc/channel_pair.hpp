// Both ends of a channel in one process, and a third hand on the worker's segment: what a wild
// store of a plugin could reach. The two ends have mappings of their own, as in production; tests
// for ThreadSanitizer use RingMemory instead.
#pragma once

#include <fcntl.h>
#include <poll.h>

#include <catch2/catch.hpp>
#include <utility>

#include "ipc/host_channel.hpp"
#include "ipc/worker_channel.hpp"

namespace sluice::ipc::test {

inline constexpr std::uint32_t kWorkerNo = 3;
inline constexpr std::uint64_t kIncarnation = 77;

template <typename T>
T require(Result<T> result) {
  if (!result) FAIL(result.error().message());
  return std::move(*result);
}

inline int duplicate(int fd) {
  return ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

inline WorkerFds duplicate(const WorkerFds& fds) {
  return {duplicate(fds.host_segment), duplicate(fds.worker_segment),
          duplicate(fds.doorbell_to_worker), duplicate(fds.doorbell_to_host)};
}

inline WorkerChannel attach(const HostChannel& host) {
  return require(WorkerChannel::attach(duplicate(host.worker_fds()), kIncarnation));
}

inline Mapped<WorkerSegment> map_wild(const HostChannel& host) {
  return Mapped<WorkerSegment>{require(
      Region::map(host.worker_fds().worker_segment, sizeof(WorkerSegment), Access::ReadWrite))};
}

struct ChannelPair {
  HostChannel host = require(HostChannel::create(kWorkerNo, kIncarnation));
  WorkerChannel worker = attach(host);
  Mapped<WorkerSegment> wild = map_wild(host);

  /// A slot as the worker's own code would have written it, with any content, and published.
  void forge(Report report) {
    RingWriter<Report> writer{wild->reports, wild->report_tail, no_head,
                              wild->report_tail.load(std::memory_order_relaxed)};
    writer.put(report);
    writer.publish();
  }

  std::atomic<std::uint64_t> no_head{0};
};

inline bool readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

inline Report make_report(ReportKind kind, std::uint64_t slice_id = 1) {
  Report report;
  report.kind = static_cast<std::uint16_t>(kind);
  report.slice_id = slice_id;
  return report;
}

inline Command make_command(CommandKind kind, std::uint64_t slice_id = 1) {
  Command command;
  command.kind = static_cast<std::uint16_t>(kind);
  command.slice_id = slice_id;
  return command;
}

}  // namespace sluice::ipc::test
