#include "host/supervisor/process_sample.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string>

#include "ipc/owned_fd.hpp"

namespace sluice::supervisor {
namespace {

/// Less CPU than this between two samples is no spinning.
constexpr std::uint64_t kBurntMs = 20;

// Places in /proc/PID/stat counted from the state letter, which is the first after the name in
// parentheses (proc(5) counts it as field 3).
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;
constexpr std::size_t kThreads = 17;
constexpr std::size_t kRssPages = 21;
constexpr std::size_t kFields = 22;

Result<std::string> read_file(const std::string& path) {
  const ipc::OwnedFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd && errno == ENOENT)
    return Error{ErrorCode::NotFound, "sample process: " + path + ": none"};
  if (!fd) return io_error("sample process", path, errno);
  std::array<char, 1024> text{};
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0 && errno == ESRCH) {
    return Error{ErrorCode::NotFound, "sample process: " + path + ": gone"};
  }
  if (size < 0) return io_error("sample process", path, errno);
  return std::string{text.data(), static_cast<std::size_t>(size)};
}

// The name may hold spaces and parentheses: what counts begins after the last one.
bool split_fields(std::string_view stat, std::array<std::string_view, kFields>& fields) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos || name_end + 2 > stat.size()) return false;
  stat.remove_prefix(name_end + 2);
  for (std::string_view& field : fields) {
    const std::size_t end = stat.find_first_of(" \n");
    if (end == stat.npos || end == 0) return false;
    field = stat.substr(0, end);
    stat.remove_prefix(end + 1);
  }
  return true;
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Result<ProcSample> sample_process(pid_t pid) {
  const std::string id = std::to_string(pid);
  const std::string path = "/proc/" + id + "/task/" + id + "/stat";
  auto stat = read_file(path);
  if (!stat) return stat.error();
  std::array<std::string_view, kFields> fields;
  if (!split_fields(*stat, fields)) {
    return Error{ErrorCode::Io, "sample process: " + path + ": cannot be understood: " + *stat};
  }
  static const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  static const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  ProcSample sample;
  sample.state = fields[0].front();
  sample.cpu_ms =
      (number(fields[kUserTicks]) + number(fields[kSystemTicks])) * 1000U / ticks_per_second;
  sample.threads = static_cast<std::uint32_t>(number(fields[kThreads]));
  sample.rss_bytes = number(fields[kRssPages]) * page_size;
  return sample;
}

Stall classify_stall(const ProcSample& earlier, const ProcSample& later) {
  switch (later.state) {
    case 'T':
    case 't':
      return Stall::Stopped;
    case 'Z':
    case 'X':
      return Stall::Ended;
    case 'D':
      return Stall::Uninterruptible;
    default:
      break;
  }
  const bool burnt = later.cpu_ms >= earlier.cpu_ms + kBurntMs;
  return burnt || later.state == 'R' ? Stall::Spinning : Stall::Blocked;
}

}  // namespace sluice::supervisor
