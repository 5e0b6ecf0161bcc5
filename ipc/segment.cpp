#include "ipc/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/interprocess/detail/os_file_functions.hpp>
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <cstring>

#include "ipc/crc32c.hpp"

namespace sluice::ipc {
namespace bip = boost::interprocess;
namespace {

constexpr int kHostSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
constexpr int kWorkerSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kParameterSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

// Boost's MemoryMappable over a descriptor. `ipcdetail` is private API of Boost (checked
// with 1.81): this is the one place that uses it.
struct Memfd {
  int fd;
  bip::mapping_handle_t get_mapping_handle() const {
    return bip::ipcdetail::mapping_handle_from_file_handle(fd);
  }
};

Result<OwnedFd> create_memfd(const char* name, std::size_t size) {
  OwnedFd fd{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!fd) return system_error(std::string{"create shared memory: "} + name, errno);
  // Sets the size and allocates every page, zeroed.
  if (::fallocate(fd.get(), 0, 0, static_cast<off_t>(size)) != 0) {
    return system_error(std::string{"allocate shared memory: "} + name, errno);
  }
  return fd;
}

Result<> seal(int fd, int seals) {
  if (::fcntl(fd, F_ADD_SEALS, seals) != 0) return system_error("seal shared memory", errno);
  return {};
}

template <typename Layout>
struct Expected;
template <>
struct Expected<HostSegment> {
  static constexpr const char* kName = "sluice-commands";
  static constexpr std::uint64_t kMagic = kHostMagic;
  static constexpr std::uint32_t kSlotSize = sizeof(Command);
  static constexpr std::uint32_t kEntrySize = sizeof(TopicSlot);
  static constexpr int kSeals = kHostSeals;
};
template <>
struct Expected<WorkerSegment> {
  static constexpr const char* kName = "sluice-reports";
  static constexpr std::uint64_t kMagic = kWorkerMagic;
  static constexpr std::uint32_t kSlotSize = sizeof(Report);
  static constexpr std::uint32_t kEntrySize = kArenaEntrySize;
  static constexpr int kSeals = kWorkerSeals;
};

std::uint32_t header_checksum(const SegmentHeader& header) {
  constexpr std::size_t kFrom = offsetof(SegmentHeader, layout_major);
  constexpr std::size_t kTo = offsetof(SegmentHeader, crc32c);
  return crc32c(reinterpret_cast<const std::byte*>(&header) + kFrom, kTo - kFrom);
}

template <typename Layout>
void write_header(SegmentHeader& header, SegmentIdentity identity) {
  header.layout_major = kLayoutMajor;
  header.layout_minor = kLayoutMinor;
  header.header_size = sizeof(SegmentHeader);
  header.total_size = sizeof(Layout);
  header.slots = kRingSlots;
  header.slot_size = Expected<Layout>::kSlotSize;
  header.entry_size = Expected<Layout>::kEntrySize;
  header.worker_no = identity.worker_no;
  header.incarnation = identity.incarnation;
  header.endian_mark = kEndianMark;
  header.host_pid = static_cast<std::uint32_t>(::getpid());
  header.crc32c = header_checksum(header);
  header.magic.store(Expected<Layout>::kMagic, std::memory_order_release);
}

Error incompatible(const char* segment, const std::string& why) {
  return Error{ErrorCode::Incompatible,
               std::string{"attach to the host: "} + segment + ": " + why +
                   "; host and worker must come from the same installation: restart the host"};
}

std::string mismatch(const char* field, std::uint64_t found, std::uint64_t expected) {
  return std::string{field} + " is " + std::to_string(found) + ", this worker was built for " +
         std::to_string(expected);
}

template <typename Layout>
Result<> check_header(const SegmentHeader& header, std::uint64_t incarnation) {
  using Want = Expected<Layout>;
  const auto differs = [](const char* field, std::uint64_t found, std::uint64_t expected) {
    return found == expected ? std::string{} : mismatch(field, found, expected);
  };
  std::string why = differs("magic", header.magic.load(std::memory_order_acquire), Want::kMagic);
  if (why.empty()) why = differs("layout version", header.layout_major, kLayoutMajor);
  if (why.empty()) why = differs("endian mark", header.endian_mark, kEndianMark);
  if (why.empty()) why = differs("header size", header.header_size, sizeof(SegmentHeader));
  if (why.empty()) why = differs("size", header.total_size, sizeof(Layout));
  if (why.empty()) why = differs("number of slots", header.slots, kRingSlots);
  if (why.empty()) why = differs("slot size", header.slot_size, Want::kSlotSize);
  if (why.empty()) why = differs("entry size", header.entry_size, Want::kEntrySize);
  if (why.empty()) why = differs("checksum", header.crc32c, header_checksum(header));
  if (why.empty()) why = differs("incarnation", header.incarnation, incarnation);
  if (!why.empty()) return incompatible(Want::kName, why);
  return {};
}

template <typename Layout>
Result<CreatedSegment<Layout>> create_writable(SegmentIdentity identity) {
  using Want = Expected<Layout>;
  auto fd = create_memfd(Want::kName, sizeof(Layout));
  if (!fd) return fd.error();
  auto region = Region::map(fd->get(), sizeof(Layout), Access::ReadWrite);
  if (!region) return region.error();
  Mapped<Layout> mapped{std::move(*region)};
  write_header<Layout>(mapped->header, identity);
  if (auto sealed = seal(fd->get(), Want::kSeals); !sealed) return sealed.error();
  return CreatedSegment<Layout>{std::move(mapped), std::move(*fd)};
}

// Size and seals first: a file that can still shrink would turn a read into a SIGBUS.
template <typename Layout>
Result<Region> map_inherited(int fd, Access access) {
  using Want = Expected<Layout>;
  struct stat file {};
  if (::fstat(fd, &file) != 0) return system_error(std::string{"attach to "} + Want::kName, errno);
  if (file.st_size != static_cast<off_t>(sizeof(Layout))) {
    return incompatible(Want::kName, mismatch("file size", static_cast<std::uint64_t>(file.st_size),
                                              sizeof(Layout)));
  }
  if (::fcntl(fd, F_GET_SEALS) != Want::kSeals) {
    return incompatible(Want::kName, "it is not sealed as it should be");
  }
  return Region::map(fd, sizeof(Layout), access);
}

}  // namespace

Region::Region(std::unique_ptr<bip::mapped_region> mapped) : mapped_{std::move(mapped)} {}
Region::Region(Region&&) noexcept = default;
Region& Region::operator=(Region&&) noexcept = default;
Region::~Region() = default;

void* Region::address() const {
  return mapped_->get_address();
}
std::size_t Region::size() const {
  return mapped_->get_size();
}

Result<Region> Region::map(int fd, std::size_t size, Access access) {
  const auto mode = access == Access::ReadOnly ? bip::read_only : bip::read_write;
  try {
    return Region{std::make_unique<bip::mapped_region>(Memfd{fd}, mode, 0, size)};
  } catch (const bip::interprocess_exception& error) {
    return system_error("map shared memory", error.get_native_error());
  }
}

Result<CreatedSegment<HostSegment>> create_host_segment(SegmentIdentity identity) {
  return create_writable<HostSegment>(identity);
}

Result<CreatedSegment<const WorkerSegment>> create_worker_segment(SegmentIdentity identity) {
  auto writable = create_writable<WorkerSegment>(identity);
  if (!writable) return writable.error();
  auto region = Region::map(writable->fd.get(), sizeof(WorkerSegment), Access::ReadOnly);
  if (!region) return region.error();
  return CreatedSegment<const WorkerSegment>{Mapped<const WorkerSegment>{std::move(*region)},
                                             std::move(writable->fd)};
}

Result<Mapped<const HostSegment>> attach_host_segment(int fd, std::uint64_t incarnation) {
  auto region = map_inherited<HostSegment>(fd, Access::ReadOnly);
  if (!region) return region.error();
  Mapped<const HostSegment> mapped{std::move(*region)};
  if (auto sound = check_header<HostSegment>(mapped->header, incarnation); !sound) {
    return sound.error();
  }
  return mapped;
}

Result<Mapped<WorkerSegment>> attach_worker_segment(int fd, std::uint64_t incarnation) {
  auto region = map_inherited<WorkerSegment>(fd, Access::ReadWrite);
  if (!region) return region.error();
  Mapped<WorkerSegment> mapped{std::move(*region)};
  if (auto sound = check_header<WorkerSegment>(mapped->header, incarnation); !sound) {
    return sound.error();
  }
  return mapped;
}

Result<OwnedFd> create_start_parameters(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > kStartParametersSizeMax) {
    return Error{ErrorCode::Refused, "start parameters: " + std::to_string(bytes.size()) +
                                         " bytes: must be 1 to " +
                                         std::to_string(kStartParametersSizeMax)};
  }
  auto fd = create_memfd("sluice-start", bytes.size());
  if (!fd) return fd.error();
  {
    auto region = Region::map(fd->get(), bytes.size(), Access::ReadWrite);
    if (!region) return region.error();
    std::memcpy(region->address(), bytes.data(), bytes.size());
  }  // F_SEAL_WRITE is refused while a writable mapping exists
  if (auto sealed = seal(fd->get(), kParameterSeals); !sealed) return sealed.error();
  return fd;
}

Result<std::string> read_start_parameters(int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return system_error("read start parameters", errno);
  if (file.st_size <= 0 || static_cast<std::size_t>(file.st_size) > kStartParametersSizeMax) {
    return incompatible("start parameters", std::to_string(file.st_size) + " bytes");
  }
  if (::fcntl(fd, F_GET_SEALS) != kParameterSeals) {
    return incompatible("start parameters", "they are not sealed against writing");
  }
  const auto size = static_cast<std::size_t>(file.st_size);
  auto region = Region::map(fd, size, Access::ReadOnly);
  if (!region) return region.error();
  return std::string{static_cast<const char*>(region->address()), size};
}

}  // namespace sluice::ipc
