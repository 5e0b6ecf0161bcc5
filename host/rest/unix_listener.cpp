#include "host/rest/unix_listener.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace sluice::rest {
namespace {

constexpr std::string_view kScheme = "unix:";
constexpr int kBacklog = 128;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::Configuration,
                 "control socket: " + path + ": longer than the " +
                     std::to_string(sizeof address.sun_path - 1) +
                     " characters of a socket's name; set rest.listen to a shorter path"};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

ipc::OwnedFd unix_socket() {
  return ipc::OwnedFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

Result<> refuse_living(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return io_error("control socket", path, errno);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return Error{ErrorCode::Refused, "control socket: " + path + ": is there and is no socket; " +
                                         "move it away, or set rest.listen"};
  }
  const auto address = address_of(path);
  if (!address) return address.error();
  const auto probe = unix_socket();
  if (!probe) return io_error("control socket", path, errno);
  // EAGAIN: its backlog is full, so somebody listens. EACCES and the like: not ours to replace.
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0 ||
      errno == EAGAIN) {
    return Error{ErrorCode::Refused, "control socket: " + path +
                                         ": another host answers there; stop it, or set "
                                         "rest.listen"};
  }
  if (errno == ECONNREFUSED || errno == ENOENT) return {};
  return io_error("control socket", path, errno);
}

}  // namespace

Result<std::filesystem::path> unix_path_of(std::string_view address) {
  if (!address.starts_with(kScheme) || address.size() <= kScheme.size() ||
      address[kScheme.size()] != '/') {
    return Error{ErrorCode::Configuration,
                 "rest.listen: " + std::string{address} + ": only unix:/PATH is supported yet"};
  }
  return std::filesystem::path{address.substr(kScheme.size())};
}

Result<UnixListener> UnixListener::open(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);  // bind says it, if this failed
  SLUICE_TRY(refuse_living(path.string()));
  const auto draft = path.string() + ".new";
  const auto address = address_of(draft);
  if (!address) return address.error();
  UnixListener listener;
  listener.path_ = path;
  listener.descriptor_ = unix_socket();
  if (!listener.descriptor_) return io_error("control socket", path.string(), errno);
  ::unlink(draft.c_str());
  const int fd = listener.descriptor_.get();
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return io_error("control socket: bind", path.string(), errno);
  }
  struct stat status {};
  if (::chmod(draft.c_str(), 0660) != 0 || ::listen(fd, kBacklog) != 0 ||
      ::stat(draft.c_str(), &status) != 0 || ::rename(draft.c_str(), path.c_str()) != 0) {
    const int failed = errno;
    ::unlink(draft.c_str());
    return io_error("control socket", path.string(), failed);
  }
  listener.device_ = status.st_dev;
  listener.inode_ = status.st_ino;
  return listener;
}

UnixListener::UnixListener(UnixListener&& other) noexcept
    : path_{std::move(other.path_)},
      descriptor_{std::move(other.descriptor_)},
      device_{other.device_},
      inode_{std::exchange(other.inode_, 0)} {}

UnixListener::~UnixListener() {
  struct stat status {};
  if (inode_ == 0 || ::stat(path_.c_str(), &status) != 0) return;
  if (status.st_dev == device_ && status.st_ino == inode_) ::unlink(path_.c_str());
}

}  // namespace sluice::rest
