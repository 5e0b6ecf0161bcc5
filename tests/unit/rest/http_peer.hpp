// A caller of an HTTP server on a unix socket that may behave as badly as a test wants: it sends
// any bytes, as slowly as it likes, and reads what comes back. Its waits end after a while, so a
// test fails instead of hanging.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "ipc/owned_fd.hpp"

namespace sluice::test {

class HttpPeer {
 public:
  /// Connects; connected() is false where nobody listens.
  explicit HttpPeer(const std::filesystem::path& socket)
      : fd_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(socket.string().size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, socket.c_str(), socket.string().size());
    connected_ =
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }

  /// False: the server does not take it any more.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() const { ::shutdown(fd_.get(), SHUT_WR); }

  /// One whole answer: header, and as much body as it says. Less, if the server ends before.
  std::string answer() {
    while (!whole() && read_some()) {
    }
    const auto length = whole_length();
    auto text = received_.substr(0, length);
    received_.erase(0, text.size());
    return text;
  }
  /// Waits for the server's end of the connection.
  bool ended() {
    while (read_some()) {
    }
    return ended_;
  }
  /// How it ended: what the server had not read was lost, and perhaps its answer too.
  bool was_reset() const { return was_reset_; }
  std::string get(const std::string& target) {
    send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return answer();
  }

 private:
  std::size_t whole_length() const {
    const auto header = received_.find("\r\n\r\n");
    if (header == std::string::npos) return std::string::npos;
    const auto length = received_.find("Content-Length: ");
    const auto body = length < header ? std::stoul(received_.substr(length + 16)) : 0;
    return header + 4 + body;
  }
  bool whole() const {
    const auto length = whole_length();
    return length != std::string::npos && received_.size() >= length;
  }
  bool read_some() {
    pollfd ready{fd_.get(), POLLIN, 0};
    if (::poll(&ready, 1, 30'000) <= 0) return false;
    char bytes[4096];
    const auto got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    ended_ = got <= 0;
    was_reset_ = got < 0 && errno == ECONNRESET;
    if (got > 0) received_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

  ipc::OwnedFd fd_;
  bool connected_ = false;
  bool ended_ = false;
  bool was_reset_ = false;
  std::string received_;
};

/// `200` of an answer's first line; empty where there is none.
inline std::string status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? answer.substr(9, 3) : std::string{};
}
inline std::string body_of(const std::string& answer) {
  const auto header = answer.find("\r\n\r\n");
  return header == std::string::npos ? std::string{} : answer.substr(header + 4);
}

}  // namespace sluice::test
