// A process under test: started with its output in files, waited for with a limit, killed at the
// latest by the destructor. What it printed is part of a failed test's message.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

class Program {
 public:
  /// `output` is a prefix: PREFIX.out and PREFIX.err get what it prints.
  Program(const std::vector<std::string>& command, std::filesystem::path output);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void signal(int number) const;
  /// Exit code, or 1000 + signal; fails the test if it is not over in time.
  int wait(std::chrono::seconds limit = std::chrono::seconds{100});
  /// SIGTERM, and wait.
  int stop(std::chrono::seconds limit = std::chrono::seconds{60});
  /// SIGKILL, and wait.
  void kill();

  std::string out() const;
  std::string err() const;
  std::filesystem::path err_file() const { return output_.string() + ".err"; }

 private:
  std::optional<int> try_wait();

  std::filesystem::path output_;
  pid_t pid_ = 0;
  std::optional<int> ended_;
};

/// It has ended: there is no such process, or only what its parent has not waited for.
bool has_ended(pid_t pid);

/// Pids of the living processes whose parent is `parent`.
std::vector<pid_t> processes_below(pid_t parent);

/// Those of them that run slices: not the ones that only describe a plugin to a host that starts.
std::vector<pid_t> workers_below(pid_t host);

/// What of it can be read; empty if nothing.
std::string read_file(const std::filesystem::path& file);

/// Calls `holds` every few milliseconds until it is true or `limit` has passed; says which.
bool eventually(const std::function<bool()>& holds,
                std::chrono::seconds limit = std::chrono::seconds{60});

}  // namespace sluice::test
