// Goal: the worker cannot write H by any way a plugin has, nobody can cut a segment short, and a
// worker of another build refuses to start (facts 3.1, exit 78).
#include "ipc/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <vector>

#include "channel_pair.hpp"
#include "ipc/crc32c.hpp"

namespace sluice::ipc::test {
namespace {

constexpr int kHostSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

CreatedSegment<HostSegment> create_host() {
  return require(create_host_segment({kWorkerNo, kIncarnation}));
}

// A host segment of "another build": a true header, then changed by `change`.
OwnedFd foreign_segment(const std::function<void(SegmentHeader&)>& change,
                        std::size_t size = sizeof(HostSegment), int seals = kHostSeals) {
  const auto real = create_host();
  OwnedFd fd{::memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(size)) == 0);
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  REQUIRE(memory != MAP_FAILED);
  auto* header = static_cast<SegmentHeader*>(memory);
  std::memcpy(memory, &real.mapped->header, sizeof(SegmentHeader));
  change(*header);
  ::munmap(memory, 4096);
  REQUIRE(::fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return fd;
}

void reseal(SegmentHeader& header) {
  const auto* bytes = reinterpret_cast<const char*>(&header);
  header.crc32c = crc32c(bytes + 8, offsetof(SegmentHeader, crc32c) - 8);
}

std::string refusal(const OwnedFd& fd, std::uint64_t incarnation = kIncarnation) {
  const auto attached = attach_host_segment(fd.get(), incarnation);
  REQUIRE_FALSE(attached.has_value());
  CHECK(attached.error().code() == ErrorCode::Incompatible);
  return attached.error().message();
}

}  // namespace

TEST_CASE("the host writes H and the worker sees it through its read-only mapping", "[ipc]") {
  const auto host = create_host();
  const auto worker = require(attach_host_segment(host.fd.get(), kIncarnation));
  host.mapped->host_beat_ns.store(17);
  CHECK(worker->host_beat_ns.load() == 17);
  CHECK(worker->header.host_pid == static_cast<std::uint32_t>(::getpid()));
}

TEST_CASE("the worker's mapping of H cannot be made writable", "[ipc]") {
  const auto host = create_host();
  const int fd = host.fd.get();
  const auto worker = require(attach_host_segment(fd, kIncarnation));
  CHECK(::mprotect(const_cast<HostSegment*>(worker.get()), sizeof(HostSegment),
                   PROT_READ | PROT_WRITE) != 0);
  CHECK(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
  CHECK(::write(fd, "x", 1) == -1);
  CHECK(::ftruncate(fd, 0) != 0);
  CHECK(::ftruncate(fd, 2 * sizeof(HostSegment)) != 0);
  CHECK(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0);
  CHECK(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) != 0);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const OwnedFd reopened{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
  REQUIRE(reopened.get() >= 0);  // opening is allowed: what it may do is what counts
  CHECK(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reopened.get(), 0) == MAP_FAILED);
  CHECK(::write(reopened.get(), "x", 1) == -1);
}

TEST_CASE("nobody can cut or seal the worker's segment under the host", "[ipc]") {
  const auto worker = require(create_worker_segment({kWorkerNo, kIncarnation}));
  CHECK(::ftruncate(worker.fd.get(), 0) != 0);
  CHECK(::ftruncate(worker.fd.get(), 2 * sizeof(WorkerSegment)) != 0);
  CHECK(::fcntl(worker.fd.get(), F_ADD_SEALS, F_SEAL_WRITE) != 0);
}

TEST_CASE("every page of a segment exists before the worker does", "[ipc]") {
  const auto worker = require(create_worker_segment({kWorkerNo, kIncarnation}));
  struct stat file {};
  REQUIRE(::fstat(worker.fd.get(), &file) == 0);
  CHECK(file.st_blocks * 512 >= static_cast<off_t>(sizeof(WorkerSegment)));
}

TEST_CASE("attaching closes the worker's descriptors of both segments, in success and failure",
          "[ipc]") {
  const auto host = require(HostChannel::create(kWorkerNo, kIncarnation));
  const WorkerFds fds = duplicate(host.worker_fds());
  {
    const auto worker = require(WorkerChannel::attach(fds, kIncarnation));
    CHECK(::fcntl(fds.host_segment, F_GETFD) == -1);
    CHECK(::fcntl(fds.worker_segment, F_GETFD) == -1);
    CHECK(::fcntl(fds.doorbell_to_worker, F_GETFD) != -1);
  }
  CHECK(::fcntl(fds.doorbell_to_worker, F_GETFD) == -1);
  const WorkerFds again = duplicate(host.worker_fds());
  CHECK_FALSE(WorkerChannel::attach(again, kIncarnation + 1).has_value());
  for (const int fd : {again.host_segment, again.worker_segment, again.doorbell_to_worker,
                       again.doorbell_to_host}) {
    CHECK(::fcntl(fd, F_GETFD) == -1);
  }
}

TEST_CASE("the host keeps its mappings when it closes the worker's descriptors", "[ipc]") {
  ChannelPair pair;
  pair.host.close_worker_fds();
  CHECK(pair.host.worker_fds().host_segment == -1);
  const Command command = make_command(CommandKind::Slice);
  REQUIRE(pair.host.publish({&command, 1}));
  std::array<Command, 1> read;
  CHECK(*pair.worker.read(read) == 1);
}

TEST_CASE("a worker refuses the segment of another incarnation", "[ipc]") {
  const auto host = create_host();
  CHECK(refusal(host.fd, kIncarnation + 1).find("incarnation") != std::string::npos);
}

TEST_CASE("a worker refuses a header that its own build would not write, naming the field",
          "[ipc]") {
  struct Case {
    const char* field;
    std::function<void(SegmentHeader&)> change;
  };
  const std::vector<Case> cases{
      {"magic", [](auto& header) { header.magic.store(kWorkerMagic); }},
      {"magic", [](auto& header) { header.magic.store(0); }},
      {"layout version", [](auto& header) { header.layout_major = kLayoutMajor + 1; }},
      {"endian", [](auto& header) { header.endian_mark = 0x04030201; }},
      {"header size", [](auto& header) { header.header_size = 128; }},
      {"size", [](auto& header) { header.total_size += 4096; }},
      {"number of slots", [](auto& header) { header.slots = 2048; }},
      {"slot size", [](auto& header) { header.slot_size = 128; }},
      {"entry size", [](auto& header) { header.entry_size = 128; }},
  };
  for (const Case& one : cases) {
    const OwnedFd fd = foreign_segment([&one](SegmentHeader& header) {
      one.change(header);
      reseal(header);
    });
    CHECK(refusal(fd).find(one.field) != std::string::npos);
  }
}

TEST_CASE("a worker refuses a header whose checksum is wrong", "[ipc]") {
  const OwnedFd fd = foreign_segment([](SegmentHeader& header) { header.worker_no ^= 1; });
  CHECK(refusal(fd).find("checksum") != std::string::npos);
}

TEST_CASE("a worker leaves out unknown kinds of a newer minor layout, and only of that", "[ipc]") {
  for (const int newer : {1, 0}) {
    const auto host = create_host();
    host.mapped->header.layout_minor = static_cast<std::uint16_t>(kLayoutMinor + newer);
    reseal(host.mapped->header);
    const auto reports = require(create_worker_segment({kWorkerNo, kIncarnation}));
    RingWriter<Command> writer{host.mapped->commands, host.mapped->command_tail,
                               reports.mapped->command_head};
    Command unknown = make_command(CommandKind::Slice, 1);
    unknown.kind = kCommandKindLast + 1;
    writer.put(unknown);
    writer.put(make_command(CommandKind::Slice, 2));
    writer.publish();
    auto worker = require(WorkerChannel::attach(
        {duplicate(host.fd.get()), duplicate(reports.fd.get()), -1, -1}, kIncarnation));
    std::array<Command, 4> read;
    const auto count = worker.read(read);
    if (newer == 0) {
      REQUIRE_FALSE(count);
      CHECK(count.error().violation()->rule == Rule::Kind);
    } else {
      REQUIRE(*count == 1);
      CHECK(read[0].slice_id == 2);
    }
  }
}

TEST_CASE("a worker refuses a segment of another size before it maps it", "[ipc]") {
  const OwnedFd fd = foreign_segment([](SegmentHeader&) {}, 4096);
  CHECK(refusal(fd).find("file size") != std::string::npos);
}

TEST_CASE("a worker refuses a segment that could still be cut", "[ipc]") {
  const OwnedFd fd =
      foreign_segment([](SegmentHeader&) {}, sizeof(HostSegment), F_SEAL_GROW | F_SEAL_SEAL);
  CHECK(refusal(fd).find("sealed") != std::string::npos);
}

TEST_CASE("a descriptor that is no segment at all is an error, not a crash", "[ipc]") {
  CHECK_FALSE(attach_host_segment(-1, kIncarnation).has_value());
  const OwnedFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  CHECK_FALSE(attach_worker_segment(null.get(), kIncarnation).has_value());
}

TEST_CASE("start parameters come back as they were and cannot be changed", "[ipc]") {
  const std::string text = "{\"job\":\"orders\"}";
  const OwnedFd fd = require(create_start_parameters(text));
  CHECK(require(read_start_parameters(fd.get())) == text);
  CHECK(::write(fd.get(), "x", 1) == -1);
  CHECK(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0) == MAP_FAILED);
}

TEST_CASE("start parameters that somebody could still change are refused", "[ipc]") {
  const OwnedFd fd{::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  REQUIRE(::write(fd.get(), "{}", 2) == 2);
  const auto read = read_start_parameters(fd.get());
  REQUIRE_FALSE(read);
  CHECK(read.error().code() == ErrorCode::Incompatible);
  CHECK_FALSE(create_start_parameters("").has_value());
}

}  // namespace sluice::ipc::test
