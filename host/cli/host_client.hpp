// Asks a running host over its control socket: one request, one answer, within a time.
// Blocks; for commands, never for the host. Boost.Beast is included by host_client.cpp alone.
// Not here: what an answer means.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "host/base/error.hpp"

namespace sluice::cli {

struct HostReply {
  int status = 0;
  std::string body;
};

class HostClient {
 public:
  explicit HostClient(std::filesystem::path socket) : socket_{std::move(socket)} {}

  const std::filesystem::path& socket() const { return socket_; }

  /// `method` as HTTP spells it. An Error is about the way there: KafkaUnavailable's sibling
  /// Canceled says that no host answers on this socket; every HTTP status is a reply.
  Result<HostReply> ask(const std::string& method, const std::string& target,
                        const std::string& body = {}) const;

  /// The host answers within a second but for the audit, which may read a large store.
  static constexpr std::chrono::seconds kPatience{60};

 private:
  std::filesystem::path socket_;
};

/// For a part of a path or a query's value.
std::string percent_encoded(const std::string& text);

}  // namespace sluice::cli
