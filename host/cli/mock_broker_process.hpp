// `sluice mock-broker` as a process of its own, for the demo: an embedded Kafka that costs the host
// nothing and survives what the demo does to it. It ends with the pipe that this object holds.
// One thread. Its destructor waits for the process to be gone.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "host/base/error.hpp"
#include "ipc/owned_fd.hpp"

namespace sluice::cli {

class MockBrokerProcess {
 public:
  /// Starts this program's own `mock-broker` command and waits for its address.
  static Result<MockBrokerProcess> start();
  ~MockBrokerProcess();
  MockBrokerProcess(MockBrokerProcess&& other) noexcept;
  MockBrokerProcess(const MockBrokerProcess&) = delete;
  MockBrokerProcess& operator=(const MockBrokerProcess&) = delete;
  MockBrokerProcess& operator=(MockBrokerProcess&&) = delete;

  const std::string& bootstrap_servers() const { return bootstrap_servers_; }
  /// One command line (host/kafka/mock_broker.hpp); its answer but `ok` is an Error.
  Result<> command(std::string_view line);

 private:
  MockBrokerProcess() = default;
  Result<std::string> read_line();

  pid_t pid_ = 0;
  ipc::OwnedFd commands_;
  ipc::OwnedFd answers_;
  std::string bootstrap_servers_;
};

}  // namespace sluice::cli
