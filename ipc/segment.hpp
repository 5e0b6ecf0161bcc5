// Shared memory that dies with its processes and that the wrong side cannot write: a memfd without
// a name, its pages allocated at once (so that running out of memory is an error at spawn, not a
// SIGBUS of the host later), mapped through Boost.Interprocess, then sealed:
//   H  SHRINK GROW FUTURE_WRITE SEAL   the host's mapping, made before, is the last writable one
//   W  SHRINK GROW SEAL                the worker writes; nobody can cut the file under the host
//   C  SHRINK GROW WRITE SEAL          start parameters: nobody writes any more
// There is no fourth kind. A segment serves one worker incarnation and is never used again.
//
// A mapping owns its pages for as long as it lives; descriptors may be closed before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "ipc/error.hpp"
#include "ipc/layout.hpp"
#include "ipc/owned_fd.hpp"

namespace boost::interprocess {
class mapped_region;
}

namespace sluice::ipc {

enum class Access { ReadOnly, ReadWrite };

/// One mapping of a whole memfd.
class Region {
 public:
  static Result<Region> map(int fd, std::size_t size, Access access);
  Region(Region&&) noexcept;
  Region& operator=(Region&&) noexcept;
  ~Region();

  void* address() const;
  std::size_t size() const;

 private:
  explicit Region(std::unique_ptr<boost::interprocess::mapped_region> mapped);
  std::unique_ptr<boost::interprocess::mapped_region> mapped_;
};

/// A Region seen as HostSegment or WorkerSegment; a const Layout is a read-only mapping, so that
/// writing where one must not does not compile, and faults where it does.
template <typename Layout>
class Mapped {
 public:
  explicit Mapped(Region region) : region_{std::move(region)} {}
  Layout& operator*() const { return *get(); }
  Layout* operator->() const { return get(); }
  Layout* get() const { return static_cast<Layout*>(region_.address()); }

 private:
  Region region_;
};

template <typename Layout>
struct CreatedSegment {
  Mapped<Layout> mapped;
  OwnedFd fd;
};

/// Which worker a segment is for: goes into its header.
struct SegmentIdentity {
  std::uint32_t worker_no = 0;
  std::uint64_t incarnation = 0;
};

/// Host: sealed, header written, ready to be inherited.
Result<CreatedSegment<HostSegment>> create_host_segment(SegmentIdentity identity);
Result<CreatedSegment<const WorkerSegment>> create_worker_segment(SegmentIdentity identity);

/// Worker: size, seals and header are checked against this program's own constants. Incompatible
/// means that the worker must exit 78.
Result<Mapped<const HostSegment>> attach_host_segment(int fd, std::uint64_t incarnation);
Result<Mapped<WorkerSegment>> attach_worker_segment(int fd, std::uint64_t incarnation);

/// C: a sealed memfd with these bytes, and the way back. read_start_parameters refuses a file that
/// somebody could still write.
Result<OwnedFd> create_start_parameters(std::string_view bytes);
Result<std::string> read_start_parameters(int fd);

inline constexpr std::size_t kStartParametersSizeMax = 16U << 20U;

}  // namespace sluice::ipc
