// One real Kafka Connect (standalone mode) as a process of the caller, on the broker of the
// fixture, so that tests can show a connector that moves to Sluice. It runs connectors from
// .properties files; stop() and resume() of one go by its REST interface, as an operator would.
// Ended by SIGTERM with this object, and it cannot outlive the thread that started it. A start
// costs 10 s of CPU and more: one for a whole test binary is enough.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "host/base/error.hpp"

namespace sluice::tests {

class KafkaConnect {
 public:
  /// `folder` gets the worker's properties, offsets and connect.log. Returns when REST answers for
  /// `connector`, the name in the file `properties`.
  static Result<KafkaConnect> start(const std::filesystem::path& libs,
                                    const std::string& bootstrap_servers,
                                    const std::filesystem::path& folder,
                                    const std::filesystem::path& properties,
                                    const std::string& connector);
  KafkaConnect(KafkaConnect&& other) noexcept;
  KafkaConnect& operator=(KafkaConnect&&) = delete;
  ~KafkaConnect();

  /// The connector's tasks end and its consumer leaves the group; the worker goes on.
  Result<> stop(const std::string& connector) const;
  Result<> resume(const std::string& connector) const;
  /// SIGTERM, and its exit code.
  int terminate();

 private:
  KafkaConnect() = default;

  Result<> await_connector(const std::string& connector);
  Result<int> ask(const std::string& method, const std::string& path) const;
  Result<> must(const std::string& method, const std::string& path) const;

  std::filesystem::path log_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace sluice::tests
