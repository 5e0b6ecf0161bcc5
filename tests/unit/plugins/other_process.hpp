// Runs a function in a process of its own and tells how that ended: for actions that end or hang
// their process. The function's process never returns into the test; exit code 0 means it came to
// its end.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace sluice::test {

/// The status of waitpid.
template <typename Function>
int run_in_other_process(Function&& function) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    for (const int signal : {SIGSEGV, SIGABRT}) {  // AddressSanitizer would exit instead
      std::signal(signal, SIG_DFL);
    }
    function();
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

inline bool ended_by(int status, int signal) {
  return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

}  // namespace sluice::test
