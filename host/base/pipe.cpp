#include "host/base/pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace sluice {

Result<Pipe> create_pipe(std::string_view which) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("create pipe", which, errno);
  return Pipe{ipc::OwnedFd{ends[0]}, ipc::OwnedFd{ends[1]}};
}

}  // namespace sluice
