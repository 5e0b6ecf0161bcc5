// sluice-worker: one job's plugin chain in a process of its own, or a question about a plugin file.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "host/config/placeholders.hpp"
#include "host/worker/describe.hpp"
#include "host/worker/task_loop.hpp"
#include "host/worker/worker_process.hpp"

namespace {

using namespace sluice;

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

constexpr char kHelp[] =
    "sluice-worker: runs the plugins of one job; started by sluice.\n"
    "\n"
    "  sluice-worker --describe FILE    what a plugin file holds, as JSON\n"
    "  sluice-worker --validate         checks settings: reads JSON from stdin, answers JSON\n"
    "  sluice-worker --version\n"
    "  sluice-worker --help\n"
    "\n"
    "Example: sluice-worker --describe /usr/lib/sluice/plugins/file_sink.so\n";

/// The answer goes to the standard output that we were started with; what a plugin prints while it
/// is loaded goes to the standard error.
class Answer {
 public:
  Answer() : fd_{::dup(STDOUT_FILENO)} { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~Answer() { ::close(fd_); }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  int give(const Result<std::string>& answer) {
    if (!answer) {
      std::fprintf(stderr, "sluice-worker: %s\n", answer.error().message().c_str());
      return kExitFailed;
    }
    const std::string text = *answer + "\n";
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t written = ::write(fd_, rest.data(), rest.size());
      if (written < 0) return kExitFailed;
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    return worker::kExitDone;
  }

 private:
  int fd_;
};

/// A value with a placeholder is not looked at: the secret may be for the worker's eyes only.
Result<std::optional<std::string>> leave_placeholders_open(std::string_view text) {
  if (config::has_placeholder(text)) return std::optional<std::string>{};
  return std::optional<std::string>{std::string{text}};
}

int describe(const std::string& file) {
  Answer answer;
  return answer.give(worker::describe_file(file));
}

int validate() {
  Answer answer;
  const std::string request{std::istreambuf_iterator<char>{std::cin}, {}};
  return answer.give(worker::validate_request(request, leave_placeholders_open));
}

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (argc == 1) return worker::run_worker_process();
  if (command == "--describe" && argc == 3) return describe(argv[2]);
  if (command == "--validate" && argc == 2) return validate();
  if (command == "--help" && argc == 2) {
    std::fputs(kHelp, stdout);
    return worker::kExitDone;
  }
  if (command == "--version" && argc == 2) {
    std::puts("sluice-worker " SLUICE_VERSION);
    return worker::kExitDone;
  }
  std::fputs(kHelp, stderr);
  return kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice-worker: unexpected: %s\n", error.what());
    return sluice::worker::kExitInternal;
  }
}
