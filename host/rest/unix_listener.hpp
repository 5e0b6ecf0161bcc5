// The control socket's file: made complete under another name and then renamed, so that nobody
// finds it half made; a dead host's file is replaced, a living host's never. Mode 0660: the host's
// group may use it.
//
// Blocks for a moment: before the loop runs. Not here: who may do what over it (later, over TCP).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>

#include "host/base/error.hpp"
#include "ipc/owned_fd.hpp"

namespace sluice::rest {

/// `unix:/path` as in rest.listen; a Configuration error for anything else.
Result<std::filesystem::path> unix_path_of(std::string_view address);

class UnixListener {
 public:
  /// Refused: somebody answers there. Io: the file cannot be made.
  static Result<UnixListener> open(const std::filesystem::path& path);
  /// Takes the file away, if it is still ours.
  ~UnixListener();
  UnixListener(UnixListener&& other) noexcept;
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;
  UnixListener& operator=(UnixListener&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// The listening descriptor, for HttpServer::serve; the file stays with this object.
  ipc::OwnedFd take_descriptor() { return std::move(descriptor_); }

 private:
  UnixListener() = default;

  std::filesystem::path path_;
  ipc::OwnedFd descriptor_;
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;
};

}  // namespace sluice::rest
