#include "host/supervisor/spawner.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "ipc/segment.hpp"

namespace sluice::supervisor {
namespace {

using ipc::OwnedFd;

Result<> set_nonblocking(const OwnedFd& fd, const char* what) {
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return io_error("set non-blocking", what, errno);
  return {};
}

// posix_spawn's two attribute objects, freed in every path.
class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  // The source is first moved above all targets: one that happens to have the number of a target
  // would be overwritten before its turn.
  Result<> inherit(int fd, int as) {
    OwnedFd staged{::fcntl(fd, F_DUPFD_CLOEXEC, ipc::kFirstClosedFd)};
    if (!staged) return io_error("spawn worker", "descriptor " + std::to_string(as), errno);
    if (const int error = ::posix_spawn_file_actions_adddup2(&actions_, staged.get(), as)) {
      return io_error("spawn worker", "descriptor " + std::to_string(as), error);
    }
    staged_.push_back(std::move(staged));
    return {};
  }

  Result<> close(int fd) {
    const int error = ::posix_spawn_file_actions_addclose(&actions_, fd);
    if (error != 0) return io_error("spawn worker", "descriptor " + std::to_string(fd), error);
    return {};
  }

  Result<> finish() {
    sigset_t all, stopping;
    ::sigfillset(&all);
    ::sigemptyset(&stopping);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&stopping, signal);
    constexpr short kFlags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
    for (const int error :
         {::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0),
          ::posix_spawn_file_actions_addclosefrom_np(&actions_, ipc::kFirstClosedFd),
          ::posix_spawnattr_setsigdefault(&attributes_, &all),
          ::posix_spawnattr_setsigmask(&attributes_, &stopping),
          ::posix_spawnattr_setpgroup(&attributes_, 0),
          ::posix_spawnattr_setflags(&attributes_, kFlags)}) {
      if (error != 0) return io_error("spawn worker", "settings of posix_spawn", error);
    }
    return {};
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  std::vector<OwnedFd> staged_;
};

Result<> inherit_all(SpawnSettings& settings, const SpawnRequest& request, int start_parameters,
                     int log_pipe, int output_pipe) {
  struct Inherited {
    int fd;
    int as;
  };
  std::vector<Inherited> all{
      {output_pipe, STDOUT_FILENO},
      {output_pipe, STDERR_FILENO},
      {request.channel.host_segment, ipc::kHostSegmentFd},
      {request.channel.worker_segment, ipc::kWorkerSegmentFd},
      {start_parameters, ipc::kStartParametersFd},
      {request.channel.doorbell_to_worker, ipc::kDoorbellToWorkerFd},
      {request.channel.doorbell_to_host, ipc::kDoorbellToHostFd},
      {log_pipe, ipc::kLogPipeFd},
      {request.host_alive, ipc::kHostAlivePipeFd},
  };
  for (const Inherited& one : {Inherited{request.state_lock, ipc::kStateLockFd},
                               Inherited{request.executable_fd, ipc::kExecutableFd}}) {
    if (one.fd >= 0) {
      all.push_back(one);
    } else {
      SLUICE_TRY(settings.close(one.as));
    }
  }
  for (const Inherited& one : all) SLUICE_TRY(settings.inherit(one.fd, one.as));
  return settings.finish();
}

// Without a pidfd nobody could end this process safely, so it must not exist.
Error abandon(pid_t pid, int errno_value) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return io_error("spawn worker", "pidfd_open", errno_value);
}

}  // namespace

Result<HostAlivePipe> create_host_alive_pipe() {
  return create_pipe("host alive");
}

Result<SpawnedWorker> spawn_worker(const SpawnRequest& request) {
  auto parameters = ipc::create_start_parameters(request.start_parameters);
  if (!parameters) return Error{ErrorCode::Io, parameters.error().message()};
  auto log = create_pipe("worker log");
  if (!log) return log.error();
  auto output = create_pipe("worker output");
  if (!output) return output.error();
  // A worker never waits for the host to read its log (it counts what it lost); a plugin that
  // prints faster than the host reads does wait, as at any pipe.
  SLUICE_TRY(set_nonblocking(log->write_end, "worker log"));
  SLUICE_TRY(set_nonblocking(log->read_end, "worker log"));
  SLUICE_TRY(set_nonblocking(output->read_end, "worker output"));

  SpawnSettings settings;
  SLUICE_TRY(inherit_all(settings, request, parameters->get(), log->write_end.get(),
                         output->write_end.get()));
  std::string title = request.title;
  std::array<char*, 2> arguments{title.data(), nullptr};
  pid_t pid = 0;
  // In the child: where the new process's descriptors are in place already.
  const std::string executable = request.executable_fd < 0
                                     ? request.executable
                                     : "/proc/self/fd/" + std::to_string(ipc::kExecutableFd);
  if (const int error = ::posix_spawn(&pid, executable.c_str(), settings.actions(),
                                      settings.attributes(), arguments.data(), environ)) {
    return io_error("spawn worker", request.executable, error);
  }
  // Safe before the reap: until then the pid cannot be another process's.
  OwnedFd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (!pidfd) return abandon(pid, errno);
  return SpawnedWorker{pid, std::move(pidfd), std::move(log->read_end),
                       std::move(output->read_end)};
}

}  // namespace sluice::supervisor
