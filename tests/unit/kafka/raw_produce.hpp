// A record set as no producer of ours writes one, put into the mock's log by a request of its own:
// the broker keeps what it is sent and looks at no checksum.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/owned_fd.hpp"

namespace sluice::kafka {

/// Kafka's big-endian numbers, appended.
template <typename Number>
void append(std::string& bytes, Number number) {
  for (int shift = 8 * (static_cast<int>(sizeof number) - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>(static_cast<std::uint64_t>(number) >> shift);
  }
}

/// One record without key, in a set of format 2 whose checksum is wrong.
inline std::string damaged_record_set(std::string_view value) {
  std::string record{'\0', '\0', '\0', '\x01'};  // attributes, timestamp, offset, no key
  record += static_cast<char>(2 * value.size());
  record += value;
  record += '\0';  // headers
  std::string rest;
  append<std::int16_t>(rest, 0);  // attributes
  append<std::int32_t>(rest, 0);  // last offset delta
  append<std::int64_t>(rest, 0);  // timestamps
  append<std::int64_t>(rest, 0);
  append<std::int64_t>(rest, -1);  // producer, its epoch and sequence
  append<std::int16_t>(rest, -1);
  append<std::int32_t>(rest, -1);
  append<std::int32_t>(rest, 1);  // records
  rest += static_cast<char>(2 * record.size());
  rest += record;
  std::string set;
  append<std::int64_t>(set, 0);  // the broker's to set
  append<std::int32_t>(set, static_cast<std::int32_t>(rest.size() + 9));
  append<std::int32_t>(set, 0);
  set += '\x02';
  append<std::uint32_t>(set, 0xBAD);  // the checksum
  return set + rest;
}

/// Requires: one broker, which leads partition 0 of `topic`.
inline void produce_raw(const std::string& bootstrap_servers, const std::string& topic,
                        const std::string& record_set) {
  std::string request;
  append<std::int16_t>(request, 0);  // Produce
  append<std::int16_t>(request, 3);
  append<std::int32_t>(request, 1);   // correlation
  append<std::int16_t>(request, -1);  // no client id
  append<std::int16_t>(request, -1);  // no transaction
  append<std::int16_t>(request, -1);  // acknowledged by all
  append<std::int32_t>(request, 10'000);
  append<std::int32_t>(request, 1);
  append<std::int16_t>(request, static_cast<std::int16_t>(topic.size()));
  request += topic;
  append<std::int32_t>(request, 1);
  append<std::int32_t>(request, 0);  // the partition
  append<std::int32_t>(request, static_cast<std::int32_t>(record_set.size()));
  request += record_set;
  std::string framed;
  append<std::int32_t>(framed, static_cast<std::int32_t>(request.size()));
  framed += request;

  const ipc::OwnedFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  const auto port = std::stoi(bootstrap_servers.substr(bootstrap_servers.rfind(':') + 1));
  address.sin_port = ::htons(static_cast<std::uint16_t>(port));
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  REQUIRE(::send(socket.get(), framed.data(), framed.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(framed.size()));
  char answer[64];
  const auto size = ::recv(socket.get(), answer, sizeof answer, 0);
  // Size, correlation, topic, partition; then the error code.
  const auto error_at = static_cast<ssize_t>(4 + 4 + 4 + 2 + topic.size() + 4 + 4);
  REQUIRE(size > error_at + 1);
  REQUIRE((answer[error_at] == 0 && answer[error_at + 1] == 0));
}

}  // namespace sluice::kafka
