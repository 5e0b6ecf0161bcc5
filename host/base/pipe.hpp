// A pipe to or from a process that is about to be started. Both ends are close-on-exec: a process
// inherits an end only by being given one (posix_spawn's dup2), so that none stays open in a
// process that was started beside it, where it would hide the end of the stream.
#pragma once

#include <string_view>

#include "host/base/error.hpp"
#include "ipc/owned_fd.hpp"

namespace sluice {

struct Pipe {
  ipc::OwnedFd read_end;
  ipc::OwnedFd write_end;
};

/// `which` is for the message of an Error: what the pipe is for.
Result<Pipe> create_pipe(std::string_view which);

}  // namespace sluice
