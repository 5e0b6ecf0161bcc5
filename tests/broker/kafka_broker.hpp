// One real Apache Kafka broker (KRaft, one node) as a process of the caller: formatted into a
// temporary folder, started on free ports of 127.0.0.1, awaited until it answers, killed and
// removed with this object. It cannot outlive the thread that started it (PDEATHSIG, set by
// setpriv). Its JVM has 512 MB, or KAFKA_HEAP_OPTS. Settings: small internal topics, no
// auto-created topics, a cleaner that looks every 200 ms.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "host/base/error.hpp"

namespace sluice::tests {

class KafkaBroker {
 public:
  /// `libs` is what etc/kafka-libs.sh made. Takes a few seconds.
  static Result<KafkaBroker> start(const std::filesystem::path& libs);
  /// SIGKILL, and again on the same logs and ports: every partition gets a new leader epoch. Calls
  /// `while_dead` in between. Returns when it answers.
  Result<> restart(
      const std::filesystem::path& libs, const std::function<void()>& while_dead = [] {});
  KafkaBroker(KafkaBroker&& other) noexcept;
  KafkaBroker& operator=(KafkaBroker&&) = delete;
  ~KafkaBroker();

  const std::string& bootstrap_servers() const { return bootstrap_servers_; }
  /// Holds server.log and the partitions' logs (data/TOPIC-PARTITION).
  const std::filesystem::path& folder() const { return folder_; }

 private:
  KafkaBroker() = default;

  Result<> format(const std::filesystem::path& libs);
  Result<> launch(const std::filesystem::path& libs);
  Result<> await_answer(std::chrono::seconds limit);
  void kill();

  std::filesystem::path folder_;
  std::string bootstrap_servers_;
  pid_t pid_ = -1;
};

/// Starts `arguments[0]` with its output in `log`; in a session of its own if `detached`.
enum class Session { Same, Detached };
Result<pid_t> spawn_logged(std::vector<std::string> arguments, const std::filesystem::path& log,
                           Session session);
/// The exit code; -1 for a signal.
int wait_for_exit(pid_t pid);
/// A port of 127.0.0.1 that was free a moment ago; who listens there fails if it was taken since.
Result<int> free_port();
/// The end of a log, for a message.
std::string tail_of(const std::filesystem::path& file);

}  // namespace sluice::tests
